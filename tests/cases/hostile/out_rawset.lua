-- image 2: global 'rawset'
rawset(string, 'rep', print)
