-- What follows from the tables: computed where it is read.

create view organization_coverage as
select
    organization_id,
    event_types,
    covered_from as covered_from_at,
    covered_to as covered_to_at
from ops.coverage;
comment on view organization_coverage is 'One row per organisation, event types and unbroken interval of detection time that was read to the end: what lies outside was not looked at. Key: organization_id, event_types, covered_to_at.';
comment on column organization_coverage.organization_id is 'The organisation: its id, or the URL or slug it was asked by until the id is known.';
comment on column organization_coverage.event_types is 'joined, left, title_change: those asked, comma-separated.';
comment on column organization_coverage.covered_from_at is 'Start of the interval, UTC; null means from the beginning.';
comment on column organization_coverage.covered_to_at is 'End of the interval, UTC.';

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
    learnt as (
        select
            organization_id,
            max_by(asked_as, row(learnt_at, asked_as)) as asked_as,
            max(learnt_at) as learnt_at
        from ops.organization_ids
        group by organization_id
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
        select organization_id from ops.organizations_asked
        union
        select organization_id from learnt
        union
        select organization_id from ops.organizations_quarantined
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
    refused.quarantined_at,
    refused.reason as quarantined_reason
from named
left join ops.organizations_asked as asked on asked.organization_id = named.organization_id
left join learnt on learnt.organization_id = named.organization_id
left join ops.organizations_quarantined as refused on refused.organization_id = named.organization_id
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
