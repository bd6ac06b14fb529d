-- The table holds only bodies that the engine accepts as JSON; the journal keeps them as received.
insert into answers
select distinct on (staged.request_id)
    staged.* replace (case when json_valid(staged.body) then staged.body else '{}' end as body)
from staged_answers as staged
where not exists (select 1 from answers as known where known.request_id = staged.request_id)
order by staged.received_at, staged.request_id;

-- Empties the staged answers for the next chunk.
create or replace temp table staged_answers as from answers limit 0;
