-- grain: One row per company page and time during which no kept field changed.
-- key: company, valid_from_at
-- endpoint: company-profile
-- purpose: The history of each company profile (SCD type 2).
-- note: A version begins with the first answer that shows it: the exact time of a change between two answers is unknown.
-- columns:
--   company: The page: the last part of its address, in lower case.
--   valid_from_at: When this version was first received, UTC.
--   valid_to_at: When a different answer was received, UTC; null for the newest version.
--   is_found: False while the service said that no such page exists.
--   company_id: The network's own id, a number as text.
--   company_name: The company's name.
--   company_type: Public, private, partnership and the like, as sent.
--   company_size: Range of the headcount, as sent.
--   industry: The company's industry, as sent.
--   headquarters: The company's headquarters, as sent.
--   country_code: ISO country code.
--   founded_year: The year the company was founded, as sent; null when not listed.
--   website: The company's website.
--   url: Address of the page.
with

compared as (
    select
        company,
        answer,
        received_at,
        is_found,
        company_id,
        company_name,
        company_type,
        company_size,
        industry,
        headquarters,
        country_code,
        founded_year,
        website,
        url,
        case
            when
                lag(is_found) over history = is_found
                and lag(company_id) over history is not distinct from company_id
                and lag(company_name) over history is not distinct from company_name
                and lag(company_type) over history is not distinct from company_type
                and lag(company_size) over history is not distinct from company_size
                and lag(industry) over history is not distinct from industry
                and lag(headquarters) over history is not distinct from headquarters
                and lag(country_code) over history is not distinct from country_code
                and lag(founded_year) over history is not distinct from founded_year
                and lag(website) over history is not distinct from website
                and lag(url) over history is not distinct from url
                then 0
            else 1
        end as is_change
    from company_answers
    window history as (partition by company order by answer)
)

select
    company,
    received_at as valid_from_at,
    lead(received_at) over (partition by company order by answer) as valid_to_at,
    is_found,
    company_id,
    company_name,
    company_type,
    company_size,
    industry,
    headquarters,
    country_code,
    founded_year,
    website,
    url
from compared
where is_change = 1
