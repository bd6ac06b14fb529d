select event_key, rule
from promotions
where rule not in ('into_management', 'level_up', 'step_within_level')
