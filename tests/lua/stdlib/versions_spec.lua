-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local versions = support.module("versions")

describe("versions", function()
  it("reads numbers and suffix", function()
    assert.are.same({ numbers = { 1, 2, 3 }, suffix = {} }, versions.parse("v1.2.3+build.5"))
    assert.are.same({ numbers = { 2 }, suffix = { "rc1", "x" } }, versions.parse("2-rc1.x"))
  end)

  it("says what is no version", function()
    for _, text in ipairs({ "", "latest", "1..2", ".1", "1.", "a1" }) do
      local parsed, problem = versions.parse(text)
      assert.is_nil(parsed, text)
      assert.matches("not a version: " .. text, problem, 1, true)
    end
  end)

  it("compares numbers as numbers, longer ones with zeros", function()
    assert.are.equal(-1, versions.compare("1.9", "1.10"))
    assert.are.equal(0, versions.compare("v1", "1.0.0"))
    assert.are.equal(1, versions.compare("2.0.1", "2"))
  end)

  it("puts a suffix before the release, and numbers in it before words", function()
    assert.are.equal(-1, versions.compare("1.0-rc1", "1.0"))
    assert.are.equal(-1, versions.compare("1.0-99", "1.0-1e1")) -- a word, not ten
    assert.are.equal(-1, versions.compare("1.0-99", "1.0-0x1"))
    assert.are.equal(-1, versions.compare("1.0-rc.9", "1.0-rc.10"))
    assert.are.equal(-1, versions.compare("1.0-1", "1.0-a"))
    assert.are.equal(-1, versions.compare("1.0-rc", "1.0-rc.1"))
    assert.are.equal(0, versions.compare("1.0-rc", "1-rc"))
  end)

  it("raises for the caller when one is no version", function()
    assert.has_error(function()
      versions.compare("1", "x")
    end)
  end)

  it("finds the newest and tells at least", function()
    assert.are.equal("1.10", versions.newest({ "1.2", "1.10", "1.9-rc" }))
    assert.is_nil(versions.newest({}))
    assert.is_true(versions.at_least("1.2", "1.2"))
    assert.is_false(versions.at_least("1.2-rc1", "1.2"))
  end)
end)
