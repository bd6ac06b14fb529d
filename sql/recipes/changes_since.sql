-- question: Which changes did Jobtide first receive since a day?
-- parameter: since = 2000-01-01: only changes that Jobtide first received on or after this day
-- parameter: change = %: joined, left, promoted, stepped_down and the others, or % for all
select
    cast(first_seen_at at time zone 'UTC' as date) as first_seen_on,
    changed_on,
    change,
    person_full_name,
    previous_title,
    title,
    organization_name,
    other_organization_name,
    person_network_url
from career_changes
where first_seen_at >= cast(getvariable('since') as date) and change like getvariable('change')
order by first_seen_at desc, changed_on desc, person_full_name
