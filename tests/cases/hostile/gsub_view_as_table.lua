-- image 2: invalid replacement value (a table)
return (('gpus'):gsub('%w+', request))
