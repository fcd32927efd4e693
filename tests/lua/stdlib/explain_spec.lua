-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local explain = support.module("explain")

describe("explain", function()
  it("names formats", function()
    assert.are.equal("sklearn 1", explain.format({ name = "sklearn", version = "1" }))
    assert.are.equal("sklearn", explain.format({ name = "sklearn" }))
    local formats = { { name = "sklearn", version = "1" }, { name = "xgboost" } }
    assert.are.equal("sklearn 1, xgboost", explain.formats(formats))
  end)

  it("makes lists for people", function()
    assert.are.equal("nothing", explain.list({}))
    assert.are.equal("nothing", explain.list(nil))
    assert.are.equal("a", explain.list({ "a" }))
    assert.are.equal("a and b", explain.list({ "a", "b" }))
    assert.are.equal("a, b and 3", explain.list({ "a", "b", 3 }))
    assert.are.equal("a and 2 more", explain.list({ "a", "b", "c" }, 0))
    assert.are.equal("a and 2 more", explain.list({ "a", "b", "c" }, math.mininteger))
    assert.are.equal("a, b and 2 more", explain.list({ "a", "b", "c", "d" }, 2))
  end)
end)
