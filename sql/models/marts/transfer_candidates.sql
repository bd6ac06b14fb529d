-- grain: One row per pair of organisations between which people moved at once, as in an acquisition, a rename or a spin-off.
-- key: from_organization_id, to_organization_id
-- tier: detail
-- purpose: Deals that show in the data, with the evidence and the confidence. In moves, is_transfer marks the moves that count as transfers.
-- note: The model reads direct moves, those of duplicate people once, and none by which a person becomes a founder. Their window
-- note: is 5 months of joining: the months with the most people, or on a tie those around the month with the most; the earliest,
-- note: if still equal. At least 3 people have to move in it. Shares are damped: 2 is added to the divisor, so that 3 of 3
-- note: people prove less than 30 of 30.
-- note: A deal is a pattern that people who each change jobs do not produce by chance (evidence): one name that contains the
-- note: other, or one slug; 4 or more, and most of them, who joined on one known day (3 where they are a quarter of the source,
-- note: or the target is new); half of all who were at the source (of 5 or more, or all of 4); or, where only months are known,
-- note: 5 or more in one month, who are a third of the source or, of 10 or more, most who joined the target; or most who ever
-- note: joined a new target, where 4 came in a month, or 8 on any days of one. And most of the moves of the pair are in the
-- note: window: rivals exchange people all the time. Everything else that resembles a deal is a candidate for
-- note: config/transfers.yaml, which overrides all evidence.
-- note: confidence multiplies three factors: that the shares are not all chance, 1 - (1 - share of the source's leavers in the
-- note: window) * (1 - share of all of them) * (1 - share of the target's joiners in the window) * (1 - half where the names
-- note: are alike); half, rising to whole with the share of people on the commonest day; half, rising to whole with the share
-- note: of the pair's direct moves that are in the window.
-- note: kind is duplicate people where at most one in three can be distinguished (with 10 or more people only where most
-- note: joinings at the source were seen: many people known by two events look alike); rename where the names are alike;
-- note: spin-off where the target was hardly there before, and the source is more than that part; else acquisition.

-- values: kind: rename | acquisition | spin-off | duplicate people
-- values: evidence: names | same day | share of people | same month (or null)
-- columns:
--   from_organization_id: The organisation that was left.
--   to_organization_id: The organisation that was joined.
--   from_organization_name: Name of the organisation that was left, as in the stint there that was detected last.
--   to_organization_name: Name of the organisation that was joined, as in the stint there that was detected last.
--   kind: rename, acquisition, spin-off, or duplicate people: profiles of one person, who may have changed jobs.
--   confidence: How likely it is that the people did not each change jobs, 0 to 1; rows without evidence or decision start at 0.25.
--   evidence: The proof: names (alike, or one slug), same day, share of people (of the source), or same month; null without any.
--   decision: The decision in config/transfers.yaml on the pair; null without one.
--   is_transfer: The decision; without one, true where there is evidence and kind is not duplicate people: the moves then count as transfers.
--   needs_decision: True where the confidence is 0.45 or more without evidence or decision: the row is worth a look.
--   people: The number of people who moved directly, with at most 31 days between, in the window.
--   window_start_on: First day of the first month of the window, by joining, UTC.
--   window_end_on: First day of the last month of the window, by joining, UTC.
--   same_day_people: The number of people who joined on the commonest day.
--   same_known_day_people: The number of people who joined on the commonest of the dates known to the day.
--   same_month_people: The number of people who joined in the commonest month.
--   people_there: The number of people known to be at the source in the window.
--   share_of_leavers: people divided by all who left the source in the window; some of these people left just before or after it.
--   share_of_all_leavers: people divided by all who ever left the source.
--   share_of_joiners: people divided by all who joined the target in the window.
--   moves: All direct moves from the source to the target, at any time.
--   reverse_moves: All direct moves from the target to the source.
--   people_before: People who were seen at the target before the window.
--   joinings_seen: The number of people seen to join the source.
--   histories: The number of people who can be distinguished: by name, or by the days of joining the source, moving, and leaving the target.
--   name_likeness: 1 where one name contains the other, else the share of letters that are the same; legal forms do not count.
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
    where links.gap_days <= 31 and links.is_between_employers and duplicate_people.profile_id is null
),

