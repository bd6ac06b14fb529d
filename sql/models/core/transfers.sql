-- grain: One row per move that is a transfer: the company changed, but the job stayed.
-- key: left_event_key
-- purpose: Which moves are transfers, and why: a group of organization_groups, or a deal that transfer_candidates found.
-- note: By a group: both organisations are members when the person joins, or within 62 days before or after, because people
-- note: move around the day of a deal, and dates are often known to the month only. By a candidate: the move is direct, and the
-- note: joining in the window; config/transfers.yaml decides which candidates are deals, and on pairs that are not candidates.
-- note: Where both organisations are in groups, the groups decide alone.
-- values: kind: alias | rename | acquisition | spin-off
-- columns:
--   left_event_key: event_key of the leaving.
--   joined_event_key: event_key of the joining.
--   profile_id: The service's stable id of the person.
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined.
--   organization_group: The group that both organisations belong to; null where transfer_candidates found the transfer.
--   kind: alias, rename, acquisition or spin-off.
with

grouped as (
    select
        links.left_event_key,
        links.joined_event_key,
        links.profile_id,
        links.from_organization_id,
        links.to_organization_id,
        sources.organization_group,
        case
            when sources.kind = 'alias' or targets.kind = 'alias' then 'alias'
            when sources.kind = 'rename' or targets.kind = 'rename' then 'rename'
            when targets.kind = 'spin-off' then 'spin-off'
            when sources.kind = 'spin-off' then 'spin-off'
            else 'acquisition'
        end as kind
    from move_links as links
    inner join organization_groups as sources on sources.organization_id = links.from_organization_id
    inner join organization_groups as targets
        on targets.organization_id = links.to_organization_id
        and targets.organization_group = sources.organization_group
    where
        coalesce(days_between(sources.from_at, links.joined_at) >= -62, true)
        and coalesce(days_between(targets.from_at, links.joined_at) >= -62, true)
        and coalesce(days_between(sources.to_at, links.joined_at) <= 62, true)
        and coalesce(days_between(targets.to_at, links.joined_at) <= 62, true)
),

members as (
    select distinct organization_id
    from organization_groups
),

found as (
    select
        links.left_event_key,
        links.joined_event_key,
        links.profile_id,
        links.from_organization_id,
        links.to_organization_id,
        candidates.kind
    from move_links as links
    inner join transfer_candidates as candidates
        on candidates.from_organization_id = links.from_organization_id
        and candidates.to_organization_id = links.to_organization_id
    left join members as sources on sources.organization_id = links.from_organization_id
    left join members as targets on targets.organization_id = links.to_organization_id
    where
        candidates.is_transfer
        and links.gap_days <= 31
        and month_start(links.joined_at) between candidates.window_start_on and candidates.window_end_on
        and (sources.organization_id is null or targets.organization_id is null)
),

-- A deal that moved too few people to be a candidate counts where config/transfers.yaml says so.
decided as (
    select
        links.left_event_key,
        links.joined_event_key,
        links.profile_id,
        links.from_organization_id,
        links.to_organization_id,
        'acquisition' as kind
    from move_links as links
    inner join transfer_decisions as decisions
        on decisions.from_organization_id = links.from_organization_id
        and decisions.to_organization_id = links.to_organization_id
    left join transfer_candidates as candidates
        on candidates.from_organization_id = links.from_organization_id
        and candidates.to_organization_id = links.to_organization_id
    left join members as sources on sources.organization_id = links.from_organization_id
    left join members as targets on targets.organization_id = links.to_organization_id
    where
        decisions.is_transfer
        and links.gap_days <= 31
        and candidates.from_organization_id is null
        and (sources.organization_id is null or targets.organization_id is null)
)

-- An organisation that changed groups can be near the end of one membership and near the start of the other.
select
    left_event_key,
    max(joined_event_key) as joined_event_key,
    max(profile_id) as profile_id,
    max(from_organization_id) as from_organization_id,
    max(to_organization_id) as to_organization_id,
    min(organization_group) as organization_group,
    min(kind) as kind
from grouped
group by left_event_key
union all
select
    left_event_key,
    joined_event_key,
    profile_id,
    from_organization_id,
    to_organization_id,
    null as organization_group,
    kind
from found
union all
select
    left_event_key,
    joined_event_key,
    profile_id,
    from_organization_id,
    to_organization_id,
    null as organization_group,
    kind
from decided
