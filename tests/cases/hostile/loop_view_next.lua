-- image 3: (limit steps)
while true do
  next(request)
end
