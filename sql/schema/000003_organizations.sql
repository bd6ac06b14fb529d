-- Who is asked, under which name, and what each organisation costs. Facts come from the journal; what follows from them
-- is a view.

comment on column ops.runs.kind is 'run, backfill, extract or plan (begun to find its exact bill).';
comment on column ops.runs.outcome is 'unfinished, done, quoted, budget, unavailable, refused, interrupted, failed or abandoned.';
comment on column ops.coverage.organization_id is 'The organisation: its id, or the URL or slug it was asked by until the id is known.';
comment on column ops.pages.outcome is 'received (a page), failed (free of charge), or in_doubt (sent, no whole answer: perhaps billed; also a request under way).';

-- 0 in a warehouse of an earlier version: the next load reads the journal again for the tables below, and only for them.
alter table ops.journal_positions add column organization_bytes bigint default 0;
comment on column ops.journal_positions.organization_bytes is 'Bytes of the segment that are loaded into the tables about organisations.';

create table ops.organization_ids (
    asked_as varchar not null,
    organization_id varchar not null,
    run_id varchar not null,
    learnt_at timestamptz not null
);
comment on table ops.organization_ids is 'One row per URL or slug whose id became known from its events. Key: asked_as.';
comment on column ops.organization_ids.asked_as is 'The URL or slug as it was asked for.';
comment on column ops.organization_ids.organization_id is 'The id by which it is asked for since.';
comment on column ops.organization_ids.run_id is 'The run that learnt it.';
comment on column ops.organization_ids.learnt_at is 'When, UTC.';

create table ops.organizations_asked (
    asked_as varchar not null,
    first_asked_at timestamptz not null,
    last_asked_at timestamptz not null
);
comment on table ops.organizations_asked is 'One row per name that an organisation was asked by in a batch that was read to its end. Key: asked_as.';
comment on column ops.organizations_asked.asked_as is 'The id, URL or slug as it was asked for.';
comment on column ops.organizations_asked.first_asked_at is 'When the first such batch was read to its end, UTC.';
comment on column ops.organizations_asked.last_asked_at is 'When the last such batch was read to its end, UTC.';

create table ops.page_organizations (
    request_id varchar not null,
    organization_id varchar not null,
    events integer not null
);
comment on table ops.page_organizations is 'One row per page and organisation with events in it: who a page was paid for. Key: request_id, organization_id.';
comment on column ops.page_organizations.request_id is 'The request whose answer the page is.';
comment on column ops.page_organizations.organization_id is 'The organisation.';
comment on column ops.page_organizations.events is 'Its events in the page, those known already included.';

create view ops.organization_charges as
select
    pages.run_id,
    pages.request_id,
    pages.requested_at,
    shares.organization_id,
    shares.events,
    pages.credits_used * shares.events / sum(shares.events) over (partition by shares.request_id) as credits
from ops.page_organizations as shares
join ops.pages as pages on pages.request_id = shares.request_id;
comment on view ops.organization_charges is 'One row per page and organisation with events in it: its share of what the page cost. Key: request_id, organization_id.';
comment on column ops.organization_charges.run_id is 'The run that asked.';
comment on column ops.organization_charges.request_id is 'The request whose answer the page is.';
comment on column ops.organization_charges.requested_at is 'When the page was asked for, UTC.';
comment on column ops.organization_charges.organization_id is 'The organisation.';
comment on column ops.organization_charges.events is 'Its events in the page, those known already included.';
comment on column ops.organization_charges.credits is 'Its share of the charge: that of its events among the events of the page.';

create view ops.organizations as
with
    asked as (
        select
            coalesce(ids.organization_id, asked.asked_as) as organization_id,
            min(asked.first_asked_at) as first_asked_at,
            max(asked.last_asked_at) as last_asked_at
        from ops.organizations_asked as asked
        left join ops.organization_ids as ids on ids.asked_as = asked.asked_as
        group by 1
    ),

    learnt as (
        select
            organization_id,
            max_by(asked_as, row(learnt_at, asked_as)) as asked_as,
            max(learnt_at) as learnt_at
        from ops.organization_ids
        group by organization_id
    ),

    refused as (
        select
            coalesce(ids.organization_id, aside.organization) as organization_id,
            max(aside.quarantined_at) as quarantined_at,
            max_by(aside.reason, row(aside.quarantined_at, aside.reason)) as quarantined_reason
        from ops.organizations_quarantined as aside
        left join ops.organization_ids as ids on ids.asked_as = aside.organization
        group by 1
    ),

    sent as (
        select
            organization_id,
            max_by(organization_name, row(detected_at, organization_name)) as name,
            count(*) as events,
            max(detected_at) as last_event_at
        from main.job_change_events
        group by organization_id
    ),

    charged as (
        select organization_id, sum(credits) as credits
        from ops.organization_charges
        group by organization_id
    ),

    named as (
        select organization_id from asked
        union
        select organization_id from learnt
        union
        select organization_id from refused
        union
        select organization_id from sent
        union
        select organization_id from charged
    )

select
    named.organization_id,
    coalesce(learnt.asked_as, named.organization_id) as asked_as,
    sent.name,
    learnt.learnt_at,
    asked.first_asked_at,
    asked.last_asked_at,
    coalesce(sent.events, 0) as events,
    sent.last_event_at,
    coalesce(charged.credits, 0) as credits,
    case when refused.quarantined_at >= coalesce(asked.last_asked_at, refused.quarantined_at) then refused.quarantined_at end
        as quarantined_at,
    case when refused.quarantined_at >= coalesce(asked.last_asked_at, refused.quarantined_at) then refused.quarantined_reason end
        as quarantined_reason
from named
left join asked on asked.organization_id = named.organization_id
left join learnt on learnt.organization_id = named.organization_id
left join refused on refused.organization_id = named.organization_id
left join sent on sent.organization_id = named.organization_id
left join charged on charged.organization_id = named.organization_id;
comment on view ops.organizations is 'One row per organisation that was asked for, refused, or in an event. Key: organization_id.';
comment on column ops.organizations.organization_id is 'Its id, or the URL or slug it was asked by until the id is known.';
comment on column ops.organizations.asked_as is 'The URL or slug from which the id was learnt; else as organization_id.';
comment on column ops.organizations.name is 'Its name in the event detected last; null without events.';
comment on column ops.organizations.learnt_at is 'When the id was learnt, UTC; null where it was asked by its id, or the id is not known.';
comment on column ops.organizations.first_asked_at is 'When a batch with it was first read to its end, UTC; null for never.';
comment on column ops.organizations.last_asked_at is 'When a batch with it was last read to its end, UTC; null for never.';
comment on column ops.organizations.events is 'Its events in job_change_events.';
comment on column ops.organizations.last_event_at is 'When its newest event was detected, UTC; null without events.';
comment on column ops.organizations.credits is 'Its share of all charges; see ops.organization_charges.';
comment on column ops.organizations.quarantined_at is 'When the service refused it, UTC; null when it was read since.';
comment on column ops.organizations.quarantined_reason is 'What the service said then.';
