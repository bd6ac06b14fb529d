-- grain: One row per person.
-- key: profile_id
-- purpose: Each person seen, where they are now, and their career so far.
-- incremental_by: profile_id
-- note: The main organisation is the one they joined last among those where they are now and hold more than a side role. Counts
-- note: cover only the changes that were seen.
-- values: main_level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown (or null)
-- columns:
--   profile_id: The service's stable id of the person.
--   person_full_name: The person's name in their last event.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organizations: The number of organisations where the person was seen.
--   current_organizations: The number of organisations where the person is now, side roles included.
--   main_organization_id: The organisation where the person mainly works now; null when none is known.
--   main_organization_name: Name of that organisation as written.
--   main_title: The person's title at main_organization_id as written.
--   main_level: Level of main_title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown; null where there is no main organisation.
--   main_function: Field of work of main_title, as in titles; null where there is no main organisation.
--   is_between: True where the person is at no known organisation now.
--   first_event_at: When the person's first change took effect, UTC.
--   last_event_at: When the person's last change took effect, UTC.
--   last_detected_at: When the person's last change was detected, UTC.
--   events: The number of the person's distinct events.
--   stints: The number of stints; see stints.
--   boomerangs: How often the person came back to an organisation.
--   moves: How often the person moved from one organisation to another; see moves.
--   promotions: The number of promotions seen.
with

ranked as (
    select
        profile_id,
        organization_id,
        person_full_name,
        person_network_url,
        organization_name,
        title,
        level,
        function,
        is_current,
        is_primary,
        stints,
        promotions,
        events,
        first_event_at,
        last_event_at,
        last_detected_at,
        row_number() over (
            partition by profile_id
            order by
                case when is_current and is_primary then 0 else 1 end,
                -- Organisations whose joining was not seen come after those whose joining was.
                case when current_since_at is null then 1 else 0 end,
                current_since_at desc,
                last_event_at desc,
                last_event_key
        ) as main_order,
        row_number() over (
            partition by profile_id
            order by
                last_event_at desc,
                last_detected_at desc,
                event_type_order(last_event_type) desc,
                last_event_key desc
        ) as recency
    from person_organizations
),

folded as (
    select
        profile_id,
        count(*) as organizations,
        count(case when is_current then 1 end) as current_organizations,
        min(first_event_at) as first_event_at,
        max(case when recency = 1 then last_event_at end) as last_event_at,
        max(case when recency = 1 then last_detected_at end) as last_detected_at,
        sum(events) as events,
        sum(stints) as stints,
        sum(promotions) as promotions
    from ranked
    group by profile_id
),

main_organizations as (
    select profile_id, organization_id, organization_name, title, level, function
    from ranked
    where main_order = 1 and is_current and is_primary
),

named as (
    select profile_id, person_full_name, person_network_url
    from ranked
    where recency = 1
),

moved as (
    select profile_id, count(*) as moves
    from moves
    group by profile_id
),

came_back as (
    select profile_id, count(*) as boomerangs
    from stints
    where is_boomerang
    group by profile_id
)

select
    folded.profile_id,
    named.person_full_name,
    named.person_network_url,
    cast(folded.organizations as integer) as organizations,
    cast(folded.current_organizations as integer) as current_organizations,
    main_organizations.organization_id as main_organization_id,
    main_organizations.organization_name as main_organization_name,
    main_organizations.title as main_title,
    main_organizations.level as main_level,
    main_organizations.function as main_function,
    folded.current_organizations = 0 as is_between,
    folded.first_event_at,
    folded.last_event_at,
    folded.last_detected_at,
    cast(folded.events as integer) as events,
    cast(folded.stints as integer) as stints,
    cast(coalesce(came_back.boomerangs, 0) as integer) as boomerangs,
    cast(coalesce(moved.moves, 0) as integer) as moves,
    cast(folded.promotions as integer) as promotions
from folded
inner join named on named.profile_id = folded.profile_id
left join main_organizations on main_organizations.profile_id = folded.profile_id
left join moved on moved.profile_id = folded.profile_id
left join came_back on came_back.profile_id = folded.profile_id
