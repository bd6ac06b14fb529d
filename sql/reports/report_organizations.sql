-- The names by which a list can refer to an organisation: its id, its page, its slug.
select organization_id, name, slug, url
from organizations
