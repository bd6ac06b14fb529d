-- The names (16 characters) of the changes that are not in $told, as one text, separated by blanks; null where there is none.
select string_agg(named.name, ' ' order by named.name) as names
from (
    select left(md5(concat(change, event_key)), 16) as name
    from known_changes
    where is_counted
        and (
            $organizations::varchar is null
            or organization_id in (select unnest(from_json($organizations, '["varchar"]')))
        )
) as named
where named.name not in (select unnest(string_split($told, ' ')))
