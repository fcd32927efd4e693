-- image 2: bad argument #1 to 'sort'
table.sort(string)
