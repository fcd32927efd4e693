-- image 3: (limit steps)
while true do
  tostring(request)
end
