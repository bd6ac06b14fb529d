-- grain: One row per organisation, month and kind of change in which at least 10 people left or joined, after a year of observation.
-- key: organization_id, month_start_on, change
-- kind: view
-- purpose: How unusual the number of people who left or joined in a month is: layoffs and hiring bursts.
-- note: Only main jobs count. These are left out: transfers; stints that begin and end at one instant; people who went
-- note: together to one organisation, or came together from one (at least 3, and at least a third: a deal or a team that
-- note: moved); and all but one of the people with equal histories: the same name or none, dates of joining and leaving,
-- note: number of events (3 or more), first and last event. Where fewer than 5 people left or joined in a month, all of them
-- note: count.
-- note: The history is the 1, 2 or 3 whole years before the month since observed_from_on; a month without any change counts as
-- note: 0. Earlier months hold only late detections, and anything after them would look unusual.
-- note: level = (people in the history + 1/2) / its months. season = (people in the same calendar month of it + 5) / (level *
-- note: years + 5). expected = level * season. dispersion = greatest(0, (variance of the months - level) / level^2) + 1 /
-- note: (people in the history + 1/2): how far the counts spread beyond a Poisson distribution, and how little is known of the
-- note: level.
-- note: score is the deviance residual of a negative binomial distribution, with y people and d the dispersion: the root of 2 *
-- note: (y * ln(y / expected) - (y + 1/d) * ln((1 + d * y) / (1 + d * expected))), negative where y is less than expected. It
-- note: is read like a standard normal deviate: 3 or more comes by chance once in 740 months.
-- note: Where far more people than expected both left and joined (a score of 2 or more in each), more was seen than before: a
-- note: fault or a wider scope raises both, and the month is neither a layoff nor a hiring burst. Its kind is more seen. A date
-- note: known to the year only is stored as 1 January; such years affect the season only.
-- columns:
--   organization_id: The service's stable id of the organisation.
--   month_start_on: The first day of the month, UTC; not after observed_until_on of organizations.
--   change: left, or joined.
--   people: The number of people, excluding transfers, duplicate people and those who moved together.
--   moved_together: The number of people left out because they went to, or came from, one organisation together.
--   expected: The number of people to expect from the organisation's history and the season.
--   dispersion: How much more the number varies than by chance alone: its variance is expected + dispersion * expected^2.
--   score: The number of standard deviations by which the number is unusual; negative where it is low.
--   kind: null below a score of 3; from 3 on, more seen where the score of the other change is 2 or more, else layoff or hiring burst.
--   is_layoff: True where kind is layoff.
--   is_hiring_burst: True where kind is hiring burst.
with

known as (
    select
        monthly.organization_id,
        monthly.month_start_on,
        sum(monthly.joiners) as joiners,
        sum(monthly.leavers) as leavers
    from organization_monthly as monthly
    inner join organization_observation as observed on observed.organization_id = monthly.organization_id
    where monthly.month_start_on <= observed.observed_until_on
    group by monthly.organization_id, monthly.month_start_on
),

changes as (
    select organization_id, month_start_on, 'joined' as change, joiners as people
    from known
    where joiners > 0
    union all
    select organization_id, month_start_on, 'left' as change, leavers as people
    from known
    where leavers > 0
),

-- Only organisations with such a month are examined, for both changes; smaller ones never get a row.
raw as (
    select
        changes.organization_id,
        changes.month_start_on,
        changes.change,
        changes.people
    from changes
    inner join (
        select organization_id
        from changes
        group by organization_id
        having max(people) >= 10
    ) as busy
        on busy.organization_id = changes.organization_id
),

involved as (
    select
        joiners.organization_id,
        joiners.month_start_on,
        raw.change,
        joiners.profile_id,
        joiners.joined_at,
        stints.left_at,
        joiners.came_from_organization_id as other_organization_id
    from raw
    inner join joiners
        on joiners.organization_id = raw.organization_id
        and joiners.month_start_on = raw.month_start_on
    inner join stints
        on stints.profile_id = joiners.profile_id
        and stints.organization_id = joiners.organization_id
        and stints.stint_number = joiners.stint_number
    where raw.change = 'joined' and raw.people >= 5 and joiners.is_primary and not joiners.is_transfer
    union all
    select
        leavers.organization_id,
        leavers.month_start_on,
        raw.change,
        leavers.profile_id,
        leavers.joined_at,
        leavers.left_at,
        leavers.went_to_organization_id as other_organization_id
    from raw
    inner join leavers
        on leavers.organization_id = raw.organization_id
        and leavers.month_start_on = raw.month_start_on
    where raw.change = 'left' and raw.people >= 5 and leavers.is_primary and not leavers.is_transfer
),

told as (
    select
        involved.organization_id,
        involved.month_start_on,
        involved.change,
        involved.profile_id,
        involved.other_organization_id,
        involved.joined_at = involved.left_at as is_instant,
        people.events >= 3
        and row_number() over (
            partition by
                involved.organization_id,
                involved.change,
                involved.joined_at,
                involved.left_at,
                lower(people.person_full_name),
                people.events,
                people.first_event_at,
                people.last_event_at
            order by involved.profile_id
        ) > 1 as is_duplicate
    from involved
    inner join people on people.profile_id = involved.profile_id
),

