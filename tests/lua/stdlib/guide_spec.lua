-- SPDX-License-Identifier: Apache-2.0
-- The policy guide keeps up with the code: every function is in it and has a type for editors, and
-- its examples are policies that load.
local support = require("support.perigee")

local guide = support.read("docs/policy-guide.md")
local meta = support.read("lua/stdlib/meta/perigee.lua")

--- The part of the guide below a heading, up to the next one.
local function section(heading)
  local start = assert(guide:find("\n" .. heading .. "\n", 1, true), "no section " .. heading)
  return guide:sub(start, (guide:find("\n##", start + #heading, true)))
end

local function documented(module, name)
  if guide:find("`perigee." .. module .. "." .. name .. "(", 1, true) then
    return true
  end
  local heading = "\n### perigee." .. module .. "\n"
  if not guide:find(heading, 1, true) then
    return false
  end
  local text = section("### perigee." .. module)
  return text:find("`" .. name .. "(", 1, true) ~= nil
end

--- Names "module.function" that a C file registers.
local function natives(path)
  local names = {}
  for module, name in support.read(path):gmatch('{"([%w_]+)%.([%w_]+)", [%w_]+}') do
    names[#names + 1] = { module, name }
  end
  return names
end

local C_FILES = { "core/policy/natives.c", "core/stdlib/natives.c" }

describe("the policy guide", function()
  it("lists the functions of every module", function()
    local count = 0
    local files = io.popen("ls lua/stdlib/perigee")
    for file in files:lines() do
      local module = file:match("^(.*)%.lua$")
      for name in support.read("lua/stdlib/perigee/" .. file):gmatch("\nfunction M%.(%w[%w_]*)") do
        assert.is_true(documented(module, name), module .. "." .. name)
        count = count + 1
      end
    end
    files:close()
    assert.is_true(count > 25)
  end)

  it("lists the functions made in C, which have types too", function()
    for _, path in ipairs(C_FILES) do
      local names = natives(path)
      assert.is_true(#names > 5, path)
      for _, entry in ipairs(names) do
        local module, name = entry[1], entry[2]
        local typed = "@field " .. name .. " fun("
        local file = io.open("lua/stdlib/perigee/" .. module .. ".lua")
        local source = file and file:read("a") or ""
        if file then
          file:close()
        end
        -- What only a module of the library calls is no part of the guide.
        if not source:find("local [%w_]+ = %(%.%.%.%)%." .. name) then
          assert.is_true(documented(module, name), path .. ": " .. module .. "." .. name)
          local found = source:find(typed, 1, true) or meta:find(typed, 1, true)
          assert.is_truthy(found, "no type: " .. module .. "." .. name)
        end
      end
    end
  end)

  it("lists the names of the sandbox", function()
    local text = section("### Names")
    for name in io.lines("tests/cases/policy/globals.txt") do
      local word = name:match("[^.]+$")
      assert.is_truthy(text:find("%f[%w]" .. word .. "%f[^%w]"), name)
    end
  end)

  it("has a section for every shipped policy", function()
    local files = io.popen("ls lua/policies")
    for file in files:lines() do
      local path = "lua/policies/" .. file
      local api = support.read(path):match('api = "([%w_]+)/v1"')
      assert.is_truthy(api, path)
      assert.is_truthy(section("### " .. api))
    end
    files:close()
  end)

  it("shows policies that load", function()
    local count = 0
    for text in guide:gmatch("```lua\n(.-)\n```") do
      if text:find("\nreturn M$") then
        local environment = { perigee = support.perigee(), options = {} }
        setmetatable(environment, { __index = _G })
        local policy = assert(load(text, "=guide", "t", environment))()
        assert.matches("^[%w_]+/v1$", policy.api)
        count = count + 1
      end
    end
    assert.is_true(count > 0)
  end)
end)
