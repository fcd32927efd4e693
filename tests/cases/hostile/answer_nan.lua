-- object_patch 1: nan
return { spec = { replicas = 0 / 0 } }
