-- image 2: bad argument #1 to 'sort' (views are read-only; perigee.copy gives a table)
table.sort(request.gpus)
