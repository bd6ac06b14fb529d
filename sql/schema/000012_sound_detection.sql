-- Nothing is detected after it was received: a record that says so names no organisation and is not its newest event for ever.

create or replace view ops.organizations as
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
            max_by(organization_name, row(least(detected_at, attributes_seen_at), organization_name)) as name,
            count(*) as events,
            max(least(detected_at, first_seen_at)) as last_event_at
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
