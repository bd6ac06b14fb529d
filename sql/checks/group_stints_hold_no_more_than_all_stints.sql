with

counted as (
    select profile_id, 1 + transfers as put_together, 0 as stints, 0 as begun_by_transfers
    from group_stints
    union all
    select profile_id, 0 as put_together, 1 as stints, 0 as begun_by_transfers
    from stints
    union all
    select profile_id, 0 as put_together, 0 as stints, 1 as begun_by_transfers
    from moves
    where is_transfer
)

select
    profile_id,
    sum(put_together) as put_together,
    sum(stints) as stints,
    sum(begun_by_transfers) as begun_by_transfers
from counted
group by profile_id
having
    sum(put_together) > sum(stints)
    or sum(stints) - sum(begun_by_transfers) <> count(case when put_together > 0 then 1 end)
