-- object_patch 1: answer /spec/ports: the list has a hole
return { spec = { ports = { [1] = 'a', [3] = 'b' } } }
