select 'joiners' as in_table, event_key, joined_at as at, detected_at, was_announced
from joiners
where was_announced is distinct from joined_at > detected_at
union all
select 'leavers' as in_table, event_key, left_at as at, detected_at, was_announced
from leavers
where was_announced is distinct from left_at > detected_at
union all
select 'title_changes' as in_table, event_key, changed_at as at, detected_at, was_announced
from title_changes
where was_announced is distinct from changed_at > detected_at
union all
select 'promotions' as in_table, event_key, promoted_at as at, detected_at, was_announced
from promotions
where was_announced is distinct from promoted_at > detected_at
