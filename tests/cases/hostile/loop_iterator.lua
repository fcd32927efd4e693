-- image 2: (limit steps)
for _ in function() return 1 end do end
