-- SPDX-License-Identifier: Apache-2.0
--- busted's blocks and luassert's assertions for specs in the sandbox. Run once for each spec file
--- with the C functions of core/policy/spec.c as its argument. Blocks are walked when the file is
--- loaded; the C side then asks for one test after the other, each a call with a budget of its own.
local host = ...

local M = { tests = {} }
local root = { befores = {}, afters = {}, setups = {}, teardowns = {}, left = 0 }
local block = root
local failure -- { summary, detail } of the assertion that failed last
local finals = {} -- of the test under way

-- ---- blocks ----

local function check_block(what, name, body)
  if type(name) ~= "string" then
    error(what .. " needs a name", 3)
  end
  if type(body) ~= "function" then
    error(what .. " '" .. name .. "' needs a function", 3)
  end
end

local function full_name(name)
  return block.name and block.name .. " " .. name or name
end

local function describe(name, body)
  check_block("describe", name, body)
  local outer = block
  block = {
    outer = outer,
    name = full_name(name),
    befores = {},
    afters = {},
    setups = {},
    teardowns = {},
    left = 0,
  }
  body()
  block = outer
end

local function add(name, line, body, reason)
  M.tests[#M.tests + 1] = {
    name = full_name(name),
    line = line,
    block = block,
    body = body,
    pending = reason,
  }
end

local function it(name, body)
  if body == nil and type(name) == "string" then
    return add(name, host.line(2), nil, "no body yet")
  end
  check_block("it", name, body)
  add(name, host.line(2), body)
end

local pending_mark = "pending: "

--- pending("name"), pending("name", function) in a block; pending("reason") in a test.
local function pending(name, body)
  if M.is_running then
    M.pending = tostring(name or "pending")
    error(pending_mark .. M.pending, 2)
  end
  if type(name) ~= "string" then
    error("pending needs a name", 2)
  end
  add(name, host.line(2), nil, type(body) == "string" and body or "pending")
end

