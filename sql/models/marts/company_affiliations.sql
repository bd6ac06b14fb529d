-- grain: One row per company and affiliated company that its newest page names.
-- key: company, affiliated_company
-- endpoint: company-profile
-- purpose: The companies that belong together by their own account, the source for groups of organisations.
-- columns:
--   company: The page of the company: the last part of its address, in lower case.
--   affiliated_company: The page of the affiliated company: the last part of its address, in lower case.
--   organization_id: The organisation of the company in job changes; null where no event shows one.
--   affiliated_organization_id: The organisation of the affiliated company in job changes; null where no event shows one.
--   name: The affiliated company's name, as sent.
--   category: The relation, as the page calls it.
with

named as (
    select
        company,
        page_part(json_text(item, '$.url')) as affiliated_company,
        min(json_text(item, '$.name')) as name,
        min(json_text(item, '$.category')) as category
    from (
        select company_answers.company, json_list(answers.body, '$.message.affiliated_pages') as items
        from company_answers
        inner join answers on answers.request_id = company_answers.request_id
        where company_answers.answer = company_answers.answers
    ) as lists, lateral json_items(items)
    where json_text(item, '$.url') is not null
    group by company, page_part(json_text(item, '$.url'))
)

select
    named.company,
    named.affiliated_company,
    organization.organization_id,
    affiliated.organization_id as affiliated_organization_id,
    named.name,
    named.category
from named
left join company_organizations as organization on organization.company = named.company
left join company_organizations as affiliated on affiliated.company = named.affiliated_company
