select profiles.company, profiles.company_name, versions.company_name as newest
from company_profiles as profiles
full outer join (
    select company, is_found, company_name, company_size
    from company_profile_versions
    where valid_to_at is null
) as versions on versions.company = profiles.company
where
    profiles.company is null
    or versions.company is null
    or versions.is_found <> profiles.is_found
    or versions.company_name is distinct from profiles.company_name
    or versions.company_size is distinct from profiles.company_size
