-- image 2: attempt to concatenate a object value (local 'request')
return 'image ' .. request .. image
