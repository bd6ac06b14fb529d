select 'moves.gap_days' as measure, left_event_key as event_key, gap_days_min as least, gap_days as value, gap_days_max as most
from moves
where not gap_days between gap_days_min and gap_days_max
union all
select 'leavers.tenure_days' as measure, event_key, tenure_days_min as least, tenure_days as value, tenure_days_max as most
from leavers
where tenure_days_min < 0 or not tenure_days between tenure_days_min and tenure_days_max
union all
select
    'title_changes.months_in_previous_title' as measure,
    event_key,
    months_in_previous_title_min as least,
    months_in_previous_title as value,
    months_in_previous_title_max as most
from title_changes
where
    months_in_previous_title_min < 0
    or not months_in_previous_title between months_in_previous_title_min and months_in_previous_title_max
