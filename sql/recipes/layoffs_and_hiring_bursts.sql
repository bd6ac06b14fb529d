-- question: In which months did far more people leave or join an organisation than its own history suggests?
-- parameter: least = 3: the lowest score
-- parameter: from = 1900-01-01: the first day
-- parameter: to = 2999-12-31: the last day
-- empty: organization_anomalies: in no month after a first observed year did 10 people join or leave one organisation
select
    anomalies.month_start_on,
    organizations.name as organization,
    anomalies.change,
    anomalies.people,
    round(anomalies.expected, 1) as expected,
    anomalies.score,
    anomalies.kind,
    anomalies.moved_together
from organization_anomalies as anomalies
inner join organizations on organizations.organization_id = anomalies.organization_id
where
    anomalies.score >= cast(getvariable('least') as double)
    and anomalies.month_start_on between cast(getvariable('from') as date) and cast(getvariable('to') as date)
order by anomalies.score desc, organizations.organization_id
