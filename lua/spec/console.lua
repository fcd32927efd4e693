-- SPDX-License-Identifier: Apache-2.0
--- The Lua side of `perigee repl`: what its lines can use, completion, calls that become specs. Run
--- once with the C functions of core/policy/spec_host.c as its argument.
local host = ...

local support = host.support
local M = { globals = {} }
local last -- { policy, function, arguments, results } of the latest call

-- ---- what lines can use ----

M.globals.policy = support.policy
M.globals.view = support.view
M.globals.yaml = support.yaml
M.globals.module = support.module
M.globals.decode = support.decode

local function values(env)
  return { config = env.config, compat = env.compat }
end

--- call(env, policy, function, …): what the command `call` runs.
function M.call(env, name, key, ...)
  local policy = support.policy(name, values(env))
  if type(policy[key]) ~= "function" then
    local names = {}
    for field, value in pairs(policy) do
      if type(value) == "function" then
        names[#names + 1] = field
      end
    end
    error(name .. " has no function '" .. tostring(key) .. "'; it has " .. table.concat(names, ", "), 0)
  end
  local arguments = table.pack(...)
  local results = table.pack(policy[key](...))
  last = { policy = name, key = key, arguments = arguments, results = results, values = values(env) }
  return table.unpack(results, 1, results.n)
end

-- ---- save-spec ----

local function quoted(text)
  local level = 0
  while text:find("]" .. ("="):rep(level) .. "]", 1, true) or text:sub(-1 - level) == "]" .. ("="):rep(level) do
    level = level + 1
  end
  local bar = ("="):rep(level)
  return "[" .. bar .. "[" .. text .. "]" .. bar .. "]"
end

local function literal(value)
  local kind = type(value)
  if kind == "string" then
    return string.format("%q", value)
  elseif kind == "table" then
    return "support.decode(" .. quoted(perigee.json.encode(value)) .. ")"
  elseif kind == "number" or kind == "boolean" or kind == "nil" then
    return tostring(value)
  elseif value == perigee.null then
    return "support.null"
  end
  error("a " .. kind .. " cannot be written into a spec", 0)
end

local function literals(packed)
  local parts = {}
  for i = 1, packed.n do
    parts[i] = literal(packed[i])
  end
  return table.concat(parts, ", ")
end

--- The latest call as the text of a spec; the policy's name comes second. nil: there was none.
function M.spec()
  if not last then
    return nil
  end
  local fields = {}
  for _, name in ipairs({ "compat", "config" }) do
    local value = last.values[name]
    if value and next(value) ~= nil and host.mentions(last.policy, name) then
      fields[#fields + 1] = "\n    " .. name .. " = " .. literal(value) .. ","
    end
  end
  local lines = {
    'local support = require("support.perigee")',
    "",
    "describe(" .. string.format("%q", last.policy) .. ", function()",
    "  local policy = support.policy(" .. string.format("%q", last.policy) .. ", {"
      .. table.concat(fields)
      .. (#fields > 0 and "\n  " or "")
      .. "})",
    "",
    "  it(" .. string.format("%q", last.key .. " answers as it did") .. ", function()",
    "    local answer = table.pack(policy." .. last.key .. "(" .. literals(last.arguments) .. "))",
    "    local expected = table.pack(" .. literals(last.results) .. ")",
    "    assert.are.same(expected, answer)",
    "  end)",
    "end)",
    "",
  }
  return table.concat(lines, "\n"), last.policy
end

-- ---- completion ----

local function walk(value)
  local names = {}
  if value == perigee then
    for name in host.library_names():gmatch("%S+") do
      names[#names + 1] = name
    end
  elseif type(value) == "string" then
    value = string
  end
  if type(value) == "table" and value ~= perigee then
    for key in pairs(value) do
      if type(key) == "string" and key:find("^[%a_][%w_]*$") then
        names[#names + 1] = key
      end
    end
  end
  return names
end

--- The ways in which text, the end of a line, can go on: whole words that begin with it.
function M.complete(env, text)
  local path, separator, word = text:match("^(.-)([.:]?)([%a_]?[%w_]*)$")
  local value, found, seen = env, {}, {}
  local names
  if separator == "" then
    names = walk(env)
    for name in host.global_names():gmatch("%S+") do
      names[#names + 1] = name
    end
    path = ""
  else
    for step in path:gmatch("[^.:]+") do
      local name, index = step:match("^([%a_][%w_]*)%[(%d+)%]$")
      value = value[name or step]
      if index then
        value = value[tonumber(index)]
      end
    end
    names = walk(value)
  end
  for _, name in ipairs(names) do
    if name:sub(1, #word) == word and not seen[name] then
      seen[name] = true
      found[#found + 1] = path .. separator .. name
    end
  end
  table.sort(found)
  return table.concat(found, "\n")
end

return M
