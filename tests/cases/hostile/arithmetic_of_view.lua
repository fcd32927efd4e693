-- image 2: attempt to perform arithmetic on a list value (field 'gpus')
return request.gpus + 1
