-- image 2: global 'collectgarbage'
collectgarbage()
