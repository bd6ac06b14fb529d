-- scope: row
select left_event_key as event_key, days_to_backfill as days, days_to_backfill_min as days_min, days_to_backfill_max as days_max
from time_to_backfill
where
    is_open <> (joined_event_key is null)
    or is_open <> (days_to_backfill is null)
    or days_observed < 0
    or days_to_backfill_min < 0
    or days_to_backfill not between days_to_backfill_min and days_to_backfill_max
union all
select event_key, vacancy_days as days, vacancy_days_min as days_min, vacancy_days_max as days_max
from executive_changes
where
    is_vacant <> (successor_event_key is null)
    or (is_vacant is null) <> (vacancy_days is null)
    or is_vacant <> (vacancy_days_max is null)
    or vacancy_days_min < 0
    or vacancy_days < vacancy_days_min
    or vacancy_days > vacancy_days_max
    or (change = 'departed') <> (departures_in_90_days is not null)
    or is_cluster <> (departures_in_90_days >= 2)
