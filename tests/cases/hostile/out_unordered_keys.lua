-- image 2: such keys have no order
for _ in pairs({ [{}] = 1, [{}] = 2 }) do end
