-- image 2: field 'pack'
string.pack('i', 1)
