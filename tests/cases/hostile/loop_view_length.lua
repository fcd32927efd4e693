-- image 3: (limit steps)
while true do
  local _ = #request.gpus
end
