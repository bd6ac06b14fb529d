-- question: Who has main jobs at several organisations at the same time?
select
    person_full_name,
    count(*) as organizations,
    string_agg(organization_name || ' (' || coalesce(title, '?') || ')', '; ' order by current_since_at, organization_name) as jobs,
    any_value(person_network_url) as person_network_url
from person_organizations
where is_current and is_primary
group by profile_id, person_full_name
having count(*) > 1
order by organizations desc, person_full_name
