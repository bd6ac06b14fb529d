select title, level
from titles
where level not in ('intern', 'entry', 'mid', 'senior', 'lead', 'manager', 'director', 'vp', 'cxo', 'unknown')
