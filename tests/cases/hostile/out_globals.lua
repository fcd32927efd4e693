-- image 2: global '_G'
_G.string = nil
