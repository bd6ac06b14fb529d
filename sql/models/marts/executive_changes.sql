-- grain: One row per arrival, departure or promotion of an executive: at the levels director, vp and cxo.
-- key: event_key, change
-- kind: view
-- purpose: Who came to the top, who went, who rose there, how long a place stayed empty, and when many go at once.
-- note: promoted means into one of the levels, from a lower one; a step inside a level, such as Director to Senior Director, is
-- note: none. Main jobs only: board members and advisers are not executives.
-- note: A departure is a vacancy of its function and level, filled by the first arrival or promotion there that was not certainly
-- note: earlier; what fell vacant first is filled first, and what comes when nothing is vacant is growth (as in
-- note: time_to_backfill, which counts joinings only). Where the function is unknown nothing is matched. Somebody who left
-- note: and came back to the same place later can be their own successor.
-- note: A promotion leaves a place below empty; that one is not counted as a departure.
-- partition: year of changed_at
-- columns:
--   event_key: event_key of the change in job_change_events; unique.
--   change: arrived (joined at one of the levels), departed (left one) or promoted (rose into one).
--   organization_id: The service's stable id of the organisation.
--   profile_id: The service's stable id of the person.
--   changed_at: When it took effect, UTC. Often known to the month only: then the first of that month.
--   month_start_on: First day of the month of changed_at, UTC.
--   is_month_precise: Whether changed_at is known to the month only.
--   is_future: Whether it was detected before it took effect.
--   person_full_name: The person's full name as written.
--   person_network_url: The person's public page, the newest that is known, as sent; null when none is.
--   organization_name: The organisation's name as written.
--   title: The title arrived as, departed from or promoted to, as written.
--   level: director, vp or cxo.
--   function: Field of work of title; other where it names none, unknown where nothing is understood.
--   previous_title: The title before, of a promotion.
--   previous_level: Level of previous_title.
--   other_organization_id: Where an arrival came from or a departure went to, as far as linked (see moves); null otherwise.
--   other_organization_name: Its name as written.
--   successor_event_key: Of a departure: event_key of the arrival or promotion that filled the place; null while vacant.
--   successor_profile_id: Who filled the place; the person who left it where they came back to it.
--   vacancy_days: Of a departure: calendar days until the place was filled, as dated, or, while vacant, until observed_until_on; 0 or more. Null where function is unknown.
--   vacancy_days_min: The fewest days that the precision of both dates allows.
--   vacancy_days_max: The most days that the precision of both dates allows; null while vacant.
--   is_vacant: Of a departure: whether nobody was seen to fill the place, so that vacancy_days is cut off (censored); null where function is unknown.
--   observed_until_on: First day of the month up to which the organisation was looked at; see organization_observation.
--   departures_in_90_days: Of a departure: how many executives of any function departed on its day or in the 90 days before, itself included.
--   is_cluster: Of a departure: whether departures_in_90_days is 2 or more.
--   detected_at: When the service saw the change, UTC.
--   first_seen_at: When the event was first received by this warehouse, UTC.
select
    changes.event_key,
    changes.change,
    changes.organization_id,
    changes.profile_id,
    changes.changed_at,
    changes.month_start_on,
    changes.is_month_precise,
    changes.is_future,
    changes.person_full_name,
    changes.person_network_url,
    changes.organization_name,
    changes.title,
    changes.level,
    changes.function,
    changes.previous_title,
    changes.previous_level,
    changes.other_organization_id,
    changes.other_organization_name,
    vacancies.successor_event_key,
    vacancies.successor_profile_id,
    vacancies.vacancy_days,
    vacancies.vacancy_days_min,
    vacancies.vacancy_days_max,
    case when vacancies.event_key is not null then vacancies.successor_event_key is null end as is_vacant,
    observed.observed_until_on,
    departures.departures_in_90_days,
    departures.departures_in_90_days >= 2 as is_cluster,
    changes.detected_at,
    changes.first_seen_at
from executive_events as changes
inner join organization_observation as observed on observed.organization_id = changes.organization_id
-- By the organisation, too, so that a query for one reads the rest of no table.
left join executive_vacancies as vacancies
    on vacancies.organization_id = changes.organization_id
    and vacancies.event_key = changes.event_key
left join executive_departures as departures
    on departures.organization_id = changes.organization_id
    and departures.event_key = changes.event_key
