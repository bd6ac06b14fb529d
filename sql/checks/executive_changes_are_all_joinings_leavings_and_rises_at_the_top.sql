-- balanced: changes by organization_id
select organization_id, 1 as changes
from executive_changes
union all
select organization_id, -1 as changes
from joiners
where is_primary and level in ('director', 'vp', 'cxo')
union all
select organization_id, -1 as changes
from leavers
where is_primary and level in ('director', 'vp', 'cxo')
union all
select organization_id, -1 as changes
from promotions
where is_primary and level in ('director', 'vp', 'cxo') and level <> previous_level
