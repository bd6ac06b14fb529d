select 'joiners' as in_table, event_key, joined_at as at, detected_at, is_future
from joiners
where is_future is distinct from joined_at > detected_at
union all
select 'leavers' as in_table, event_key, left_at as at, detected_at, is_future
from leavers
where is_future is distinct from left_at > detected_at
union all
select 'title_changes' as in_table, event_key, changed_at as at, detected_at, is_future
from title_changes
where is_future is distinct from changed_at > detected_at
union all
select 'promotions' as in_table, event_key, promoted_at as at, detected_at, is_future
from promotions
where is_future is distinct from promoted_at > detected_at
