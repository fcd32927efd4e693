-- image 2: read-only
options.x = 1
