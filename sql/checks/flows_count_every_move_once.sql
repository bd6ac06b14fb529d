select flows.in_flows, counted.in_moves
from (select coalesce(sum(moves), 0) as in_flows from talent_flows) as flows
cross join (select count(*) as in_moves from moves) as counted
where flows.in_flows <> counted.in_moves
