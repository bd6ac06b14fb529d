-- question: Which entries of the watch-lists match nothing that the warehouse knows?
-- parameter: list = %: the name of a watch-list, or % for all
-- empty: watch_matches: no pipeline has a watch-list (`watch:` in its file)
select
    pipeline,
    watch_list,
    entry,
    string_agg(kind || ' ' || listed_as, ', ' order by kind) as listed_as
from watch_matches
where watch_list like getvariable('list')
group by pipeline, watch_list, entry
having count(found_id) = 0
order by pipeline, watch_list, entry
