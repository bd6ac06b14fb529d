-- question: Until when was each organisation fetched, and when was the last detection there?
select
    organizations.name,
    organizations.organization_id,
    min(coverage.covered_to_at) as covered_to,
    max(organizations.last_detected_at) as last_detected,
    max(organizations.people_now) as people_now
from organizations
left join organization_coverage as coverage on coverage.organization_id = organizations.organization_id
group by organizations.name, organizations.organization_id
order by covered_to, people_now desc, organizations.organization_id
