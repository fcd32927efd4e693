-- image 2: attempt to compare string with number
table.sort({ 1, 'a', {}, true })
