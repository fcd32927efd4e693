-- object_patch 1: answer /spec/x: a function cannot be turned into JSON
return { spec = { x = print } }
