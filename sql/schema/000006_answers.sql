-- What endpoints beside job changes answered to pipelines of `kind: collect`, and what signals delivered.

create table answers (
    request_id varchar not null,
    run_id varchar,
    endpoint varchar not null,
    lookup_key varchar not null,
    subject varchar not null,
    page integer not null,
    outcome varchar not null,
    received_at timestamptz not null,
    body varchar not null
);
comment on table answers is 'One row per answer of an endpoint that a pipeline of kind collect asked, and per delivery of a signal. Key: request_id. A projection of the journal.';
comment on column answers.request_id is 'The request, and ops.pages has what it cost; or the delivery.';
comment on column answers.run_id is 'The run that asked; null for a delivery.';
comment on column answers.endpoint is 'The endpoint, such as company-profile; signal-delivery for a delivery.';
comment on column answers.lookup_key is 'Names the request, but for its page: the same for the same question.';
comment on column answers.subject is 'What was asked for, as the list spells it.';
comment on column answers.page is 'The page of the answer, from 1.';
comment on column answers.outcome is 'found, absent (there is nothing of that name) or later (the service could not say yet).';
comment on column answers.received_at is 'When the answer was complete, UTC.';
comment on column answers.body is 'The answer, JSON as received, without personal data that was not asked for.';

alter table ops.pages add column is_unexpected boolean;
comment on column ops.pages.is_unexpected is 'Whether the charge is none that the price list names for such an answer; null for a request without one.';
