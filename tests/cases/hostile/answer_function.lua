-- object_patch 1: /metadata/labels/a
return { metadata = { labels = { a = print } } }
