-- grain: One row per change and post of the organisation that names the person around that time.
-- key: event_key, change, post
-- endpoint: post-search
-- purpose: Posts in which organisations mention the people who joined, left or were promoted.
-- note: A post matches when its text has the person's full name, from 60 days before the change to 60 days after it.
-- columns:
--   event_key: event_key of the change in career_changes.
--   change: What happened, as in career_changes.
--   post: The post: its URN.
--   profile_id: The person.
--   organization_id: The organisation, which wrote the post.
--   changed_on: The day of the change, UTC.
--   posted_at: When the post was published, UTC.
--   days_after: Calendar days from the change to the post; negative when the post came first.
--   url: Address of the post.
select
    career_changes.event_key,
    career_changes.change,
    posts.post,
    career_changes.profile_id,
    career_changes.organization_id,
    career_changes.changed_on,
    posts.posted_at,
    days_between(career_changes.changed_at, posts.posted_at) as days_after,
    posts.url
from posts
inner join career_changes on career_changes.organization_id = posts.organization_id
where
    days_between(career_changes.changed_at, posts.posted_at) between -60 and 60
    and length(career_changes.person_full_name) > 0
    and position(career_changes.person_full_name in posts.content) > 0
