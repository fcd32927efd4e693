-- image 2: 'perigee.labels' is read-only
perigee.labels.merge = nil
