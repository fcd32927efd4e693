-- object_patch 1: answer: the table has both texts and numbers as keys
return { 1, x = 1 }
