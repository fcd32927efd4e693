-- image 3: (limit steps)
while true do
  perigee.json.encode(request)
end
