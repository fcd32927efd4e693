-- image 3: (limit steps)
while true do
  perigee.shipped.image.tag(image, request)
end
