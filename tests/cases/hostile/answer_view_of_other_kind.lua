-- image 1: the answer must be an image or nil, not table
return request
