-- grain: One row per answer that shows one post.
-- key: request_id
-- endpoint: post-details
-- purpose: The reactions, comments and shares of a post over time.
-- note: The service does not document the member of an answer that holds the post: the model recognises it by its own members.
-- columns:
--   request_id: The request.
--   url: Address of the post, as requested.
--   received_at: When the answer was received, UTC.
--   posted_at: When the post was published, UTC; null when the source does not say.
--   likes: The number of likes.
--   comments: The number of comments.
--   shares: The number of shares.
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
