-- grain: One row per stint: one person's unbroken time at one organisation.
-- key: profile_id, organization_id, stint_number
-- purpose: When each person joined and left an organisation, as what, and whether they came back.
-- note: Main jobs and side roles (boards, advisers) have separate stints, which can overlap. ambiguous_events has the rules by
-- note: which events become stints. A stint with neither end seen is known from changes of title, or from a left and a joined
-- note: event that are an internal move. Events at one instant are ordered by detection, then joined before title_change
-- note: before left, then by key.
-- incremental_by: profile_id
-- values: level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- values: first_level: intern | entry | mid | senior | lead | manager | director | vp | cxo | unknown
-- values: employer_kind: self_employed | hidden | none (or null)
-- values: last_event_type: joined | left | title_change
-- references: joined_event_key -> job_change_events.event_key
-- references: left_event_key -> job_change_events.event_key
-- columns:
--   profile_id: The service's stable id of the person.
--   organization_id: The service's stable id of the organisation.
--   stint_number: 1 for the person's first stint at the organisation that was seen, then 2, 3, …
--   previous_stint_number: The previous stint there of the same kind, main job or side role; null for the first.
--   person_full_name: The person's name in the last event of the stint.
--   person_network_url: The newest known address of the person's public page, as sent; null when none is known.
--   organization_name: The organisation's name in the last event of the stint.
--   joined_at: When the stint began, UTC; null when the joining was never seen.
--   joined_on: The day of joined_at, UTC; null when the joining was never seen.
--   left_at: When the stint ended, UTC; null when no leaving was seen.
--   left_on: The day of left_at, UTC; null when no leaving was seen.
--   joined_event_key: event_key of the event that began the stint, joined or a change of title; null when never seen.
--   left_event_key: event_key of the event that ended the stint, left or a change of title; null when never seen.
--   joined_precision: How well joined_at is known: day, month (then it is the first of the month), year (1 January, which may stand for the year), or unknown where the date sent is implausible: then it is the time of detection; null when never seen.
--   left_precision: How well left_at is known, as for joined_precision; null when never seen.
--   joined_detected_at: When the service saw the joining, UTC; null when never seen.
--   left_detected_at: When the service saw the leaving, UTC; null when never seen.
--   joined_first_seen_at: When the joining was first received, UTC; null when never seen.
--   left_first_seen_at: When the leaving was first received, UTC; null when never seen.
--   ladder: The ladder by which the organisation's titles are read: standard, or its own.
--   first_title: The first title known in the stint as written: the title of the joining where it has one.
--   first_level: Level of first_title: intern, entry, mid, senior, lead, manager, director, vp, cxo or unknown.
--   first_level_order: Level of first_title as a number, 1 (intern) to 9 (cxo); null when unknown.
--   first_rank: Rank of first_title, which orders levels and the steps inside a level; null when unknown.
--   first_is_management: Whether first_title manages people; null when unknown.
--   first_function: Field of work of first_title; other where it names none, unknown where it is not understood.
--   last_title: The last title known in the stint as written: the title of the leaving where it has one; after an internal move the new one.
--   level: Level of last_title, as for first_level.
--   level_order: Level of last_title as a number, as for first_level_order.
--   rank: Rank of last_title, which orders levels and the steps inside a level; null when unknown.
--   is_management: Whether last_title manages people; null when unknown.
--   function: Field of work of last_title, as for first_function.
--   is_open: True when no leaving and no later stint of the same kind was seen: the person is there according to the data, or will be from joined_at where that is in the future.
--   is_boomerang: True for every stint after the person's first at the organisation, counted separately for main jobs and side roles; internships do not count as the first.
--   is_conversion: True where the person had been there before only as an intern.
--   months_away: Whole months from the previous leaving to this joining; null for a first stint, if one of the two was not seen, or if the date of this joining is unknown.
--   is_primary: False where every known title of the stint, including one before a change of title, is a side role such as board member or adviser, or where employer_kind is none.
--   employer_kind: self_employed, hidden (Stealth Startup) or none (Career Break, Retired), where the name does not name an organisation (config/pseudo-employers.yaml); null otherwise.
--   cohort_year: Year of joined_at, UTC; null when the joining was never seen, or its date is unknown.
--   first_event_at: When the first change in the stint took effect, UTC.
--   last_event_at: When the last change in the stint took effect, UTC.
--   last_event_type: The effect of that last event on the stint: joined, left or title_change. A change of title to a side role, or to Retired, counts as left.
--   last_event_key: event_key of that last event.
--   last_detected_at: When that last event was detected, UTC.
--   events: The number of events in the stint.
--   interruptions: How often the person was seen to leave inside the stint without really leaving.
with

