-- image 2: global 'require'
require('os')
