-- What a page is counted with, and what the service said where that cannot be a price.

alter table ops.pages add column credits_sent varchar;

comment on column ops.pages.credits_used is 'Credits charged, as the service reported them where that can be a price (a whole number from 0 to 100), else as expected; for in_doubt the 10 that may have been billed.';
comment on column ops.pages.credits_sent is 'What the service reported as the charge, where that cannot be a price; else null.';
