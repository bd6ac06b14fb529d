-- How many of the changes named in $names joined, left and were promoted, and the day on which the first of them became known.
with chosen as (
    select change, is_executive, known_at
    from known_changes
    where is_counted
        and left(md5(concat(change, event_key)), 16) in (select unnest(string_split($names, ' ')))
)

select
    kinds.change,
    cast(count(chosen.change) as integer) as changes,
    cast(count(case when chosen.is_executive then 1 end) as integer) as executives,
    strftime(min(chosen.known_at), '%Y-%m-%d') as known_from_on
from (values ('joined', 1), ('left', 2), ('rose', 3)) as kinds (change, place)
left join chosen on chosen.change = kinds.change
group by kinds.change, kinds.place
order by kinds.place
