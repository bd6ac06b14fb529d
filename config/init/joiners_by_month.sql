-- grain: One row per organisation and month in which a person joined.
-- key: organization_id, month_start_on
-- purpose: How many people joined each organisation in each month, and how many of them as managers.
-- values: has_executives: yes | no
-- references: organization_id -> organizations.organization_id
-- columns:
--   organization_id: The organisation that was joined.
--   organization_name: Its name as written.
--   month_start_on: First day of the month, UTC.
--   joiners: People who joined in that month, without side roles and transfers.
--   managers: Joiners whose title manages people.
--   has_executives: yes if one of them joined as VP or in the C-suite.
--
-- An example model to change. As in dbt, one file is one select and makes the table of its name. It is
-- plain SQL: name tables as they are, without ref(). Each build makes it after Jobtide's own models, in the same transaction,
-- and publishes it with them. Every line of the header is optional: `key` is checked and sorts the files, `values`
-- (accepted_values) and `references` (relationships) are checked, the rest are comments of table and columns.
-- To try a change: jobtide build --select joiners_by_month
select
    organization_id,
    max(organization_name) as organization_name,
    month_start_on,
    count(*) as joiners,
    count(*) filter (where is_management) as managers,
    case when bool_or(level in ('vp', 'cxo')) then 'yes' else 'no' end as has_executives
from joiners
where is_primary and not is_transfer
group by organization_id, month_start_on
