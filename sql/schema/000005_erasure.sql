-- What is left to do for events that are not kept: of people who were forgotten, or from before a day.

create table ops.segments_to_erase (
    segment varchar not null
);
comment on table ops.segments_to_erase is 'One row per journal segment that holds events which are not kept; load left them out. Key: segment. The end of each run, and `jobtide forget`, take them out of the segment.';
comment on column ops.segments_to_erase.segment is 'File name of the journal segment.';
