-- image 2: functiontablefunctionstring
error(tostring(print) .. tostring({}) .. tostring(pairs({ a = 1 })) .. ('%s'):format(string))
