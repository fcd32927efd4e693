-- image *: (limit steps)
while true do
  utf8.char(0x10ffff, 0x10ffff, 0)
end
