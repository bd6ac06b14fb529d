-- The statements are in as_known_on.sql, beside the warehouse; the build that follows an upgrade drops the stored macros.

drop table ops.as_known_on;
