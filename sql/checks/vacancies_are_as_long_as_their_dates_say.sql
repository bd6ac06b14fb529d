-- The check covers the vacancies in time_to_backfill, backfill_speed and executive_changes.
select left_event_key as event_key, days_to_backfill as days, days_to_backfill_min as days_min, days_to_backfill_max as days_max
from filled_vacancies
where
    days_to_backfill is null
    or days_to_backfill_min is null
    or days_to_backfill_max is null
    or days_to_backfill_min < 0
    or days_to_backfill not between days_to_backfill_min and days_to_backfill_max
    or days_to_backfill_max > 365
union all
select ended_event_key as event_key, vacancy_days as days, vacancy_days_min as days_min, vacancy_days_max as days_max
from seat_successions
where
    vacancy_days_min is null
    or vacancy_days_min < 0
    or vacancy_days not between vacancy_days_min and vacancy_days_max
    or vacancy_days > 365
