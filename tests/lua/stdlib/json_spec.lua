-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local json = support.module("json")

-- encode and decode are C: tests/c/policy/test_stdlib.c.
describe("json", function()
  it("follows paths that may not be there", function()
    local value = { a = { { b = "x" } } }
    assert.are.equal("x", json.at(value, "a", 1, "b"))
    assert.are.equal(value, json.at(value))
    assert.is_nil(json.at(value, "a", 2, "b"))
    assert.is_nil(json.at(value, "a", 1, "b", "c"))
    assert.is_nil(json.at(nil, "a"))
  end)

  it("takes null for nothing where that is wanted", function()
    assert.is_nil(json.given(support.null))
    assert.are.equal(false, json.given(false))
  end)

  it("has the values of perigee", function()
    assert.are.equal(support.null, json.null)
    assert.are.equal("array", json.kind(json.array({})))
    assert.are.equal("object", json.kind(json.object({})))
  end)
end)
