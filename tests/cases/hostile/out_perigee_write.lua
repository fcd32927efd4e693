-- image 2: 'perigee' is read-only
perigee.x = 1
