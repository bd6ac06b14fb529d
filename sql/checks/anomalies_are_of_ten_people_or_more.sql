-- What is unusual is told of 10 people or more, in a month that was looked at, and with a score.
select anomalies.organization_id, anomalies.month_start_on, anomalies.change, anomalies.people, anomalies.score
from organization_anomalies as anomalies
inner join organization_observation as observed on observed.organization_id = anomalies.organization_id
where anomalies.people < 10 or anomalies.month_start_on > observed.observed_until_on or anomalies.score is null or isnan(anomalies.score)