-- The few titles that are not a main job.
side_roles as (
    select ladder, title
    from titles
    where is_side_role or is_end_marker
),

-- Most stints are an arrival, a departure, or both. Joining these costs a fraction of grouping all events by stint; only the
-- other events are grouped.
arrivals as (
    select
        events.profile_id,
        events.organization_id,
        events.stint_number,
        events.event_key,
        events.acts_as as event_type,
        events.track,
        events.is_second,
        events.changed_at,
        events.precision,
        events.detected_at,
        events.first_seen_at,
        events.person_full_name,
        events.organization_name,
        events.ladder,
        events.title,
        events.title is not null and side_roles.title is null as is_main_role
    from stint_events as events
    left join side_roles on side_roles.ladder = events.ladder and side_roles.title = events.title
    where events.part = 'arrival'
),

departures as (
    select
        events.profile_id,
        events.organization_id,
        events.stint_number,
        events.event_key,
        events.acts_as as event_type,
        events.track,
        events.is_second,
        events.changed_at,
        events.precision,
        events.detected_at,
        events.first_seen_at,
        events.person_full_name,
        events.organization_name,
        events.ladder,
        events.title,
        events.title is not null and side_roles.title is null as is_main_role
    from stint_events as events
    left join side_roles on side_roles.ladder = events.ladder and side_roles.title = events.title
    where events.part = 'departure'
),

ends as (
    select
        coalesce(arrivals.profile_id, departures.profile_id) as profile_id,
        coalesce(arrivals.organization_id, departures.organization_id) as organization_id,
        coalesce(arrivals.stint_number, departures.stint_number) as stint_number,
        arrivals.event_key as joined_event_key,
        arrivals.changed_at as joined_at,
        arrivals.precision as joined_precision,
        arrivals.detected_at as joined_detected_at,
        arrivals.first_seen_at as joined_first_seen_at,
        arrivals.title as joined_title,
        departures.event_key as left_event_key,
        departures.changed_at as left_at,
        departures.precision as left_precision,
        departures.detected_at as left_detected_at,
        departures.first_seen_at as left_first_seen_at,
        departures.title as left_title,
        coalesce(arrivals.changed_at, departures.changed_at) as first_at,
        coalesce(departures.event_key, arrivals.event_key) as event_key,
        coalesce(departures.event_type, arrivals.event_type) as event_type,
        coalesce(departures.changed_at, arrivals.changed_at) as changed_at,
        coalesce(departures.detected_at, arrivals.detected_at) as detected_at,
        case when departures.event_key is null then arrivals.person_full_name else departures.person_full_name end
            as person_full_name,
        case when departures.event_key is null then arrivals.organization_name else departures.organization_name end
            as organization_name,
        coalesce(departures.ladder, arrivals.ladder) as ladder,
        coalesce(arrivals.track, departures.track) as track,
        coalesce(arrivals.is_main_role, false) or coalesce(departures.is_main_role, false) as has_main_role,
        case when arrivals.is_second then 0 when arrivals.event_key is null then 0 else 1 end
        + case when departures.is_second then 0 when departures.event_key is null then 0 else 1 end as events
    from arrivals
    full outer join departures
        on departures.profile_id = arrivals.profile_id
        and departures.organization_id = arrivals.organization_id
        and departures.stint_number = arrivals.stint_number
),

-- Every change of title, and those joinings and leavings that neither begin nor end a stint, which are kept separately.
inside as (
    select
        profile_id,
        organization_id,
        stint_number,
        event_key,
        is_second,
        acts_as as event_type,
        changed_at,
        detected_at,
        person_full_name,
        organization_name,
        ladder,
        title,
        previous_title,
        track,
        part
    from stint_events
    where part = 'title_change'
    union all
    select
        profile_id,
        organization_id,
        stint_number,
        event_key,
        is_second,
        event_type,
        changed_at,
        detected_at,
        person_full_name,
        organization_name,
        ladder,
        title,
        previous_title,
        track,
        part
    from ambiguous_events
    where part in ('interruption', 'role_start', 'role_end', 'repeat')
),

