-- image 2: attempt to compare two object values
return request < request
