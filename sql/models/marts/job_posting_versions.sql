-- grain: One row per job posting and time during which no kept field changed.
-- key: job_id, valid_from_at
-- endpoint: job-details
-- purpose: The history of each posting: listed, listed again, closed (SCD type 2).
-- note: A version begins with the first answer that shows it: the exact time of a change between two answers is unknown.
-- columns:
--   job_id: The posting: its id, a number as text.
--   valid_from_at: When this version was first received, UTC.
--   valid_to_at: When a different answer was received, UTC; null for the newest version.
--   title: The posting's title, as written.
--   state: LISTED or CLOSED; null when the source does not say.
--   listed_at: When the posting was listed, UTC; if listed again, the last time.
--   original_listed_at: When the posting was first listed, UTC.
--   closed_at: When the posting was closed, or found gone, UTC; null while it is open.
--   gone_at: When the posting was found gone, UTC: the service no longer has it; null while the service has it.
--   is_reposted: Whether the posting was listed again.
--   employment_status: Full-time, Part-time and the like, as sent.
--   experience_level: Entry level, Director and the like, as sent.
--   location: The posting's location, as written.
--   salary_min: The lowest pay, in salary_currency per salary_period; null when the source does not say.
--   salary_max: The highest pay.
--   salary_currency: Symbol or code, as sent.
--   salary_period: YEARLY, MONTHLY, WEEKLY or HOURLY.
with

compared as (
    select
        job_id,
        answer,
        received_at,
        title,
        state,
        listed_at,
        original_listed_at,
        closed_at,
        gone_at,
        is_reposted,
        employment_status,
        experience_level,
        location,
        salary_min,
        salary_max,
        salary_currency,
        salary_period,
        case
            when
                answer > 1
                and lag(title) over history is not distinct from title
                and lag(state) over history is not distinct from state
                and lag(listed_at) over history is not distinct from listed_at
                and lag(original_listed_at) over history is not distinct from original_listed_at
                and lag(closed_at) over history is not distinct from closed_at
                and lag(gone_at) over history is not distinct from gone_at
                and lag(is_reposted) over history is not distinct from is_reposted
                and lag(employment_status) over history is not distinct from employment_status
                and lag(experience_level) over history is not distinct from experience_level
                and lag(location) over history is not distinct from location
                and lag(salary_min) over history is not distinct from salary_min
                and lag(salary_max) over history is not distinct from salary_max
                and lag(salary_currency) over history is not distinct from salary_currency
                and lag(salary_period) over history is not distinct from salary_period
                then 0
            else 1
        end as is_change
    from posting_answers
    window history as (partition by job_id order by answer)
)

select
    job_id,
    received_at as valid_from_at,
    lead(received_at) over (partition by job_id order by answer) as valid_to_at,
    title,
    state,
    listed_at,
    original_listed_at,
    closed_at,
    gone_at,
    is_reposted,
    employment_status,
    experience_level,
    location,
    salary_min,
    salary_max,
    salary_currency,
    salary_period
from compared
where is_change = 1