local function collect(list)
  return function(body)
    if type(body) ~= "function" then
      error("a function is needed", 2)
    end
    local into = block[list]
    into[#into + 1] = body
  end
end

local function finally(body)
  finals[#finals + 1] = body
end

-- ---- what the C side calls ----

--- Marks the tests whose name has the pattern and counts them. Returns how many there are.
function M.select(filter)
  local count = 0
  for _, test in ipairs(M.tests) do
    test.wanted = not filter or test.name:find(filter) ~= nil
    if test.wanted then
      count = count + 1
      local at = test.block
      while at do
        at.left = at.left + 1
        at = at.outer
      end
    end
  end
  return count
end

local function each_block(at, visit)
  if at.outer then
    each_block(at.outer, visit)
  end
  visit(at)
end

function M.run(index)
  local test = M.tests[index]
  failure, finals, M.pending = nil, {}, nil
  M.is_running = true
  each_block(test.block, function(at)
    local setups = at.setups
    at.setups = {}
    for _, body in ipairs(setups) do
      body()
    end
  end)
  each_block(test.block, function(at)
    for _, body in ipairs(at.befores) do
      body()
    end
  end)
  test.body()
end

--- After a test, passed or not.
function M.after(index)
  local test = M.tests[index]
  M.is_running = false
  for i = #finals, 1, -1 do
    finals[i]()
  end
  local at = test.block
  while at do
    if not test.pending then
      for _, body in ipairs(at.afters) do
        body()
      end
    end
    at.left = at.left - 1
    if at.left == 0 then
      for _, body in ipairs(at.teardowns) do
        body()
      end
    end
    at = at.outer
  end
end

--- The assertion that raised `text`: nothing when it was another error; and the reason when the
--- test said of itself that it is pending.
function M.verdict(text)
  if M.pending and text:find(pending_mark .. M.pending, 1, true) then
    return nil, M.pending
  end
  if failure and text:find(failure[1]:sub(1, 100), 1, true) then
    return failure[2]
  end
end

-- ---- showing values ----

local SHOWN = 2000 -- bytes of one value in a message

local function show(value, depth)
  depth = depth or 0
  if type(value) == "string" then
    return string.format("%q", value)
  elseif type(value) ~= "table" then
    return tostring(value)
  elseif depth > 6 then
    return "{ ... }"
  end
  local parts, count, size = {}, 0, 0
  for key, item in pairs(value) do
    count = count + 1
    local shown = show(item, depth + 1)
    if key ~= count then
      local name = type(key) == "string" and key:find("^[%a_][%w_]*$") and key
      shown = (name or "[" .. show(key, depth + 1) .. "]") .. " = " .. shown
    end
    parts[#parts + 1] = shown
    size = size + #shown
    if size > SHOWN then
      parts[#parts + 1] = "..."
      break
    end
  end
  return #parts == 0 and "{}" or "{ " .. table.concat(parts, ", ") .. " }"
end

local function short(value)
  local text = show(value):gsub("%c", " ")
  return #text > 60 and text:sub(1, 57) .. "..." or text
end

-- ---- comparing ----

--- Deep equality; on a difference the path to it ("/spec/args/1").
local function same(a, b, path)
  if a == b then
    return true
  elseif type(a) ~= "table" or type(b) ~= "table" then
    return false, path
  end
  for key, item in pairs(a) do
    local equal, where = same(item, b[key], path .. "/" .. tostring(key))
    if not equal then
      return false, where
    end
  end
  for key in pairs(b) do
    if a[key] == nil then
      return false, path .. "/" .. tostring(key)
    end
  end
  return true
end

local function raises(body, ...)
  if type(body) ~= "function" then
    error("error assertions need a function, not " .. type(body), 5)
  end
  return pcall(body, ...)
end

-- ---- assertions: each returns whether it holds, a summary, details ----

local checks = {}

local function compared(a, b)
  return "expected: " .. show(a) .. "\npassed in: " .. show(b)
end

function checks.equal(expected, value)
  return expected == value, "expected " .. short(expected) .. ", got " .. short(value), compared(expected, value)
end

function checks.same(expected, value)
  local equal, where = same(expected, value, "")
  local at = not equal and where ~= "" and " (they differ at " .. where .. ")" or ""
  return equal, "expected " .. short(expected) .. ", got " .. short(value) .. at, compared(expected, value)
end

local function type_check(name)
  checks[name] = function(value)
    return type(value) == name, "expected a " .. name .. ", got " .. short(value)
  end
end
for _, name in ipairs({ "boolean", "number", "string", "table", "userdata", "function", "thread" }) do
  type_check(name)
end

checks["nil"] = function(value)
  return value == nil, "expected nil, got " .. short(value)
end
checks["true"] = function(value)
  return value == true, "expected true, got " .. short(value)
end
checks["false"] = function(value)
  return value == false, "expected false, got " .. short(value)
end

function checks.truthy(value)
  return value and true or false, "expected a true value, got " .. short(value)
end

function checks.falsy(value)
  return not value, "expected nil or false, got " .. short(value)
end

function checks.near(expected, value, tolerance)
  local holds = value >= expected - tolerance and value <= expected + tolerance
  return holds, string.format("expected %s within %s, got %s", expected, tolerance, value)
end

function checks.matches(pattern, text, init, plain)
  local holds = type(text) == "string" and text:find(pattern, init, plain) ~= nil
  return holds, "expected a match of " .. short(pattern) .. ", got " .. short(text)
end

function checks.error(body, expected)
  local ok, problem = raises(body)
  if ok then
    return false, "expected an error, got none"
  elseif expected == nil then
    return true, "expected no error, got " .. short(problem)
  end
  local equal = same(expected, problem, "")
  if not equal and type(expected) == "string" and type(problem) == "string" then
    equal = problem:find(expected, 1, true) ~= nil and problem:sub(-#expected) == expected
  end
  return equal, "expected the error " .. short(expected) .. ", got " .. short(problem), compared(expected, problem)
end

function checks.error_matches(body, pattern, init, plain)
  local ok, problem = raises(body)
  if ok then
    return false, "expected an error that matches " .. short(pattern) .. ", got none"
  elseif pattern == nil then
    return true, "expected no error, got " .. short(problem)
  end
  local text = tostring(problem)
  return text:find(pattern, init, plain) ~= nil,
    "expected an error that matches " .. short(pattern) .. ", got " .. short(text)
end

function checks.unique(list, deep)
  for i = 1, #list do
    for j = i + 1, #list do
      local twice = list[i] == list[j] or (deep and same(list[i], list[j], ""))
      if twice then
        return false, "expected different values, got " .. short(list[i]) .. " twice"
      end
    end
  end
  return true, "expected a value that is there twice"
end

--- Does the list or text hold the value?
function checks.contains(expected, value)
  if type(value) == "string" then
    return value:find(expected, 1, true) ~= nil, "expected " .. short(expected) .. " in " .. short(value)
  end
  for _, item in pairs(value) do
    if same(expected, item, "") then
      return true, "expected no " .. short(expected) .. " in " .. short(value)
    end
  end
  return false, "expected " .. short(expected) .. " in " .. short(value)
end

local aliases = {
  equals = "equal",
  match = "matches",
  errors = "error",
  throw = "error",
  throws = "error",
  ["error_match"] = "error_matches",
  ["matches_error"] = "error_matches",
  ["match_error"] = "error_matches",
  ["truthful"] = "truthy",
  ["function_"] = "function",
}

local fillers = {
  is = true,
  are = true,
  was = true,
  were = true,
  has = true,
  have = true,
  does = true,
  a = true,
  an = true,
  be = true,
  the = true,
  to = true,
}
local negations = { ["not"] = true, no = true, isnt = true }

--- The assertion named by words as in assert.is_not.equal: its name and whether it is negated.
local function resolve(words)
  local negated, rest = false, {}
  for _, word in ipairs(words) do
    if negations[word] and #rest == 0 then
      negated = not negated
    elseif not (fillers[word] and #rest == 0) then
      rest[#rest + 1] = word
    end
  end
  local name = table.concat(rest, "_")
  return aliases[name] or name, negated
end

local function fail(summary, detail, level)
  failure = { summary, detail or summary }
  error(summary, level + 1)
end

local chain

local function call(words, ...)
  local name, negated = resolve(words)
  local check = checks[name]
  if not check then
    error("there is no assertion '" .. name .. "'", 3)
  end
  local holds, summary, detail = check(...)
  if holds == negated then
    if negated then
      summary = "expected the opposite of: " .. table.concat(words, " ") .. " " .. short((...))
    end
    fail(summary, detail, 3)
  end
  return ...
end

chain = function(words)
  return setmetatable({}, {
    __index = function(_, key)
      local longer = {}
      for i, word in ipairs(words) do
        longer[i] = word
      end
      for word in tostring(key):gmatch("[^_]+") do
        longer[#longer + 1] = word
      end
      return chain(longer)
    end,
    __call = function(_, ...)
      local first = ... -- not a tail call: the caller's line is what an error shows
      call(words, ...)
      return first, select(2, ...)
    end,
  })
end

local asserts = setmetatable({
  register = function()
    error("assertions of one's own are functions here; assert:register is not there", 2)
  end,
}, {
  __index = function(_, key)
    return chain({})[key]
  end,
  __call = function(_, value, message, ...)
    if not value then
      local text = message == nil and "assertion failed!" or tostring(message)
      fail(text, text, 2)
    end
    return value, message, ...
  end,
})

-- ---- spies ----

local spy = {}

--- A function that remembers its calls: s.calls[i] is the list of the arguments.
function spy.new(body)
  local calls = {}
  return setmetatable({ calls = calls, is_spy = true }, {
    __call = function(_, ...)
      calls[#calls + 1] = table.pack(...)
      if body then
        return body(...)
      end
    end,
  })
end

local function spied(s)
  if type(s) ~= "table" or not s.is_spy then
    error("assert.spy needs what spy.new made", 3)
  end
  return {
    was_called = function(count)
      local holds = count and #s.calls == count or not count and #s.calls > 0
      if not holds then
        fail("expected " .. (count or "at least 1") .. " calls, got " .. #s.calls, nil, 2)
      end
    end,
    was_not_called = function()
      if #s.calls > 0 then
        fail("expected no call, got " .. #s.calls, nil, 2)
      end
    end,
    was_called_with = function(...)
      local wanted = table.pack(...)
      for _, given in ipairs(s.calls) do
        if same(wanted, given, "") then
          return
        end
      end
      fail("expected a call with " .. short(wanted), "calls: " .. show(s.calls), 2)
    end,
  }
end

local function assert_spy(s)
  local found = spied(s)
  found.was = { called = found.was_called, called_with = found.was_called_with }
  found.was.not_called = found.was_not_called
  return found
end

asserts.spy = assert_spy

-- ---- globals of a spec ----

M.globals = {
  describe = describe,
  context = describe,
  insulate = describe,
  expose = describe,
  it = it,
  spec = it,
  test = it,
  pending = pending,
  before_each = collect("befores"),
  after_each = collect("afters"),
  setup = collect("setups"),
  lazy_setup = collect("setups"),
  strict_setup = collect("setups"),
  teardown = collect("teardowns"),
  lazy_teardown = collect("teardowns"),
  strict_teardown = collect("teardowns"),
  finally = finally,
  assert = asserts,
  spy = spy,
}

M.globals.require = function(name)
  if name == "support.perigee" then
    return host.support
  elseif name == "luassert" or name == "busted" then
    return name == "luassert" and asserts or M.globals
  end
  error("specs can require 'support.perigee' only, not '" .. tostring(name) .. "'", 2)
end

return M
