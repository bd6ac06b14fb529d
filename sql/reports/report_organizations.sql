-- By what an organisation can be named in a list: its id, its page, its slug.
select organization_id, name, slug, url
from organizations
