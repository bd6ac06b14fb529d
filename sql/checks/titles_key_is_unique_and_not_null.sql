select title, count(*) as copies
from titles
group by title
having count(*) > 1 or title is null
