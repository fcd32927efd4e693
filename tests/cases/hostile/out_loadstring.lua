-- image 2: global 'loadstring'
loadstring('return 1')
