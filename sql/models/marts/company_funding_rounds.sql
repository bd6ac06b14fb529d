-- grain: One row per funding round on the newest page of a company that was asked with get_funding_rounds.
-- key: company, round
-- kind: view
-- endpoint: company-profile
-- purpose: What companies raised.
-- note: The service does not document what a round says: it is kept as sent. Of the last round the page itself says amount, date and type.
-- columns:
--   company: The page: the last part of its address, in lower case.
--   round: 1 is the most recent.
--   details: The round, JSON as sent.
--   last_amount: Of the most recent round, as the page says it; null for others.
--   last_on: Its date, as sent.
--   last_type: Its type, as sent.
select
    company,
    place as round,
    item as details,
    case when place = 1 then last_amount end as last_amount,
    case when place = 1 then last_on end as last_on,
    case when place = 1 then last_type end as last_type
from (
    select
        company,
        json_text(page, '$.funding.last_round.amount') as last_amount,
        json_text(page, '$.funding.last_round.date') as last_on,
        json_text(page, '$.funding.last_round.type') as last_type,
        json_list(page, '$.funding_rounds.rounds') as items
    from company_answers
    where answer = answers
) as lists, lateral json_items(items)
