-- image 2: read-only
perigee.compat.image_suffix = false
