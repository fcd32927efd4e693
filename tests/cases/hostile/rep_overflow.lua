-- image 2: the text would be too long
return ('xx'):rep(math.maxinteger // 2 + 1, 'y')
