-- image 2: 'string' is read-only
string.rep = nil
