-- Of deliveries of signals, table answers has a row for each activity since (src/load/deliveries.ts).

comment on table answers is 'One row per answer of an endpoint that a pipeline of kind collect asked, and per activity or baseline that a signal delivered. Key: request_id. A projection of the journal.';
comment on column answers.request_id is 'The request, and ops.pages has what it cost; or the delivery, and which activity of it.';
comment on column answers.run_id is 'The run that asked; null for what was delivered.';
comment on column answers.endpoint is 'The endpoint, such as company-profile; signal-delivery for what was delivered.';