by_other as (
    select
        organization_id,
        month_start_on,
        change,
        other_organization_id,
        count(distinct case when not is_duplicate and not coalesce(is_instant, false) then profile_id end) as people
    from told
    group by organization_id, month_start_on, change, other_organization_id
),

together as (
    select
        organization_id,
        month_start_on,
        change,
        sum(people) as people,
        coalesce(max(case when other_organization_id is not null then people end), 0) as most
    from by_other
    group by organization_id, month_start_on, change
),

-- How many people remain in each month.
monthly as (
    select
        raw.organization_id,
        raw.month_start_on,
        raw.change,
        month_number(raw.month_start_on) as month,
        cast(
            case
                when together.people is null then raw.people
                when together.most >= 3 and 3 * together.most >= together.people then together.people - together.most
                else together.people
            end as integer
        ) as people,
        cast(
            case when together.most >= 3 and 3 * together.most >= together.people then together.most else 0 end as integer
        ) as moved_together
    from raw
    left join together
        on together.organization_id = raw.organization_id
        and together.month_start_on = raw.month_start_on
        and together.change = raw.change
),

begun as (
    select
        known.organization_id,
        coalesce(max(month_number(observed.observed_from_on)), min(month_number(known.month_start_on))) as first_month
    from known
    inner join organization_observation as observed on observed.organization_id = known.organization_id
    group by known.organization_id
),

told_months as (
    select
        monthly.organization_id,
        monthly.month,
        max(monthly.people) as people
    from monthly
    group by monthly.organization_id, monthly.month
    having max(monthly.people) >= 10
),

candidates as (
    select
        monthly.organization_id,
        monthly.month_start_on,
        monthly.change,
        monthly.month,
        monthly.people,
        monthly.moved_together,
        case
            when monthly.month - begun.first_month >= 36 then 3
            when monthly.month - begun.first_month >= 24 then 2
            else 1
        end as years
    from monthly
    inner join begun on begun.organization_id = monthly.organization_id
    inner join told_months
        on told_months.organization_id = monthly.organization_id
        and told_months.month = monthly.month
    where monthly.people > 0 and monthly.month - begun.first_month >= 12
),

compared as (
    select
        candidates.organization_id,
        candidates.month_start_on,
        candidates.change,
        candidates.people,
        candidates.moved_together,
        candidates.years,
        cast(coalesce(sum(earlier.people), 0) as double) as in_history,
        cast(coalesce(sum(earlier.people * earlier.people), 0) as double) as squares,
        cast(coalesce(sum(case when mod(candidates.month - earlier.month, 12) = 0 then earlier.people end), 0) as double)
            as in_season
    from candidates
    left join monthly as earlier
        on earlier.organization_id = candidates.organization_id
        and earlier.change = candidates.change
        and earlier.month >= candidates.month - 12 * candidates.years
        and earlier.month < candidates.month
    group by
        candidates.organization_id,
        candidates.month_start_on,
        candidates.change,
        candidates.people,
        candidates.moved_together,
        candidates.years
),

levelled as (
    select
        organization_id,
        month_start_on,
        change,
        people,
        moved_together,
        years,
        in_history,
        in_season,
        (in_history + 0.5) / (12 * years) as level,
        (squares - in_history * in_history / (12 * years)) / (12 * years - 1) as variance
    from compared
),

estimated as (
    select
        organization_id,
        month_start_on,
        change,
        people,
        moved_together,
        level * (in_season + 5) / (level * years + 5) as expected,
        greatest(0, (variance - level) / (level * level)) + 1 / (in_history + 0.5) as dispersion
    from levelled
),

scored as (
    select
        organization_id,
        month_start_on,
        change,
        people,
        moved_together,
        expected,
        dispersion,
        round(
            sign(people - expected) * sqrt(
                greatest(
                    0,
                    2 * (
                        people * ln(people / expected)
                        - (people + 1 / dispersion) * ln((1 + dispersion * people) / (1 + dispersion * expected))
                    )
                )
            ),
            3
        ) as score
    from estimated
),

paired as (
    select
        organization_id,
        month_start_on,
        change,
        people,
        moved_together,
        expected,
        dispersion,
        score,
        count(*) over (partition by organization_id, month_start_on) = 2
        and min(score) over (partition by organization_id, month_start_on) >= 2 as is_both
    from scored
)

select
    organization_id,
    month_start_on,
    change,
    people,
    moved_together,
    round(expected, 3) as expected,
    round(dispersion, 3) as dispersion,
    score,
    case
        when score < 3 then null
        when is_both then 'more seen'
        when change = 'left' then 'layoff'
        else 'hiring burst'
    end as kind,
    change = 'left' and score >= 3 and not is_both as is_layoff,
    change = 'joined' and score >= 3 and not is_both as is_hiring_burst
from paired
where people >= 10
