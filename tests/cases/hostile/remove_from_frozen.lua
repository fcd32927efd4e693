-- image 2: bad argument #1 to 'remove' (table expected, got perigee)
table.remove(perigee, 1)
