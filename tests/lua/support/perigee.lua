-- SPDX-License-Identifier: Apache-2.0
--- What the binary gives policies in C, in plain Lua, so that their specs run under stock busted
--- (from the project's root): perigee.null, array, object, copy, kind, the modules of lua/stdlib
--- with small stand-ins for their C functions, and objects read from JSON as plain tables in place
--- of views. Views themselves are tested in tests/c/policy.
local json = require("dkjson")

local support = {}

local null = setmetatable({}, {
  __tostring = function()
    return "null"
  end,
})
local array_mark, object_mark = { __jsontype = "array" }, { __jsontype = "object" }

--- The value of a JSON text; null is perigee.null.
function support.decode(text)
  local value, _, problem = json.decode(text, 1, null, object_mark, array_mark)
  assert(not problem, problem)
  return value
end

--- The lines of a file of JSON lines, decoded.
function support.lines(path)
  local rows = {}
  for line in io.lines(path) do
    rows[#rows + 1] = support.decode(line)
  end
  return rows
end

-- ---- stand-ins for C functions ----

local function quantity(value)
  local scales = { [""] = 1, m = 1e-3, M = 1e6, Ki = 2 ^ 10, Mi = 2 ^ 20, Gi = 2 ^ 30 }
  local digits, suffix = tostring(value):match("^([%d.]+)(%a*)$")
  local scale = scales[suffix or "?"]
  if not scale then
    error("not a quantity the stand-in knows: " .. tostring(value), 3)
  end
  return tonumber(digits) * scale
end

local function format_text(format)
  return format.version and format.name .. " " .. format.version or format.name
end

local function formats_text(formats)
  local parts = {}
  for i, entry in ipairs(formats or {}) do
    parts[i] = format_text(entry)
  end
  return #parts > 0 and table.concat(parts, ", ") or "nothing"
end

local natives = {
  explain = {
    formats = formats_text,
    offer = function(asked, formats)
      return "asked for " .. format_text(asked) .. ", the runtime offers " .. formats_text(formats)
    end,
  },
  json = {
    encode = function(value)
      return json.encode(value)
    end,
    decode = support.decode,
    find = function(list, key, value)
      for _, item in ipairs(list or {}) do
        if item[key] == value then
          return item
        end
      end
      return nil
    end,
  },
  quantity = {
    is_valid = function(value)
      return (pcall(quantity, value))
    end,
    is_zero = function(value)
      return quantity(value) == 0
    end,
    compare = function(a, b)
      local x, y = quantity(a), quantity(b)
      return x < y and -1 or x > y and 1 or 0
    end,
    add = function(a, b)
      return tostring(math.tointeger(quantity(a) + quantity(b)) or quantity(a) + quantity(b))
    end,
  },
}

-- ---- perigee ----

local function mark(meta)
  return function(value)
    return setmetatable(value or {}, meta)
  end
end

local function copy(value)
  if type(value) ~= "table" or value == null then
    return value
  end
  local result = setmetatable({}, getmetatable(value))
  for key, item in pairs(value) do
    result[key] = copy(item)
  end
  return result
end

local function kind(value)
  if value == null then
    return "null"
  elseif value == nil then
    return "nothing"
  elseif type(value) ~= "table" then
    return type(value)
  end
  return (#value > 0 or getmetatable(value) == array_mark) and "array" or "object"
end

local function load_in(path, environment, ...)
  local chunk = assert(loadfile(path, "t", environment))
  return chunk(...)
end

--- perigee.shipped: the shipped policies, each loaded when it is named.
local function shipped(perigee)
  return setmetatable({}, {
    __index = function(_, name)
      local environment = setmetatable({ perigee = perigee }, { __index = _G })
      return load_in("lua/policies/" .. name .. ".lua", environment)
    end,
  })
end

--- A `perigee` as a file sees it; fields (config, compat, gpu …) are laid over it.
function support.perigee(fields)
  local perigee = {
    null = null,
    array = mark(array_mark),
    object = mark(object_mark),
    copy = copy,
    kind = kind,
  }
  for name, value in pairs(fields or {}) do
    perigee[name] = value
  end
  perigee.shipped = perigee.shipped or shipped(perigee)
  return setmetatable(perigee, {
    __index = function(self, name)
      local path = "lua/stdlib/perigee/" .. tostring(name) .. ".lua"
      local file = io.open(path)
      if not file then
        return nil
      end
      file:close()
      local native = natives[name] or {}
      local module = load_in(path, setmetatable({ perigee = self }, { __index = _G }), native)
      for key, value in pairs(native) do
        module[key] = module[key] or value
      end
      rawset(self, name, module)
      return module
    end,
  })
end

--- The text of a file of the project.
function support.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

--- A module of the standard library: support.module("labels").
function support.module(name)
  return assert(support.perigee()[name], "no module " .. name)
end

--- The first of these files that is there.
local function first_file(paths)
  for _, path in ipairs(paths) do
    local file = io.open(path)
    if file then
      file:close()
      return path
    end
  end
  return paths[#paths]
end

--- The policy NAME of the spec's own folder, else of the folder in PERIGEE_POLICIES, else the
--- shipped one, with `fields` laid over its perigee; fields.options are laid over its options.
function support.policy(name, fields)
  local environment = setmetatable({ perigee = support.perigee(fields) }, { __index = _G })
  local own = debug.getinfo(2, "S").source:match("^@(.*)/[^/]*$") or "."
  local path = first_file({
    own .. "/" .. name .. ".lua",
    (os.getenv("PERIGEE_POLICIES") or "lua/policies") .. "/" .. name .. ".lua",
    "lua/policies/" .. name .. ".lua",
  })
  local policy = load_in(path, environment)
  local options = {}
  for _, layer in ipairs({ policy.options or {}, fields and fields.options or {} }) do
    for key, value in pairs(layer) do
      options[key] = value
    end
  end
  environment.options = options
  return policy
end

--- A value as policies get it: under busted the table itself.
function support.view(value)
  return value
end

--- The objects of a YAML text; without lyaml JSON only.
function support.yaml(text)
  local ok, lyaml = pcall(require, "lyaml")
  if not ok then
    return { support.decode(text) }
  end
  local documents = lyaml.load(text, { all = true })
  for i, document in ipairs(documents) do
    documents[i] = support.decode(json.encode(document))
  end
  return documents
end

--- The objects of a YAML or JSON file.
function support.objects(path)
  return support.yaml(support.read(path))
end

--- Asks accept for each candidate and sorts the accepted ones by before, as core/policy/select.c
--- does. Returns the accepted ones, and what accept said about each name.
function support.select(policy, request, candidates)
  local accepted, said = {}, {}
  for _, candidate in ipairs(candidates) do
    local yes, reason, code = policy.accept(candidate, request)
    said[candidate.name] = { yes, reason, code }
    if yes then
      local at = #accepted + 1
      while at > 1 and policy.before(candidate, accepted[at - 1], request) do
        at = at - 1
      end
      table.insert(accepted, at, candidate)
    end
  end
  return accepted, said
end

support.null = null
return support
