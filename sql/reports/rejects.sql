-- Refused events, the newest first.
select received_at, run_id, batch_id, page, position, request_id, reason, event
from ops.rejects
order by received_at desc, request_id desc, position
limit $limit
