-- Where tables stand that are not for every day, and what endpoints brought.

create schema if not exists detail;
create schema if not exists service;
