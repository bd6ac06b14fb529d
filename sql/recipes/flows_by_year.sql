-- question: Where did the leavers of an organisation go in each year?
-- parameter: organization: its id or name
-- parameter: least = 3: the fewest people in a year
select
    year,
    to_organization_name as went_to,
    people,
    leavers,
    round(known_share, 3) as share_with_known_destination,
    round(share_of_known, 3) as share_of_known,
    round(expected_moves, 1) as expected,
    round(lift, 1) as lift
from talent_flows_yearly
where from_organization_id = getvariable('organization') and people >= cast(getvariable('least') as int)
order by year desc, people desc, went_to
