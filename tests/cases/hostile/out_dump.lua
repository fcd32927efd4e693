-- image 2: field 'dump'
string.dump(print)
