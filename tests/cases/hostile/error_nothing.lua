-- image 2: a nil was raised as error
error()
