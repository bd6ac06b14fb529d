-- Every vacancy that opened between a leaving and the joining that filled it was filled as well: an open one would be nearer.
-- For pairs of the same role, this holds among vacancies of that role.
with

vacancies as (
    select
        leavers.organization_id,
        leavers.function,
        leavers.level,
        leavers.event_key,
        utc_date(leavers.left_at) as vacant_on,
        filled.left_event_key is null as is_open,
        max(case when filled.is_same_core then latest_date(filled.joined_at) end) over (
            partition by leavers.organization_id, leavers.function, leavers.level, leavers.core
            order by utc_date(leavers.left_at), leavers.event_key
        ) as role_filled_on,
        max(case when not filled.is_same_core then latest_date(filled.joined_at) end) over (
            partition by leavers.organization_id, leavers.function, leavers.level
            order by utc_date(leavers.left_at), leavers.event_key
        ) as place_filled_on
    from leavers
    left join filled_vacancies as filled
        on filled.organization_id = leavers.organization_id
        and filled.left_event_key = leavers.event_key
    where leavers.is_primary and not leavers.is_transfer and leavers.level <> 'unknown' and leavers.function <> 'unknown'
)

select organization_id, function, level, event_key, vacant_on
from vacancies
where is_open and (role_filled_on >= vacant_on or place_filled_on >= vacant_on)
