-- image 2: perigee cannot be walked
for _ in pairs(perigee) do end