-- The position of each of these in its stint, and the totals over all of them.
others as (
    select
        inside.profile_id,
        inside.organization_id,
        inside.stint_number,
        inside.event_key,
        inside.event_type,
        inside.changed_at,
        inside.detected_at,
        inside.person_full_name,
        inside.organization_name,
        inside.ladder,
        inside.track,
        inside.title,
        inside.previous_title,
        inside.part in ('role_end', 'repeat') and inside.event_type = 'left' as is_left_again,
        inside.changed_at as title_at,
        row_number() over backwards as recency,
        last_value(
            case when inside.event_type = 'title_change' then coalesce(inside.previous_title, inside.title) else inside.title end
        ) over stretch as earliest_title,
        count(*) over stretch as rows_inside,
        count(case when not inside.is_second then 1 end) over stretch as events,
        count(case when inside.part <> 'repeat' then 1 end) over stretch as telling_events,
        count(inside.title) over stretch as titled_events,
        count(case when inside.event_type = 'left' then 1 end) over stretch as leavings,
        count(case when inside.part in ('interruption', 'role_end') and inside.event_type = 'left' then 1 end) over stretch
            as interruptions,
        min(inside.changed_at) over stretch as first_at,
        max(
            case
                when inside.title is not null and side_roles.title is null then 1
                when inside.event_type = 'title_change' and inside.previous_title is not null and side_roles_before.title is null
                    then 1
                else 0
            end
        ) over stretch as main_roles
    from inside
    left join side_roles on side_roles.ladder = inside.ladder and side_roles.title = inside.title
    left join side_roles as side_roles_before
        on side_roles_before.ladder = inside.ladder and side_roles_before.title = inside.previous_title
    window
        backwards as (
            partition by inside.profile_id, inside.organization_id, inside.stint_number
            order by inside.changed_at desc, inside.detected_at desc, event_type_order(inside.event_type) desc, inside.event_key desc
        ),
        stretch as (
            partition by inside.profile_id, inside.organization_id, inside.stint_number
            order by inside.changed_at desc, inside.detected_at desc, event_type_order(inside.event_type) desc, inside.event_key desc
            rows between unbounded preceding and unbounded following
        )
),

-- The first and the last event with a title, where some have none. A leaving names the title that was left, so at one instant it
-- has the earlier title, and a repeated leaving gives the last title only where no other event does.
recalled as (
    select
        last.profile_id,
        last.organization_id,
        last.stint_number,
        -- Null where only leavings inside the stint name titles: the title of the joining comes before those.
        max_by(
            case when not titled.is_left_again then titled.title_at end,
            (
                case when titled.is_left_again then 0 else 1 end,
                titled.title_at,
                case when titled.event_type = 'left' then 0 else 1 end,
                -titled.recency
            )
        ) as latest_title_at,
        max_by(
            titled.title,
            (
                case when titled.is_left_again then 0 else 1 end,
                titled.title_at,
                case when titled.event_type = 'left' then 0 else 1 end,
                -titled.recency
            )
        ) as latest_title,
        min_by(
            case when titled.event_type = 'title_change' then coalesce(titled.previous_title, titled.title) else titled.title end,
            (titled.title_at, case when titled.event_type = 'left' then 0 else 1 end, -titled.recency)
        ) as earliest_title
    from others as last
    inner join others as titled
        on titled.profile_id = last.profile_id
        and titled.organization_id = last.organization_id
        and titled.stint_number = last.stint_number
    where
        last.recency = 1
        and (last.titled_events < last.rows_inside or last.leavings > 0)
        and titled.title is not null
    group by last.profile_id, last.organization_id, last.stint_number
),

rest as (
    select
        last.profile_id,
        last.organization_id,
        last.stint_number,
        last.event_key,
        last.event_type,
        last.changed_at,
        last.detected_at,
        last.person_full_name,
        last.organization_name,
        last.ladder,
        last.track,
        case when recalled.profile_id is null then last.title else recalled.latest_title end as latest_title,
        case when recalled.profile_id is null then last.changed_at else recalled.latest_title_at end
            as latest_title_at,
        case when recalled.profile_id is null then last.earliest_title else recalled.earliest_title end
            as earliest_title,
        last.events,
        last.telling_events,
        last.interruptions,
        last.first_at,
        last.main_roles > 0 as has_main_role
    from others as last
    left join recalled
        on recalled.profile_id = last.profile_id
        and recalled.organization_id = last.organization_id
        and recalled.stint_number = last.stint_number
    where last.recency = 1
),

