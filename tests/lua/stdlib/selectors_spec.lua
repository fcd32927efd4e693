-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local selectors = support.module("selectors")

describe("selectors", function()
  it("makes a selector for labels, as a copy", function()
    local labels = { a = "1" }
    local selector = selectors.for_labels(labels)
    labels.a = "2"
    assert.are.equal("1", selector.matchLabels.a)
  end)

  pending("matches labels: C, tested in tests/c/policy/test_stdlib.c")
end)
