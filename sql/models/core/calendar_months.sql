-- grain: One row per month, for the 1200 months up to that of the day of the data.
-- key: month_start_on
-- purpose: The months for which headcounts have rows, including months in which nothing changed.
-- columns:
--   month_start_on: The first day of the month.
with

digits as (
    select digit
    from (values (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11)) as listed (digit)
)

select month_of_number(month_number(as_of.as_of_on) - hundreds.digit * 100 - tens.digit * 10 - ones.digit) as month_start_on
from as_of
cross join digits as hundreds
cross join digits as tens
cross join digits as ones
where tens.digit < 10 and ones.digit < 10
