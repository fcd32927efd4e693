-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local quantities = support.module("quantities")

-- compare and add are C; here over a stand-in. The exact ones: tests/c/policy/test_stdlib.c.
describe("quantities", function()
  it("finds the larger and the smaller, as they are written", function()
    assert.are.equal("2Gi", quantities.max("2Gi", "2000M"))
    assert.are.equal("2000M", quantities.min("2Gi", "2000M"))
    assert.are.equal("1", quantities.max("1", "1000m"))
    assert.are.equal("1", quantities.min("1", "1000m"))
  end)

  it("compares", function()
    assert.is_true(quantities.less("1", "1Ki"))
    assert.is_false(quantities.less("1", 1))
  end)

  it("adds up lists", function()
    assert.are.equal("0", quantities.sum({}))
    assert.are.equal("6", quantities.sum({ "1", 2, "3" }))
  end)
end)
