with

measures as (
    select 'events' as measure, sum(events) as in_people from people
    union all
    select 'stints' as measure, sum(stints) as in_people from people
    union all
    select 'moves' as measure, sum(moves) as in_people from people
    union all
    select 'promotions' as measure, sum(promotions) as in_people from people
    union all
    select 'current_organizations' as measure, sum(current_organizations) as in_people from people
),

rows_of as (
    select 'events' as measure, count(*) as in_table from job_change_events
    union all
    select 'stints' as measure, count(*) as in_table from stints
    union all
    select 'moves' as measure, count(*) as in_table from moves
    union all
    select 'promotions' as measure, count(*) as in_table from promotions
    union all
    select 'current_organizations' as measure, count(*) as in_table from person_organizations where is_current
)

select measures.measure, measures.in_people, rows_of.in_table
from measures
inner join rows_of on rows_of.measure = measures.measure
where coalesce(measures.in_people, 0) <> rows_of.in_table
