-- image 2: global 'coroutine'
coroutine.wrap(function() while true do end end)()
