-- grain: One row per funding round of the newest answer about a company that has its rounds.
-- key: company, round
-- endpoint: company-profile
-- purpose: The funding rounds of companies.
-- note: Only an answer to get_funding_rounds has rounds: an answer without that part, or whose part failed, leaves the rounds
-- note: of the one before. The service does not document the content of a round, so it is kept as sent. company_profiles has
-- note: the last round as the page shows it.
-- columns:
--   company: The page: the last part of its address, in lower case.
--   round: 1 is the most recent.
--   details: The round, JSON as sent.
--   last_amount: The amount of the most recent round, as the page shows it; null for other rounds.
--   last_on: The date of the most recent round, as sent; null for other rounds.
--   last_type: The type of the most recent round, as sent; null for other rounds.
--   received_at: When the rounds were received, UTC.
select
    company,
    place as round,
    item as details,
    case when place = 1 then last_round_amount end as last_amount,
    case when place = 1 then last_round_on end as last_on,
    case when place = 1 then last_round_type end as last_type,
    received_at
from (
    select
        company_answers.company,
        company_answers.last_round_amount,
        company_answers.last_round_on,
        company_answers.last_round_type,
        company_answers.received_at,
        json_list(answers.body, '$.message.funding_rounds.rounds') as items
    from company_answers
    inner join answers on answers.request_id = company_answers.request_id
    where company_answers.is_newest_with_rounds
) as lists, lateral json_items(items)
