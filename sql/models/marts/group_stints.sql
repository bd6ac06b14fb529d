-- grain: One row per stint that no transfer began, combined with the stints to which transfers led from it.
-- key: profile_id, organization_id, stint_number
-- tier: detail
-- incremental_by: profile_id
-- purpose: Time with an employer across acquisitions and renames: tenure does not restart because the company was bought.
-- note: At most 4 transfers in a row are followed. A group of organization_groups is that of last_organization_id.
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The organisation that the person joined first.
--   stint_number: The number of the person's stint at organization_id; see stints.
--   last_organization_id: The organisation to which the last transfer led; organization_id without any.
--   last_stint_number: The number of the person's stint at last_organization_id.
--   organization_name: The name of organization_id as written.
--   last_organization_name: The name of last_organization_id as written.
--   transfers: How many transfers the combined stint contains.
--   joined_at: When the person joined organization_id, UTC; null when not seen.
--   joined_on: The day of joined_at, UTC.
--   left_at: When the person left last_organization_id, UTC; null when not seen.
--   left_on: The day of left_at, UTC.
--   tenure_days: Calendar days from joined_at to left_at; null where one of the two was not seen, or its date is unknown.
--   is_open: True where the last of the stints is open; see stints.
--   is_primary: False where the stint is a side role such as board member or adviser, or has no employer (see stints).
--   cohort_year: Calendar year of joined_at, UTC.
with

transferred as (
    select left_event_key, joined_event_key
    from moves
    where is_transfer
),

-- Each transfer, by the leaving that begins it and the joining from which the next one continues.
steps as (
    select
        transferred.left_event_key,
        transferred.joined_event_key,
        arrivals.left_event_key as next_left_event_key
    from transferred
    inner join stints as arrivals on arrivals.joined_event_key = transferred.joined_event_key
),

chains as (
    select
        first_steps.left_event_key,
        coalesce(
            fourth_steps.joined_event_key,
            third_steps.joined_event_key,
            second_steps.joined_event_key,
            first_steps.joined_event_key
        ) as last_joined_event_key,
        1
        + case when second_steps.left_event_key is null then 0 else 1 end
        + case when third_steps.left_event_key is null then 0 else 1 end
        + case when fourth_steps.left_event_key is null then 0 else 1 end as transfers
    from steps as first_steps
    left join steps as second_steps on second_steps.left_event_key = first_steps.next_left_event_key
    left join steps as third_steps on third_steps.left_event_key = second_steps.next_left_event_key
    left join steps as fourth_steps on fourth_steps.left_event_key = third_steps.next_left_event_key
)

select
    stints.profile_id,
    stints.organization_id,
    stints.stint_number,
    coalesce(lasts.organization_id, stints.organization_id) as last_organization_id,
    coalesce(lasts.stint_number, stints.stint_number) as last_stint_number,
    stints.organization_name,
    case when lasts.profile_id is null then stints.organization_name else lasts.organization_name end as last_organization_name,
    coalesce(chains.transfers, 0) as transfers,
    stints.joined_at,
    stints.joined_on,
    case when lasts.profile_id is null then stints.left_at else lasts.left_at end as left_at,
    case when lasts.profile_id is null then stints.left_on else lasts.left_on end as left_on,
    case
        when
            stints.joined_precision <> 'unknown'
            and case when lasts.profile_id is null then stints.left_precision else lasts.left_precision end <> 'unknown'
            then days_between(stints.joined_at, case when lasts.profile_id is null then stints.left_at else lasts.left_at end)
    end as tenure_days,
    case when lasts.profile_id is null then stints.is_open else lasts.is_open end as is_open,
    stints.is_primary,
    stints.cohort_year
from stints
left join transferred as began on began.joined_event_key = stints.joined_event_key
left join chains on chains.left_event_key = stints.left_event_key
left join stints as lasts on lasts.joined_event_key = chains.last_joined_event_key
where began.joined_event_key is null
