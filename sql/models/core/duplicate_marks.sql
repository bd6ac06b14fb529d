-- grain: One row per person and organisation of an event, where one of the two is a duplicate that is not the one to keep.
-- key: profile_id, organization_id
-- purpose: The duplicates that joiners and leavers flag: another profile of the person, or another id of the organisation, counts the same.
-- note: The rows carry profile_id so that an incremental build refreshes these people when their duplicates change.
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   duplicate_of_profile_id: The profile to keep among the person's several; null where this is the one, or the only one.
--   duplicate_of_organization_id: The id to keep among the organisation's several, where they are certain; null otherwise.
select distinct
    events.profile_id,
    events.organization_id,
    people.main_profile_id as duplicate_of_profile_id,
    organizations.main_organization_id as duplicate_of_organization_id
from job_change_events as events
left join duplicate_people as people on people.profile_id = events.profile_id and not people.is_main
left join duplicate_organizations as organizations
    on organizations.organization_id = events.organization_id
    and not organizations.is_main
    and organizations.is_certain
where people.profile_id is not null or organizations.organization_id is not null
