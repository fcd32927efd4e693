-- image 3: attempt to index a nil value (global 'string')
_ENV = { image = image }
return string.rep(image, 2)
