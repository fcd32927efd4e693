#!/x
local a <const>, b <close> = 0x.8p-3, 3.5e+2 // 1 ~ 2 | 3 & 4 << 5 >> 6
--[==[ long ]] ]==] x = [[
y]] .. 'a\z
  b\u{41}\x41\065\'' while true do repeat local z until z break end
t = { 1; [2] = 3, x = f'a'.b:c{d}, ..., function(...) return ... end, (f()) }
if not a == -b ^ 2 ^ 3 then elseif #a ~= ~b then else end ;;; return