pairs as (
    select from_organization_id, to_organization_id, count(*) as moves
    from linked
    group by from_organization_id, to_organization_id
),

-- Colleagues who found a company together were not bought with one. Founders of the source may still have been.
founders as (
    select linked.joined_event_key
    from linked
    inner join stints as arrivals on arrivals.joined_event_key = linked.joined_event_key
    inner join titles on titles.ladder = arrivals.ladder and titles.title = arrivals.first_title
    inner join stints as departures
        on departures.profile_id = linked.profile_id
        and departures.organization_id = linked.from_organization_id
        and departures.stint_number = linked.from_stint_number
    left join titles as titles_before
        on titles_before.ladder = departures.ladder and titles_before.title = departures.last_title
    where
        is_founder_title(titles.level, titles.core)
        and not coalesce(is_founder_title(titles_before.level, titles_before.core), false)
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
    left join founders on founders.joined_event_key = linked.joined_event_key
    where pairs.moves >= 3 and founders.joined_event_key is null
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

-- The people who moved in the window, and what distinguishes them: their names, and when they joined the source and left the
-- target.
movers as (
    select
        frequent.from_organization_id,
        frequent.to_organization_id,
        ranked.month,
        frequent.moves,
        frequent.profile_id,
        utc_date(frequent.joined_at) as joined_on,
        frequent.month as joined_month,
        arrivals.joined_precision = 'day' as is_day_known,
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
    select
        from_organization_id,
        to_organization_id,
        joined_on,
        count(distinct profile_id) as people,
        count(distinct case when is_day_known then profile_id end) as people_of_known_day
    from movers
    group by from_organization_id, to_organization_id, joined_on
),

commonest_days as (
    select
        from_organization_id,
        to_organization_id,
        max(people) as people,
        max(people_of_known_day) as people_of_known_day
    from days
    group by from_organization_id, to_organization_id
),

commonest_months as (
    select from_organization_id, to_organization_id, max(people) as people
    from (
        select from_organization_id, to_organization_id, joined_month, count(distinct profile_id) as people
        from movers
        group by from_organization_id, to_organization_id, joined_month
    ) as in_months
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
        count(distinct case when is_day_known then profile_id end) as people_of_known_day,
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
        stints.profile_id,
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

-- The people known to be at the source when the window began, or to come in it.
people_there as (
    select
        counted.from_organization_id,
        counted.to_organization_id,
        count(distinct involved_stints.profile_id) as people
    from counted
    inner join involved_stints on involved_stints.organization_id = counted.from_organization_id
    where
        coalesce(involved_stints.joined_month <= counted.month + 2, true)
        and coalesce(involved_stints.left_month >= counted.month - 2, true)
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

slugs as (
    select events.organization_id, max(lower(events.organization_slug)) as slug
    from job_change_events as events
    inner join involved on involved.organization_id = events.organization_id
    group by events.organization_id
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
        commonest_days.people_of_known_day as same_known_day_people,
        commonest_months.people as same_month_people,
        counted.people_of_known_day,
        greatest(people_there.people, counted.people) as people_there,
        coalesce(from_slugs.slug = to_slugs.slug, false) as has_one_slug,
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
    inner join commonest_months
        on commonest_months.from_organization_id = counted.from_organization_id
        and commonest_months.to_organization_id = counted.to_organization_id
    inner join people_there
        on people_there.from_organization_id = counted.from_organization_id
        and people_there.to_organization_id = counted.to_organization_id
    left join slugs as from_slugs on from_slugs.organization_id = counted.from_organization_id
    left join slugs as to_slugs on to_slugs.organization_id = counted.to_organization_id
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

weighed as (
    select
        from_organization_id,
        to_organization_id,
        name_likeness >= 0.8 or has_one_slug as is_alike,
        -- One name contains the other. Similar letters alone can be chance: Visa and Vista, Firm 1 and Firm 2.
        name_likeness = 1
        or has_one_slug
        or (name_likeness >= 0.8 and cast(people as double) / (people_there + 2) >= 0.3) as has_one_name,
        cast(people as double) / (people_there + 2) as damped_share_of_people,
        -- A target with hardly any people before, and hardly any other joiners.
        people_before <= people * 0.2 + 1 and damped_share_of_joiners >= 0.6 as is_new,
        -- Known days that differ are evidence against a deal; months hide them.
        people_of_known_day * 2 <= people as is_known_to_months,
        people * 10 >= moves * 6 as is_once
    from evidence
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
            when weighed.is_alike then 'rename'
            when evidence.people_before <= evidence.people and evidence.all_leavers > evidence.people * 2 then 'spin-off'
            else 'acquisition'
        end as kind,
        case
            when not weighed.is_once then null
            when weighed.has_one_name then 'names'
            when evidence.same_known_day_people >= 4 and evidence.same_known_day_people * 10 >= evidence.people * 6 then 'same day'
            when
                evidence.same_known_day_people = 3
                and evidence.people <= 4
                and (weighed.damped_share_of_people >= 0.25 or weighed.is_new)
                then 'same day'
            when weighed.damped_share_of_people >= 0.5 and evidence.people >= 5 then 'share of people'
            when evidence.people >= 4 and evidence.people = evidence.people_there then 'share of people'
            when
                weighed.damped_share_of_people >= 0.5
                and weighed.is_known_to_months
                and evidence.same_month_people + 1 >= evidence.people
                then 'share of people'
            when
                weighed.is_known_to_months
                and evidence.people >= 5
                and evidence.same_month_people * 10 >= evidence.people * 8
                and (weighed.damped_share_of_people >= 0.35 or weighed.is_new)
                then 'same month'
            when
                weighed.is_new
                and weighed.is_known_to_months
                and evidence.people >= 4
                and evidence.same_month_people = evidence.people
                then 'same month'
            when weighed.is_new and evidence.people >= 8 and evidence.same_month_people * 10 >= evidence.people * 8 then 'same month'
            when
                weighed.is_known_to_months
                and evidence.people >= 10
                and evidence.same_month_people * 10 >= evidence.people * 7
                and evidence.damped_share_of_joiners >= 0.6
                then 'same month'
        end as evidence,
        cast(
            round(
                (
                    1 - (1 - evidence.damped_share_of_leavers)
                    * (1 - evidence.damped_share_of_all_leavers)
                    * (1 - evidence.damped_share_of_joiners)
                    * (1 - case when weighed.is_alike then 0.5 else 0.0 end)
                )
                * (0.5 + 0.5 * evidence.same_day_people / evidence.people)
                * (0.5 + 0.5 * evidence.people / greatest(evidence.moves, evidence.people)),
                3
            ) as double
        ) as confidence
    from evidence
    inner join weighed
        on weighed.from_organization_id = evidence.from_organization_id
        and weighed.to_organization_id = evidence.to_organization_id
)

select
    evidence.from_organization_id,
    evidence.to_organization_id,
    evidence.from_organization_name,
    evidence.to_organization_name,
    judged.kind,
    judged.confidence,
    judged.evidence,
    decided.is_transfer as decision,
    judged.kind <> 'duplicate people' and coalesce(decided.is_transfer, judged.evidence is not null) as is_transfer,
    judged.kind <> 'duplicate people' and decided.is_transfer is null and judged.evidence is null and judged.confidence >= 0.45
        as needs_decision,
    cast(evidence.people as integer) as people,
    month_of_number(evidence.month - 2) as window_start_on,
    month_of_number(evidence.month + 2) as window_end_on,
    cast(evidence.same_day_people as integer) as same_day_people,
    cast(evidence.same_known_day_people as integer) as same_known_day_people,
    cast(evidence.same_month_people as integer) as same_month_people,
    cast(evidence.people_there as integer) as people_there,
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
left join transfer_decisions as decided
    on decided.from_organization_id = evidence.from_organization_id
    and decided.to_organization_id = evidence.to_organization_id
where judged.confidence >= 0.25 or judged.evidence is not null or decided.is_transfer is not null
