-- grain: One row per requested company page.
-- key: company
-- endpoint: company-profile
-- purpose: The current profile of each company, from the newest answer about its page.
-- note: organization_id is that of the organisation whose page has the same address, where events show one.
-- columns:
--   company: The page: the last part of its address, in lower case.
--   organization_id: The service's id of the organisation in job changes; null where no event shows that page.
--   is_found: False where the service says that no such page exists.
--   company_id: The network's own id, a number as text.
--   company_name: The company's name.
--   company_type: Public, private, partnership and the like, as sent.
--   company_size: Range of the headcount, as sent.
--   employees: The headcount on the page; null when it shows none.
--   followers: The number of followers; null when the page shows none.
--   open_jobs: Openings that the page shows; null when it shows none.
--   industry: The company's industry, as sent.
--   headquarters: The company's headquarters, as sent.
--   country_code: ISO country code.
--   founded_year: The year the company was founded, as sent; null when not listed.
--   website: The company's website.
--   url: Address of the page.
--   last_round_amount: The amount of the last funding round, as the newest page that names one shows it; null where none does.
--   last_round_on: The date of the last funding round, as sent.
--   last_round_type: The type of the last funding round, as sent.
--   first_asked_at: When the page was first received, UTC.
--   last_asked_at: When the page was last received, UTC.
select
    newest.company,
    company_organizations.organization_id,
    newest.is_found,
    newest.company_id,
    newest.company_name,
    newest.company_type,
    newest.company_size,
    newest.employees,
    newest.followers,
    newest.open_jobs,
    newest.industry,
    newest.headquarters,
    newest.country_code,
    newest.founded_year,
    newest.website,
    newest.url,
    funded.last_round_amount,
    funded.last_round_on,
    funded.last_round_type,
    newest.first_asked_at,
    newest.received_at as last_asked_at
from company_answers as newest
left join company_organizations on company_organizations.company = newest.company
left join company_answers as funded on funded.company = newest.company and funded.is_newest_with_last_round
where newest.answer = newest.answers
