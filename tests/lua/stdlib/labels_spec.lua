-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local labels = support.module("labels")

describe("labels", function()
  local object = { metadata = { labels = { a = "1" }, annotations = { b = "2" } } }

  it("reads labels and annotations of an object", function()
    assert.are.equal("1", labels.get(object, "a"))
    assert.are.equal("2", labels.annotation(object, "b"))
    assert.is_nil(labels.get(object, "b"))
    assert.is_nil(labels.get({}, "a"))
    assert.is_nil(labels.get({ metadata = support.null }, "a"))
    assert.is_nil(labels.get({ metadata = { labels = support.null } }, "a"))
    assert.is_nil(labels.annotation(nil, "a"))
  end)

  it("knows true in any case", function()
    assert.is_true(labels.is_true("True"))
    assert.is_false(labels.is_true("yes"))
    assert.is_false(labels.is_true(nil))
    assert.is_false(labels.is_true(true))
  end)

  it("lays maps over each other", function()
    local merged = labels.merge({ a = "1" }, nil, { b = "2" }, support.null, { a = "3" })
    assert.are.same({ a = "3", b = "2" }, merged)
    assert.are.same({}, labels.merge())
  end)

  it("does not change what it merges", function()
    local first = { a = "1" }
    labels.merge(first, { a = "2" })
    assert.are.same({ a = "1" }, first)
  end)

  it("filters by prefix and by list", function()
    local map = { ["x/a"] = "1", ["x/b"] = "2", c = "3" }
    assert.are.same({ ["x/a"] = "1", ["x/b"] = "2" }, labels.with_prefix(map, "x/"))
    assert.are.same({ c = "3" }, labels.without_prefix(map, "x/"))
    assert.are.same({ c = "3", ["x/a"] = "1" }, labels.pick(map, { "c", "x/a", "none" }))
    assert.are.same({}, labels.with_prefix(nil, "x"))
  end)

  it("splits the prefix off a key", function()
    assert.are.equal("serving.kserve.io", labels.prefix("serving.kserve.io/stop"))
    assert.are.equal("", labels.prefix("stop"))
  end)
end)
