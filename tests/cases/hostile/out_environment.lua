-- image 3: attempt to index a nil value (upvalue '_ENV')
_ENV = nil
return print(image)
