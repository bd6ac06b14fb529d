-- grain: One row per requested job posting.
-- key: job_id
-- endpoint: job-details
-- purpose: The current state of each posting: whom organisations want to hire, and since when.
-- columns:
--   job_id: The posting: its id, a number as text.
--   organization_id: The organisation in job changes; null where no event shows the page of the company.
--   company: The page of the company: the last part of its address, in lower case.
--   company_id: The network's own id of the company, a number as text.
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
--   applicants: The number of applicants; null when the source does not say.
--   days_open: Calendar days from the first listing until the posting was closed or, while it is open, until it was last received.
--   url: Address of the posting.
--   last_received_at: When the posting was last received, or found gone, UTC.
select
    job_id,
    company_organizations.organization_id,
    newest.company,
    company_id,
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
    applicants,
    days_between(coalesce(original_listed_at, listed_at), coalesce(closed_at, received_at)) as days_open,
    url,
    received_at as last_received_at
from posting_answers as newest
left join company_organizations on company_organizations.company = newest.company
where answer = answers
