select filled.left_event_key as event_key, filled.joined_event_key as filled_by
from filled_vacancies as filled
left join joiners
    on joiners.event_key = filled.joined_event_key
    and joiners.organization_id = filled.organization_id
    and joiners.function = filled.function
    and joiners.level = filled.level
where joiners.event_key is null or not joiners.is_primary or joiners.is_transfer
