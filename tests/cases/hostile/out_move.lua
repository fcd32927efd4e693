-- image 2: field 'move'
table.move({}, 1, 1e15, 2)
