-- image 2: line 1, column 129: nested more than 128 levels deep
return assert(perigee.json.decode(('['):rep(100000)))
