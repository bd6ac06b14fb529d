-- question: Who came to the top of an organisation, left it or stepped down, and who followed?
-- parameter: organization: its id or name
-- parameter: from = 1900-01-01: the first day
-- parameter: to = 2999-12-31: the last day
select
    changes.changed_on,
    changes.change,
    changes.person_full_name,
    changes.previous_title,
    changes.title,
    changes.is_interim,
    successors.person_full_name as successor,
    changes.successor_is_internal,
    changes.vacancy_days,
    changes.is_vacant
from executive_changes as changes
left join people as successors on successors.profile_id = changes.successor_profile_id
where
    changes.organization_id = getvariable('organization')
    and changes.changed_on between cast(getvariable('from') as date) and cast(getvariable('to') as date)
order by changes.changed_at desc, changes.person_full_name
