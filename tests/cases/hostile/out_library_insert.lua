-- image 2: bad argument #1 to 'insert'
table.insert(string, 1)
