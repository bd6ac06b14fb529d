select title, level, rank, is_management
from titles
where (level = 'unknown') <> (rank is null) or (level = 'unknown') <> (is_management is null)
