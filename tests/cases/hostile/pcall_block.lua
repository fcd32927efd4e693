-- image 2: (limit blockBytes)
pcall(string.rep, 'x', 1 << 20)
return 'survived'
