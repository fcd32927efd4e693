-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local quantity = support.module("quantity")

-- compare and add are C; here over a stand-in. The exact ones: tests/c/policy/test_stdlib.c.
describe("quantity", function()
  it("finds the larger and the smaller, as they are written", function()
    assert.are.equal("2Gi", quantity.max("2Gi", "2000M"))
    assert.are.equal("2000M", quantity.min("2Gi", "2000M"))
    assert.are.equal("1", quantity.max("1", "1000m"))
    assert.are.equal("1", quantity.min("1", "1000m"))
  end)

  it("compares", function()
    assert.is_true(quantity.less("1", "1Ki"))
    assert.is_false(quantity.less("1", 1))
  end)

  it("adds up lists", function()
    assert.are.equal("0", quantity.sum({}))
    assert.are.equal("6", quantity.sum({ "1", 2, "3" }))
  end)
end)
