-- object_patch 1: answer /metadata/labels: the keys of a table must be texts, or 1 to n
return { metadata = { labels = { [1.5] = 'x' } } }
