-- Two successive levels of a stint differ.
with

neighbours as (
    select
        profile_id,
        organization_id,
        stint_number,
        level_number,
        level,
        lag(level) over (partition by profile_id, organization_id, stint_number order by level_number) as level_before
    from level_spells
)

select profile_id, organization_id, stint_number, level_number, level
from neighbours
where level = level_before
