-- image 2: a table was raised as error
error({ code = 1 })
