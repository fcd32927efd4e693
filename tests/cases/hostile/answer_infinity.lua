-- object_patch 1: answer /spec/replicas: JSON has no infinite numbers
return { spec = { replicas = 1 / 0 } }
