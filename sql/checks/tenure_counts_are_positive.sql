-- tenure_at_exit and tenure_survival add these counts up and multiply them.
select organization_id, cohort_year, tenure_calendar_months, exits, censored
from tenure_counts
where exits < 0 or censored < 0 or exits + censored < 1 or tenure_calendar_months < 0
