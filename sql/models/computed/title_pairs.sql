-- grain: One row per ladder and two titles that one person had one after the other at one organisation.
-- key: ladder, previous_title, title
-- tier: detail
-- purpose: What kind of change it is from the one title to the other, and how sure that is.
-- columns:
--   ladder: The ladder it is read by: standard, or the name of one in config/ladders.yaml.
--   previous_title: The title before as written.
--   title: The title after as written.
--   label: promotion, demotion, lateral, retitle, or unclassified where the titles do not say.
--   rule: The rule that decided the label.
--   confidence: How likely the label is right, 0 to 1; 0 when unclassified.
--   taxonomy_version: Version of the taxonomy that said so; another one labels every title again.
select distinct ladder, previous_title, title
from title_steps
where ladder is not null and previous_title is not null and title is not null
