-- image 2: global 'load'
load('return 1')()
