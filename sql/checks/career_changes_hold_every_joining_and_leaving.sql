-- A joining or a leaving is one change of its kind.
-- incremental_by: profile_id
with

counted as (
    select profile_id, 1 as joinings, 0 as leavings from joiners
    union all
    select profile_id, 0, 1 from leavers
    union all
    select
        profile_id,
        case when change in ('joined', 'joined_side_role') then -1 else 0 end,
        case when change in ('left', 'left_side_role') then -1 else 0 end
    from career_changes
)

select profile_id, sum(joinings) as joinings_missing, sum(leavings) as leavings_missing
from counted
group by profile_id
having sum(joinings) <> 0 or sum(leavings) <> 0
