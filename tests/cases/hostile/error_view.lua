-- image 2: was raised as error
error(request)
