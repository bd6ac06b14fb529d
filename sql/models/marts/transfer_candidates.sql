-- grain: One row per pair of organisations between which people moved at once, as an acquisition, a rename or a spin-off moves them.
-- key: from_organization_id, to_organization_id
-- tier: detail
-- purpose: Deals that show in the data, with the evidence, and how sure it is. Moves of what counts as a transfer are is_transfer in moves.
-- note: Read are direct moves, those of duplicate people once. Their window is 5 months of joining: those with the most people, and
-- note: of equal ones those around the month with the most; the earliest, if still equal. At least 3 people have to move in it.
-- note: Shares are damped: 2 is added to what is divided by, so that 3 of 3 people prove less than 30 of 30.
-- note: confidence multiplies three: that not all of the evidence is chance, 1 - (1 - share of the source's leavers in the window)
-- note: * (1 - share of all of them) * (1 - share of the target's joiners in the window) * (1 - half of the likeness of the names,
-- note: where they are alike); half, rising to whole with the share of people on the commonest day; half, rising to whole with the
-- note: share of the pair's direct moves that are in the window. Rivals exchange people all the time, and on any day.
-- note: kind: duplicate people where at most one in three can be told apart, of 10 or more people only where most joinings at the
-- note: source were seen: many of those who are known by two events look alike;
-- note: rename where the names are alike; spin-off where the target was hardly there before, and the source is more than that part;
-- note: else acquisition. How often that is right on public data, docs/careers.md says.
-- values: kind: rename | acquisition | spin-off | duplicate people
-- columns:
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined.
--   from_organization_name: Name of the organisation that was left, as in the stint there that was detected last.
--   to_organization_name: Name of the organisation that was joined, likewise.
--   kind: rename, acquisition, spin-off, or duplicate people: profiles of one person, who may have changed jobs.
--   confidence: How sure it is that they did not each change jobs, 0 to 1; none below 0.25 are here.
--   is_transfer: True from a confidence of 0.5, where kind is not duplicate people: their moves count as transfers.
--   people: How many people moved directly, with at most 31 days between, in the window.
--   window_start_on: First day of the first month of the window, by joining, UTC.
--   window_end_on: First day of its last month.
--   same_day_people: How many of people joined on the commonest day.
--   share_of_leavers: people divided by all who left the source in the window; some of people left just before it or after.
--   share_of_all_leavers: people divided by all who ever left the source.
--   share_of_joiners: people divided by all who joined the target in the window.
--   moves: All direct moves from the source to the target, whenever.
--   reverse_moves: All direct moves from the target to the source.
--   people_before: People who were seen at the target before the window.
--   joinings_seen: How many of people were seen to join the source.
--   histories: How many of people can be told apart: by name, or by the days of joining the source, moving, and leaving the target.
--   name_likeness: 1 where one name holds the other, else the share of letters that are the same; legal forms do not count.
with

linked as (
    select
        links.from_organization_id,
        links.to_organization_id,
        links.profile_id,
        links.joined_event_key,
        links.from_stint_number,
        links.joined_at,
        month_number(utc_date(links.joined_at)) as month
    from move_links as links
    left join duplicate_people on duplicate_people.profile_id = links.profile_id and not duplicate_people.is_main
    where links.gap_days <= 31 and duplicate_people.profile_id is null
),

pairs as (
    select from_organization_id, to_organization_id, count(*) as moves
    from linked
    group by from_organization_id, to_organization_id
),

frequent as (
    select
        linked.from_organization_id,
        linked.to_organization_id,
        linked.profile_id,
        linked.joined_event_key,
        linked.from_stint_number,
        linked.joined_at,
        linked.month,
        pairs.moves
    from linked
    inner join pairs
        on pairs.from_organization_id = linked.from_organization_id
        and pairs.to_organization_id = linked.to_organization_id
    where pairs.moves >= 3
),

months as (
    select from_organization_id, to_organization_id, month, count(*) as in_month
    from frequent
    group by from_organization_id, to_organization_id, month
),

windows as (
    select
        centre.from_organization_id,
        centre.to_organization_id,
        centre.month,
        max(centre.in_month) as in_month,
        sum(near.in_month) as in_window
    from months as centre
    inner join months as near
        on near.from_organization_id = centre.from_organization_id
        and near.to_organization_id = centre.to_organization_id
    where near.month between centre.month - 2 and centre.month + 2
    group by centre.from_organization_id, centre.to_organization_id, centre.month
    having sum(near.in_month) >= 3
),

ranked as (
    select
        from_organization_id,
        to_organization_id,
        month,
        row_number() over (
            partition by from_organization_id, to_organization_id order by in_window desc, in_month desc, month
        ) as place
    from windows
),

-- Who moved in the window, and what tells them apart: names, and when they had joined the source and left the target.
movers as (
    select
        frequent.from_organization_id,
        frequent.to_organization_id,
        ranked.month,
        frequent.moves,
        frequent.profile_id,
        utc_date(frequent.joined_at) as joined_on,
        utc_date(departures.joined_at) as source_joined_on,
        utc_date(arrivals.left_at) as target_left_on,
        departures.person_full_name
    from frequent
    inner join ranked
        on ranked.from_organization_id = frequent.from_organization_id
        and ranked.to_organization_id = frequent.to_organization_id
    inner join stints as departures
        on departures.profile_id = frequent.profile_id
        and departures.organization_id = frequent.from_organization_id
        and departures.stint_number = frequent.from_stint_number
    inner join stints as arrivals on arrivals.joined_event_key = frequent.joined_event_key
    where ranked.place = 1 and frequent.month between ranked.month - 2 and ranked.month + 2
),

days as (
    select from_organization_id, to_organization_id, joined_on, count(distinct profile_id) as people
    from movers
    group by from_organization_id, to_organization_id, joined_on
),

commonest_days as (
    select from_organization_id, to_organization_id, max(people) as people
    from days
    group by from_organization_id, to_organization_id
),

histories as (
    select distinct from_organization_id, to_organization_id, person_full_name, source_joined_on, joined_on, target_left_on
    from movers
),

told_apart as (
    select from_organization_id, to_organization_id, count(*) as histories
    from histories
    group by from_organization_id, to_organization_id
),

counted as (
    select
        from_organization_id,
        to_organization_id,
        max(month) as month,
        max(moves) as moves,
        count(distinct profile_id) as people,
        count(source_joined_on) as joinings_seen
    from movers
    group by from_organization_id, to_organization_id
    having count(distinct profile_id) >= 3
),

involved as (
    select from_organization_id as organization_id from counted
    union
    select to_organization_id as organization_id from counted
),

involved_stints as (
    select
        stints.organization_id,
        stints.organization_name,
        stints.last_detected_at,
        stints.last_event_key,
        month_number(utc_date(stints.joined_at)) as joined_month,
        month_number(utc_date(stints.left_at)) as left_month,
        month_number(utc_date(stints.first_event_at)) as seen_month
    from stints
    inner join involved on involved.organization_id = stints.organization_id
    left join duplicate_people on duplicate_people.profile_id = stints.profile_id and not duplicate_people.is_main
    where stints.is_primary and duplicate_people.profile_id is null
),

changes as (
    select organization_id, left_month as month, count(*) as leavers, 0 as joiners, 0 as seen
    from involved_stints
    where left_month is not null
    group by organization_id, left_month
    union all
    select organization_id, joined_month as month, 0 as leavers, count(*) as joiners, 0 as seen
    from involved_stints
    where joined_month is not null
    group by organization_id, joined_month
    union all
    select organization_id, seen_month as month, 0 as leavers, 0 as joiners, count(*) as seen
    from involved_stints
    group by organization_id, seen_month
),

sources as (
    select
        counted.from_organization_id,
        counted.to_organization_id,
        sum(case when changes.month between counted.month - 2 and counted.month + 2 then changes.leavers else 0 end) as leavers,
        sum(changes.leavers) as all_leavers
    from counted
    inner join changes on changes.organization_id = counted.from_organization_id
    group by counted.from_organization_id, counted.to_organization_id
),

targets as (
    select
        counted.from_organization_id,
        counted.to_organization_id,
        sum(case when changes.month between counted.month - 2 and counted.month + 2 then changes.joiners else 0 end) as joiners,
        sum(case when changes.month < counted.month - 2 then changes.seen else 0 end) as people_before
    from counted
    inner join changes on changes.organization_id = counted.to_organization_id
    group by counted.from_organization_id, counted.to_organization_id
),

names as (
    select
        organization_id,
        max_by(organization_name, (last_detected_at, last_event_key)) as name
    from involved_stints
    group by organization_id
),

spelt as (
    select
        organization_id,
        name,
        ' ' || replace(replace(replace(replace(replace(lower(name), '.', ''), ',', ' '), '(', ' '), ')', ' '), '  ', ' ') || ' '
            as spelling
    from names
),

bare as (
    select
        organization_id,
        name,
        coalesce(
            trim(
            replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
                spelling,
                ' inc ', ' '), ' llc ', ' '), ' ltd ', ' '), ' limited ', ' '), ' gmbh ', ' '), ' corporation ', ' '),
                ' corp ', ' '), ' company ', ' '), ' co ', ' '), ' ag ', ' ')
            ),
            ''
        ) as bare_name
    from spelt
),

