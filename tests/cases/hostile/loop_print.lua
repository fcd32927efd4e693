-- image 3: (limit steps)
while true do
  print('x')
end
