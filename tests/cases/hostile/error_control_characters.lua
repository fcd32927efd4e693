-- image 2: a b [31mc?
error('a\0b\27[31mc\xff')
