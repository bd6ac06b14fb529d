-- question: Which changes of the people and organisations on the watch-lists did Jobtide first receive since a day?
-- parameter: since = 2000-01-01: only changes that Jobtide first received on or after this day
-- parameter: list = %: the name of a watch-list, or % for all
-- empty: watch_matches: no pipeline has a watch-list (`watch:` in its file)
select
    cast(first_seen_at at time zone 'UTC' as date) as first_seen_on,
    watch_list,
    matched_by,
    confidence,
    candidates,
    changed_on,
    change,
    person_full_name,
    previous_title,
    title,
    organization_name,
    other_organization_name,
    person_network_url
from watch_hits
where first_seen_at >= cast(getvariable('since') as date) and watch_list like getvariable('list')
order by first_seen_at desc, changed_on desc, watch_list, person_full_name
