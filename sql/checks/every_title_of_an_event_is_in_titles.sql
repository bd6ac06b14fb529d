select mentioned.title
from (
    select title_current as title from job_change_events
    union
    select title_previous as title from job_change_events
) as mentioned
left join titles on titles.title = mentioned.title
where mentioned.title is not null and titles.title is null
