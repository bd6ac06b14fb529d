select event_key, previous_title, title
from promotions
where previous_title is null or previous_title = title
