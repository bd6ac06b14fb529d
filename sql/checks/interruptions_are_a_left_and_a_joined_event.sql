select one.event_key, one.partner_event_key, other.part as partner_part
from ambiguous_events as one
left join ambiguous_events as other
    on other.event_key = one.partner_event_key
    and other.partner_event_key = one.event_key
    and other.profile_id = one.profile_id
    and other.organization_id = one.organization_id
    and other.stint_number = one.stint_number
    and other.event_type <> one.event_type
    and other.part = 'interruption'
where
    (one.part = 'interruption' and other.event_key is null)
    or (one.part <> 'interruption' and one.partner_event_key is not null)
