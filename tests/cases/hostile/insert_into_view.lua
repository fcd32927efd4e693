-- image 2: bad argument #1 to 'insert' (views are read-only; perigee.copy gives a table)
table.insert(request.gpus, 1)
