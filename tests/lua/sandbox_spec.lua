-- SPDX-License-Identifier: Apache-2.0
-- The names that lint lets policies use are those of the sandbox; tests/c/policy/test_library.c
-- holds the sandbox to the same list.
describe("the sandbox's list of names", function()
  local function listed()
    local names = {}
    for name in io.lines("tests/cases/policy/globals.txt") do
      names[name] = true
    end
    return names
  end

  local function linted()
    local settings = { stds = {}, files = {} }
    assert(loadfile(".luacheckrc", "t", settings))()
    local names = {}
    for key, value in pairs(settings.stds.sandbox.read_globals) do
      if type(key) == "number" then
        names[value] = true
      elseif value.fields then
        for field in pairs(value.fields) do
          names[key .. "." .. field] = true
        end
      else
        names[key] = true
      end
    end
    return names, settings
  end

  it("is what luacheck knows", function()
    assert.are.same(listed(), (linted()))
  end)

  it("is what policies and the library are checked against", function()
    local _, settings = linted()
    assert.are.equal("sandbox+policy", settings.files["lua/policies"].std)
    assert.are.equal("sandbox", settings.files["lua/stdlib/perigee"].std)
  end)
end)
