-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local times = support.module("times")

describe("times", function()
  it("reads RFC 3339 times in UTC", function()
    assert.are.equal(0, times.seconds("1970-01-01T00:00:00Z"))
    assert.are.equal(1704067200, times.seconds("2024-01-01T00:00:00Z"))
    assert.are.equal(1709210096, times.seconds("2024-02-29T12:34:56Z"))
    assert.are.equal(1709251200, times.seconds("2024-03-01T00:00:00.25Z"))
    assert.are.equal(951782400, times.seconds("2000-02-29T00:00:00Z"))
  end)

  it("has no answer for anything else", function()
    for _, text in ipairs({ "", "yesterday", "2024-01-01", "2024-01-01T00:00:00+02:00" }) do
      assert.is_nil(times.seconds(text))
    end
    assert.is_nil(times.seconds(nil))
    assert.is_nil(times.seconds(5))
  end)

  it("counts the seconds between two times, never less than none", function()
    assert.are.equal(60, times.between("2024-01-01T00:00:00Z", "2024-01-01T00:01:00Z"))
    assert.are.equal(0, times.between("2024-01-01T00:01:00Z", "2024-01-01T00:00:00Z"))
    assert.are.equal(0, times.between("", "2024-01-01T00:00:00Z"))
  end)
end)
