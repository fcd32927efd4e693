-- object_patch 1: answer: the keys of a table must be texts, or 1 to n
return { [true] = 1 }
