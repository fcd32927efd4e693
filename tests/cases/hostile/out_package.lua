-- image 2: attempt to index a nil value (global 'package')
return package.path
