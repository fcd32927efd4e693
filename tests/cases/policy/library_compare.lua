-- SPDX-License-Identifier: Apache-2.0
-- Calls the functions of the sandbox with many made-up arguments and returns a list of texts, one a call. test_library.c
-- runs it in the sandbox and in stock Lua and compares the lists.
local out = {}
local seed = 20260601

local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed // 65536 % n + 1
end

local function pick(list)
  return list[random(#list)]
end

local function show(value)
  if math.type(value) == "float" then
    return string.format("%.17g", value)
  end
  if type(value) == "table" then
    local parts = {}
    for i = 1, #value do
      parts[i] = show(value[i])
    end
    return "{" .. table.concat(parts, " ") .. "}"
  end
  return type(value) == "string" and string.format("%q", value) or tostring(value)
end

local function note(name, ...)
  local parts = { name }
  for i = 1, select("#", ...) do
    parts[i + 1] = show((select(i, ...)))
  end
  out[#out + 1] = table.concat(parts, " ")
end

-- Results, or that it failed; messages may differ.
local function try(name, f, ...)
  local results = table.pack(pcall(f, ...))
  if results[1] then
    note(name, table.unpack(results, 2, results.n))
  else
    out[#out + 1] = name .. " failed"
  end
end

-- ---- patterns ----

local pieces = {
  "a", "b", "c", ".", "%a", "%d", "%s", "%w", "%p", "%x", "%u", "%l", "%c", "%g", "%A", "%D", "%S", "%W", "%P", "%X",
  "[ab]", "[^a]", "[a-c]", "[%a_]", "[]]", "[^]]", "[a%-z]", "[%d-]", "[a-]", "[-a]", "[^%s]", "%.", "%%", "%(", "-", "*a",
  "(a)", "(b*)", "(.-)", "()", "(a*)%1", "((a)b)", "(%w+)", "%b()", "%bab", "%f[%a]", "%f[^%w]", "%f[%z]", "=", " ",
}
local repeats = { "", "", "", "*", "+", "-", "?" }
local bytes = { "a", "a", "a", "b", "b", "c", "(", ")", "-", " ", "1", "2", ".", "%", "=", "]", "x", "A", "\n", "_" }

local function make_pattern()
  local parts = {}
  for i = 1, random(4) do
    local piece = pick(pieces)
    parts[i] = piece:find("^[%[%%.%a]") and not piece:find("^%%[bf1]") and piece .. pick(repeats) or piece
  end
  return (random(6) == 1 and "^" or "") .. table.concat(parts) .. (random(6) == 1 and "$" or "")
end

local function make_text()
  local parts = {}
  for i = 1, random(14) - 1 do
    parts[i] = pick(bytes)
  end
  return table.concat(parts)
end

local replacements = { "<%0>", "%1", "", "x", "%%", "[%1%0]", 7 }

local function upper(text)
  return type(text) == "string" and #text > 1 and text:upper() or nil
end

for i = 1, 3000 do
  local pattern, text, init = make_pattern(), make_text(), random(12) - 5
  local name = i .. " " .. show(pattern) .. " " .. show(text)
  try("find " .. name, string.find, text, pattern)
  try("find " .. name .. " " .. init, string.find, text, pattern, init)
  try("plain " .. name, string.find, text, pattern:sub(1, 2), init, true)
  try("match " .. name, string.match, text, pattern, init)
  try("gsub " .. name, string.gsub, text, pattern, pick(replacements))
  try("gsub4 " .. name, string.gsub, text, pattern, upper, random(3))
  try("gsubt " .. name, string.gsub, text, pattern, { a = "1", b = false, ab = 2 })
  try("gmatch " .. name, function()
    local all = {}
    for x, y in text:gmatch(pattern) do
      all[#all + 1] = tostring(x) .. "/" .. tostring(y)
    end
    return all
  end)
end

-- Mistakes that a match of this text runs into.
for _, pattern in ipairs({ "a%", "[a", "[^", "[%", "a)", "%1", "(a)%2", "%b", "%ba", "%f", "%fa", "[]", "[a-%" }) do
  try("bad " .. pattern, string.find, "aaa", pattern)
  try("bad gsub " .. pattern, string.gsub, "aaa", pattern, "")
end
try("bad repl", string.gsub, "a", "a", "%")
try("bad repl", string.gsub, "a", "a", "%2")
try("bad repl", string.gsub, "a", "a", "%x")
try("bad repl", string.gsub, "a", "a", function() return {} end)
try("bad repl", string.gsub, "a", "a", true)
try("caret", string.gsub, "^a^a", "^a", "x")
try("nul", string.find, "a\0b", "%z")
try("nul", string.find, "a\0b", "[\0]b")
try("nul", string.gsub, "a\0b\0", "\0", "%0%0")

-- ---- texts ----

for _ = 1, 600 do
  local text, i, j = make_text(), random(20) - 10, random(20) - 10
  try("sub", string.sub, text, i, j)
  try("sub", string.sub, text, i)
  try("byte", string.byte, text, i, j)
  try("byte", string.byte, text, i)
  try("rep", string.rep, text, random(6) - 2, pick({ "", ",", "--" }))
  try("reverse", string.reverse, text)
  try("upper", string.upper, text)
  try("lower", string.lower, text)
  try("len", string.len, text)
end
try("char", string.char, 65, 0, 126)
try("char", string.char)
try("char", string.char, 256)
try("char", string.char, -1)
try("sub", string.sub, "abc", math.mininteger, math.maxinteger)
try("byte", string.byte, "abc", math.mininteger, math.maxinteger)
try("method", function() return ("x"):rep(3):upper(), ("%d"):format(3), #("abc") end)

-- ---- format ----

local formats = {
  "%d", "%5d", "%-5d|", "%05d", "%+d", "% d", "%.3d", "%i", "%u", "%x", "%X", "%#x", "%o", "%c", "%e", "%.3e", "%E", "%f",
  "%.0f", "%5.1f", "%-8.2f|", "%+.2f", "%g", "%.3g", "%G", "%a", "%s", "%5s", "%-5s|", "%.2s", "%q", "%%", "%10.4s|", "%#.3f",
}
local values = { 0, 1, -1, 42, 255, 3.0, 0.5, -2.75, 1e10, 1e100, "text", "7", "0x10", true, math.maxinteger, math.mininteger,
  "a\nb\"c\\d\1e\0011", 1 / 3 }
for _, format in ipairs(formats) do
  for _, value in ipairs(values) do
    try("format " .. format .. " " .. show(value), string.format, format, value)
  end
end
for _, format in ipairs({ "%", "%y", "%123d", "%.123d", "%0q", "%--------d", "%d %d", "%#d", "%5q", "%ld", "%n", "%*d" }) do
  try("format " .. format, string.format, format, 1)
end
try("format nul", string.format, "%q|%s", "a\0b\0001", "a\0b")
try("format nil", string.format, "%q %s", nil, nil)

-- ---- tables ----

for _ = 1, 300 do
  local list = {}
  for i = 1, random(9) - 1 do
    list[i] = random(30)
  end
  local copy = table.pack(table.unpack(list))
  try("insert", table.insert, copy, random(11) - 1, "new")
  try("insert", table.insert, copy, "end")
  try("remove", function(...) return copy, table.remove(copy, ...) end, random(11) - 1)
  try("remove", function() return table.remove(copy), copy end)
  try("concat", table.concat, list, pick({ "", ", " }), random(4), random(9))
  try("concat", table.concat, list)
  try("unpack", table.unpack, list, random(4), random(6))
  try("sort", function() table.sort(list) return list end)
  try("sort", function() table.sort(list, function(a, b) return a > b end) return list end)
  note("pack", table.pack(1, nil, 3).n, #list, select("#", table.unpack(list, 1, 5)))
end
try("sort", table.sort, { 1, "a" })
try("sort", table.sort, { 1, 2 }, 3)
try("concat", table.concat, { 1, {}, 3 })
try("insert", table.insert, {}, 1, 2, 3)
try("insert", table.insert, {})
try("unpack", table.unpack, {}, 1, 1e8)

-- ---- plain functions ----

for _, text in ipairs({ "10", " 10 ", "0x1F", "1e2", "1.5", "", " ", "ff", "zz", "-7f", "1 0", "0x", "1e", "9223372036854775808",
  "12345678901234567890", "inf", "nan", "0x1p4", "-0x10", "1_0" }) do
  try("tonumber " .. text, tonumber, text)
  for _, base in ipairs({ 2, 8, 10, 16, 36 }) do
    try("tonumber " .. text .. " " .. base, tonumber, text, base)
  end
end
try("tonumber", tonumber, 10, 16)
try("tonumber", tonumber, "1", 1)
try("tonumber", tonumber, "1", 37)
try("tonumber", tonumber)
for i = -4, 4 do
  try("select " .. i, select, i, "a", "b", "c")
end
try("select", select, "#")
try("assert", assert, 1, 2, 3)
try("assert", assert, false, "m")
try("next", next, {})
try("next", next, { 5 })
try("type", type)
note("tostring", tostring(nil), tostring(true), tostring(12), tostring(1.5), tostring(2^53), tostring(-0.0), tostring("x"))
note("pcall", pcall(error, "m", 0))
note("pcall", pcall(error, { 1 }))
note("pcall", select("#", pcall(function() return 1, nil, nil end)))
local class = {}
class.__index = class
function class.get(self) return self.value end
class.__add = function(a, b) return a.value + b.value end
class.__eq = function() return true end
class.__lt = function() return true end
class.__concat = function() return "joined" end
class.__call = function(_, x) return x end
class.__tostring = function() return "an object" end
local object, other = setmetatable({ value = 4 }, class), setmetatable({ value = 5 }, class)
note("class", object:get(), object + other, object == other, object < other, object .. "x", object(9), tostring(object))
for _, walk in ipairs({ ipairs, pairs }) do
  for i, v in walk({ 7, 8, 9 }) do
    note("walk", i, v)
  end
end

-- ---- texts in arithmetic ----

local operands = { 1, 2.5, "10", " 0x10 ", "1e1", "x", "", "3.", true, object }
for _, a in ipairs(operands) do
  for _, b in ipairs(operands) do
    local name = show(a) .. " " .. show(b)
    try("add " .. name, function() return a + b end)
    try("sub " .. name, function() return a - b end)
    try("mul " .. name, function() return a * b end)
    try("div " .. name, function() return a / b end)
    try("mod " .. name, function() return a % b end)
    try("idiv " .. name, function() return a // b end)
    try("pow " .. name, function() return a ^ b end)
    try("or " .. name, function() return a | b end)
    try("concat " .. name, function() return a .. b end)
    try("less " .. name, function() return a < b end)
  end
  try("minus " .. show(a), function() return -a end)
end
try("for", function() local n = 0 for i = "1", 2 do n = n + i end return n end)
try("idiv zero", function() return "1" // "0" end)

-- ---- utf8, math ----

for _, text in ipairs({ "", "abc", "\u{e4}\u{20ac}\u{1f600}", "a\u{7ff}b", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80" }) do
  for i = -4, 5 do
    try("utf8.len", utf8.len, text, i)
    try("utf8.codepoint", utf8.codepoint, text, i)
    try("utf8.codepoint", utf8.codepoint, text, i, -1)
    try("utf8.offset", utf8.offset, text, i)
    try("utf8.offset", utf8.offset, text, i, random(4))
  end
  try("utf8.codes", function()
    local all = {}
    for at, code in utf8.codes(text) do
      all[#all + 1] = at .. "=" .. code
    end
    return all
  end)
end
try("utf8.char", utf8.char, 97, 0xe4, 0x20ac, 0x1f600)
try("utf8.char", utf8.char)
try("utf8.pattern", function() return ("a\u{e4}b"):gsub(utf8.charpattern, "<%0>") end)
note("math", math.abs(-3), math.ceil(1.2), math.floor(-1.2), math.fmod(7, 3), math.huge, math.max(1, 5), math.min(2, -1),
  math.modf(1.5), math.pi, math.sqrt(16), math.tointeger(3.0), math.type(1), math.ult(1, -1), math.maxinteger, math.exp(0))

return out