returns as (
    select
        came_back.event_key,
        came_back.organization_id,
        came_back.stint_number,
        whole_months(utc_date(gone.changed_at), utc_date(came_back.changed_at)) as months_away
    from ambiguous_events as came_back
    inner join ambiguous_events as gone
        on gone.profile_id = came_back.profile_id
        and gone.organization_id = came_back.organization_id
        and gone.stint_number = came_back.previous_stint_number
    where came_back.part = 'arrival' and gone.part = 'departure'
),

-- Stints that follow another one of the same track, with the number of that one.
sequels as (
    select distinct profile_id, organization_id, stint_number, previous_stint_number
    from ambiguous_events
    where previous_stint_number is not null
),

-- The stints of people who came back, and whether they are main jobs or side roles.
tracks as (
    select distinct events.profile_id, events.organization_id, events.stint_number, events.track
    from ambiguous_events as events
    inner join sequels
        on sequels.profile_id = events.profile_id and sequels.organization_id = events.organization_id
),

-- The few names that mean no employer, or an unknown one.
employers as (
    select names.organization_name, pseudo.kind
    from (select distinct organization_name from dated_events where organization_name is not null) as names
    inner join pseudo_employers as pseudo on pseudo.name = plain_name(names.organization_name)
),

stints as (
    select
        coalesce(ends.profile_id, rest.profile_id) as profile_id,
        coalesce(ends.organization_id, rest.organization_id) as organization_id,
        coalesce(ends.stint_number, rest.stint_number) as stint_number,
        ends.joined_event_key,
        ends.joined_at,
        ends.joined_precision,
        ends.joined_detected_at,
        ends.joined_first_seen_at,
        ends.left_event_key,
        ends.left_at,
        ends.left_precision,
        ends.left_detected_at,
        ends.left_first_seen_at,
        coalesce(ends.joined_title, rest.earliest_title, ends.left_title) as first_title,
        case
            when ends.left_title is not null then ends.left_title
            when ends.joined_title is null or rest.latest_title_at >= ends.joined_at
                then coalesce(rest.latest_title, ends.joined_title)
            else ends.joined_title
        end as last_title,
        coalesce(ends.ladder, rest.ladder) as ladder,
        case
            when coalesce(ends.track, rest.track) = 'side' then false
            when coalesce(ends.track, rest.track) = 'main' then ends.event_key is not null or rest.telling_events > 0
            else
                coalesce(ends.has_main_role, false) or coalesce(rest.has_main_role, false)
                or (ends.joined_title is null and ends.left_title is null and rest.latest_title is null)
        end as is_primary,
        ends.event_key is null and rest.telling_events = 0 as says_nothing,
        least(ends.first_at, rest.first_at) as first_event_at,
        ends.event_key is null
        or coalesce(
            rest.changed_at > ends.changed_at
            or (rest.changed_at = ends.changed_at and rest.detected_at > ends.detected_at)
            or (
                rest.changed_at = ends.changed_at
                and rest.detected_at = ends.detected_at
                and event_type_order(rest.event_type) > event_type_order(ends.event_type)
            ),
            false
        ) as rest_is_last,
        ends.event_key as end_event_key,
        ends.event_type as end_event_type,
        ends.changed_at as end_at,
        ends.detected_at as end_detected_at,
        ends.person_full_name as end_person_full_name,
        ends.organization_name as end_organization_name,
        rest.event_key as rest_event_key,
        case when rest.event_type = 'nothing' then 'title_change' else rest.event_type end as rest_event_type,
        rest.changed_at as rest_at,
        rest.detected_at as rest_detected_at,
        rest.person_full_name as rest_person_full_name,
        rest.organization_name as rest_organization_name,
        coalesce(ends.events, 0) + coalesce(rest.events, 0) as events,
        coalesce(rest.interruptions, 0) as interruptions
    from ends
    full outer join rest
        on rest.profile_id = ends.profile_id
        and rest.organization_id = ends.organization_id
        and rest.stint_number = ends.stint_number
),

