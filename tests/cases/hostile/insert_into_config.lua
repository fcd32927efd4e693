-- image 2: bad argument #1 to 'insert' (views are read-only; perigee.copy gives a table)
table.insert(perigee.config.deploy.x, 'y')
