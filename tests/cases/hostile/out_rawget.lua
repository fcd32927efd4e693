-- image 2: global 'rawget'
rawget(string, 'rep')
