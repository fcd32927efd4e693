-- image 2: read-only
perigee.shipped.image.tag = nil
