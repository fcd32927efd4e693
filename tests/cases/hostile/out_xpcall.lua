-- image 2: global 'xpcall'
xpcall(function() while true do end end, print)
