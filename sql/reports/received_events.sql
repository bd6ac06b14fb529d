-- Events received in all pages, repeats included.
select cast(coalesce(sum(events), 0) as double) as received
from ops.pages
