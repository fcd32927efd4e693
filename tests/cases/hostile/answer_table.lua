-- image 1: must be
return {}
