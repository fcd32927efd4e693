-- object_patch 1: answer: must be a table with texts as keys
return 'text'
