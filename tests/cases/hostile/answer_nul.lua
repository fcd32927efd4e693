-- image 1: NUL
return 'a\0b'
