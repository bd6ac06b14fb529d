-- grain: One row per answer that shows one post.
-- key: request_id
-- endpoint: post-details
-- purpose: How a post was received over time.
-- note: Under which name an answer holds the post is not documented: it is found by its members.
-- columns:
--   request_id: The request.
--   url: Address of the post, as it was asked for.
--   received_at: When it was received, UTC.
--   posted_at: When the post was published, UTC; null when it does not say.
--   likes: Likes.
--   comments: Comments.
--   shares: How often it was shared.
select
    request_id,
    subject as url,
    received_at,
    instant_of(thing_text(body, 'posted_at')) as posted_at,
    whole_number(thing_text(body, 'social_count.num_likes')) as likes,
    whole_number(thing_text(body, 'social_count.num_comments')) as comments,
    whole_number(thing_text(body, 'social_count.num_shares')) as shares
from answers
where endpoint = 'post-details' and outcome = 'found'