-- Stints before which the person had another job there, other than internships.
worked_before as (
    select distinct later.profile_id, later.organization_id, later.stint_number
    from tracks as later
    inner join tracks as earlier
        on earlier.profile_id = later.profile_id
        and earlier.organization_id = later.organization_id
        and earlier.track = later.track
        and earlier.stint_number < later.stint_number
    inner join stints as jobs
        on jobs.profile_id = earlier.profile_id
        and jobs.organization_id = earlier.organization_id
        and jobs.stint_number = earlier.stint_number
    left join titles on titles.ladder = jobs.ladder and titles.title = jobs.last_title
    where coalesce(titles.level <> 'intern', true)
)

select
    stints.profile_id,
    stints.organization_id,
    stints.stint_number,
    sequels.previous_stint_number,
    case when stints.rest_is_last then stints.rest_person_full_name else stints.end_person_full_name end
        as person_full_name,
    pages.person_network_url,
    case when stints.rest_is_last then stints.rest_organization_name else stints.end_organization_name end
        as organization_name,
    stints.joined_at,
    utc_date(stints.joined_at) as joined_on,
    stints.left_at,
    utc_date(stints.left_at) as left_on,
    stints.joined_event_key,
    stints.left_event_key,
    stints.joined_precision,
    stints.left_precision,
    stints.joined_detected_at,
    stints.left_detected_at,
    stints.joined_first_seen_at,
    stints.left_first_seen_at,
    stints.ladder,
    stints.first_title,
    coalesce(first_titles.level, 'unknown') as first_level,
    first_titles.level_order as first_level_order,
    first_titles.rank as first_rank,
    first_titles.is_management as first_is_management,
    coalesce(first_titles.function, 'unknown') as first_function,
    stints.last_title,
    coalesce(last_titles.level, 'unknown') as level,
    last_titles.level_order,
    last_titles.rank,
    last_titles.is_management,
    coalesce(last_titles.function, 'unknown') as function,
    stints.left_event_key is null and later.stint_number is null and not stints.says_nothing as is_open,
    worked_before.stint_number is not null as is_boomerang,
    sequels.previous_stint_number is not null and worked_before.stint_number is null as is_conversion,
    case when stints.joined_precision <> 'unknown' then returns.months_away end as months_away,
    stints.is_primary and coalesce(employers.kind <> 'none', true) as is_primary,
    employers.kind as employer_kind,
    case
        when stints.joined_precision <> 'unknown' then cast(extract(year from utc_date(stints.joined_at)) as integer)
    end as cohort_year,
    stints.first_event_at,
    case when stints.rest_is_last then stints.rest_at else stints.end_at end as last_event_at,
    case when stints.rest_is_last then stints.rest_event_type else stints.end_event_type end as last_event_type,
    case when stints.rest_is_last then stints.rest_event_key else stints.end_event_key end as last_event_key,
    case when stints.rest_is_last then stints.rest_detected_at else stints.end_detected_at end as last_detected_at,
    cast(stints.events as integer) as events,
    cast(stints.interruptions as integer) as interruptions
from stints
left join returns
    on returns.event_key = stints.joined_event_key
    and returns.organization_id = stints.organization_id
    and returns.stint_number = stints.stint_number
left join sequels
    on sequels.profile_id = stints.profile_id
    and sequels.organization_id = stints.organization_id
    and sequels.stint_number = stints.stint_number
left join worked_before
    on worked_before.profile_id = stints.profile_id
    and worked_before.organization_id = stints.organization_id
    and worked_before.stint_number = stints.stint_number
left join sequels as later
    on later.profile_id = stints.profile_id
    and later.organization_id = stints.organization_id
    and later.previous_stint_number = stints.stint_number
left join employers
    on employers.organization_name
    = case when stints.rest_is_last then stints.rest_organization_name else stints.end_organization_name end
left join person_pages as pages on pages.profile_id = stints.profile_id
left join titles as first_titles
    on first_titles.ladder = stints.ladder
    and first_titles.title = stints.first_title
left join titles as last_titles
    on last_titles.ladder = stints.ladder
    and last_titles.title = stints.last_title
