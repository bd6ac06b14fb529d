-- Columns of titles replace two macros, and organization_headcounts is new. The file makes an upgrade rebuild the warehouse.

drop macro if exists main.is_seat_of_staff;
drop macro if exists main.is_held_beside;
