-- image 1: UTF-8
return '\xff'
