-- A search that the service refuses, or ends early, takes the place of none that was read to its end.

alter table answers add column has_more boolean;
comment on column answers.has_more is 'Whether more of the list was to be asked for after it; null for a delivery, and for answers that were loaded before this column was there.';
comment on column answers.outcome is 'found, absent (there is nothing of that name), later (the service could not say yet) or refused (it says why it does not search).';
