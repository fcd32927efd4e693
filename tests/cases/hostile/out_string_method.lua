-- image 2: attempt to call a nil value (method 'dump')
return ('x'):dump()
