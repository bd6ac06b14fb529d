-- grain: One row per ladder and pair of titles that one person held one after the other at one organisation.
-- key: ladder, previous_title, title
-- tier: detail
-- purpose: The kind of change from the first title to the second, and how sure that is.
-- columns:
--   ladder: The ladder that reads both titles: standard, or the name of one in config/ladders.yaml.
--   previous_title: The previous title as written.
--   title: The new title as written.
--   label: promotion, demotion, lateral, retitle, or unclassified where the titles do not say.
--   rule: The rule that decided the label.
--   confidence: How likely the label is right, 0 to 1; 0 when unclassified.
--   taxonomy_version: Version of the taxonomy that set the label; a new version labels every title again.
select distinct ladder, previous_title, title
from title_steps
where ladder is not null and previous_title is not null and title is not null
