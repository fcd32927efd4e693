-- image 2: global 'getmetatable'
getmetatable('').__index = {}
