-- Each transfer is a move that moves marks as a transfer.
with

entries as (
    select left_event_key, 1 as in_transfers, 0 as in_moves
    from transfers
    union all
    select left_event_key, 0 as in_transfers, 1 as in_moves
    from moves
    where is_transfer
)

select left_event_key, sum(in_transfers) as in_transfers, sum(in_moves) as in_moves
from entries
group by left_event_key
having sum(in_transfers) <> sum(in_moves)
