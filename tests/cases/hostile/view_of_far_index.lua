-- image 2: attempt to index a nil value (field '?')
return request.gpus[math.maxinteger].x
