-- image 2: views are read-only
request.gpus[1] = 1