evidence as (
    select
        counted.from_organization_id,
        counted.to_organization_id,
        from_names.name as from_organization_name,
        to_names.name as to_organization_name,
        counted.month,
        counted.people,
        commonest_days.people as same_day_people,
        cast(counted.people as double) / greatest(sources.leavers, counted.people) as share_of_leavers,
        cast(counted.people as double) / sources.all_leavers as share_of_all_leavers,
        cast(counted.people as double) / targets.joiners as share_of_joiners,
        cast(counted.people as double) / (greatest(sources.leavers, counted.people) + 2) as damped_share_of_leavers,
        cast(counted.people as double) / (sources.all_leavers + 2) as damped_share_of_all_leavers,
        cast(counted.people as double) / (targets.joiners + 2) as damped_share_of_joiners,
        sources.all_leavers,
        counted.moves,
        coalesce(reverse.moves, 0) as reverse_moves,
        targets.people_before,
        counted.joinings_seen,
        told_apart.histories,
        case
            when from_names.bare_name = '' or to_names.bare_name = '' then 0.0
            when position(' ' || from_names.bare_name || ' ' in ' ' || to_names.bare_name || ' ') > 0 then 1.0
            when position(' ' || to_names.bare_name || ' ' in ' ' || from_names.bare_name || ' ') > 0 then 1.0
            else
                1 - cast(levenshtein(from_names.bare_name, to_names.bare_name) as double)
                / greatest(length(from_names.bare_name), length(to_names.bare_name))
        end as name_likeness
    from counted
    inner join commonest_days
        on commonest_days.from_organization_id = counted.from_organization_id
        and commonest_days.to_organization_id = counted.to_organization_id
    inner join told_apart
        on told_apart.from_organization_id = counted.from_organization_id
        and told_apart.to_organization_id = counted.to_organization_id
    inner join sources
        on sources.from_organization_id = counted.from_organization_id
        and sources.to_organization_id = counted.to_organization_id
    inner join targets
        on targets.from_organization_id = counted.from_organization_id
        and targets.to_organization_id = counted.to_organization_id
    inner join bare as from_names on from_names.organization_id = counted.from_organization_id
    inner join bare as to_names on to_names.organization_id = counted.to_organization_id
    left join pairs as reverse
        on reverse.from_organization_id = counted.to_organization_id
        and reverse.to_organization_id = counted.from_organization_id
),

