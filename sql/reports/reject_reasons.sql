-- Why events were refused. The value that an event sent comes at the end of a reason; without it, equal faults are one.
select
    regexp_replace(reason, ', got .*$', '', 's') as reason,
    cast(count(*) as integer) as events,
    min(received_at) as first_at,
    max(received_at) as last_at
from ops.rejects
group by 1
order by events desc, reason
