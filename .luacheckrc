-- SPDX-License-Identifier: Apache-2.0
-- luacheck settings. Policies and the standard library see what the sandbox sees (core/policy/sandbox.h) and nothing else;
-- tests/lua/sandbox_spec.lua compares the list below with the one that the C tests check.
std = "lua54"
max_line_length = 100
codes = true

local function fields(names)
  local result = {}
  for name in names:gmatch("%S+") do
    result[name] = {}
  end
  return { fields = result }
end

stds.sandbox = {
  read_globals = {
    "assert", "error", "ipairs", "next", "pairs", "pcall", "print", "select", "setmetatable", "tonumber", "tostring", "type",
    math = fields("abs ceil exp floor fmod huge log max maxinteger min mininteger modf pi sqrt tointeger type ult"),
    string = fields("byte char find format gmatch gsub len lower match rep reverse sub upper"),
    table = fields("concat insert pack remove sort unpack"),
    utf8 = fields("char charpattern codepoint codes len offset"),
    perigee = { other_fields = true },
  },
}
stds.policy = {
  read_globals = { options = { other_fields = true } },
}

files["lua/policies"] = { std = "sandbox+policy" }
files["lua/stdlib/perigee"] = { std = "sandbox" }
-- The test library of the sandbox, run with its C functions as argument.
files["lua/spec"] = { std = "sandbox", max_line_length = 120 }
files["examples/policies"] = { std = "sandbox+policy" }
files["examples/policies/*/*_spec.lua"] = { std = "lua54+busted" }
files["tests/lua"] = { std = "lua54+busted" }
-- Adapters that run in the binary.
files["tests/lua/golden"] = { std = "sandbox", read_globals = { "input" }, max_line_length = false }
files["tests/cmake"] = { max_line_length = 120 }
exclude_files = { "lua/stdlib/meta" }
