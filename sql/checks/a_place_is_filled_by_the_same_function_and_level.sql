-- scope: organization_id, function, level
select vacancies.left_event_key as event_key, vacancies.joined_event_key as filled_by
from time_to_backfill as vacancies
left join joiners
    on joiners.event_key = vacancies.joined_event_key
    and joiners.organization_id = vacancies.organization_id
    and joiners.function = vacancies.function
    and joiners.level = vacancies.level
where vacancies.joined_event_key is not null and (joiners.event_key is null or not joiners.is_primary)
union all
select departures.event_key, departures.successor_event_key as filled_by
from executive_changes as departures
left join executive_changes as successors
    on successors.event_key = departures.successor_event_key
    and successors.organization_id = departures.organization_id
    and successors.function = departures.function
    and successors.level = departures.level
    and successors.change in ('arrived', 'promoted')
where departures.successor_event_key is not null and successors.event_key is null