judged as (
    select
        evidence.from_organization_id,
        evidence.to_organization_id,
        case
            when
                evidence.histories * 3 <= evidence.people
                and (evidence.people < 10 or evidence.joinings_seen * 2 >= evidence.people)
                then 'duplicate people'
            when evidence.name_likeness >= 0.8 then 'rename'
            when evidence.people_before <= evidence.people and evidence.all_leavers > evidence.people * 2 then 'spin-off'
            else 'acquisition'
        end as kind,
        cast(
            round(
                (
                    1 - (1 - evidence.damped_share_of_leavers)
                    * (1 - evidence.damped_share_of_all_leavers)
                    * (1 - evidence.damped_share_of_joiners)
                    * (1 - case when evidence.name_likeness >= 0.8 then evidence.name_likeness / 2 else 0.0 end)
                )
                * (0.5 + 0.5 * evidence.same_day_people / evidence.people)
                * (0.5 + 0.5 * evidence.people / greatest(evidence.moves, evidence.people)),
                3
            ) as double
        ) as confidence
    from evidence
)

select
    evidence.from_organization_id,
    evidence.to_organization_id,
    evidence.from_organization_name,
    evidence.to_organization_name,
    judged.kind,
    judged.confidence,
    judged.confidence >= 0.5 and judged.kind <> 'duplicate people' as is_transfer,
    cast(evidence.people as integer) as people,
    month_of_number(evidence.month - 2) as window_start_on,
    month_of_number(evidence.month + 2) as window_end_on,
    cast(evidence.same_day_people as integer) as same_day_people,
    evidence.share_of_leavers,
    evidence.share_of_all_leavers,
    evidence.share_of_joiners,
    cast(evidence.moves as integer) as moves,
    cast(evidence.reverse_moves as integer) as reverse_moves,
    cast(evidence.people_before as integer) as people_before,
    cast(evidence.joinings_seen as integer) as joinings_seen,
    cast(evidence.histories as integer) as histories,
    cast(round(evidence.name_likeness, 3) as double) as name_likeness
from evidence
inner join judged
    on judged.from_organization_id = evidence.from_organization_id
    and judged.to_organization_id = evidence.to_organization_id
where judged.confidence >= 0.25
