-- image 2: views are read-only; perigee.copy gives a table that can be changed
perigee.compat.image_suffix = false
