-- image 2: ends with '%'
return ('a'):find('%')
