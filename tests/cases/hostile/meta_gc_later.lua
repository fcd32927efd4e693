-- image 5: nothing collected
local meta = {}
setmetatable({}, meta)
meta.__gc = function() while true do end end
error('nothing collected')
