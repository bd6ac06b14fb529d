-- grain: One row per address on the newest page of a company.
-- key: company, place
-- endpoint: company-profile
-- purpose: The locations of companies.
-- columns:
--   company: The page: the last part of its address, in lower case.
--   place: Place of the address on the page, from 1.
--   is_primary: Whether the address is the head office.
--   address: The whole address, as sent.
--   street: Street and number, as sent.
--   city_and_state: City and state, as sent.
select
    company,
    place,
    coalesce(json_text(item, '$.is_primary'), 'false') = 'true' as is_primary,
    json_text(item, '$.address') as address,
    json_text(item, '$.street_address') as street,
    json_text(item, '$.city_state') as city_and_state
from (
    select company_answers.company, json_list(answers.body, '$.message.locations') as items
    from company_answers
    inner join answers on answers.request_id = company_answers.request_id
    where company_answers.answer = company_answers.answers
) as lists, lateral json_items(items)
