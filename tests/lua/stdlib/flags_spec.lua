-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local flags = support.module("flags")

describe("flags", function()
  it("reads the forms of a flag", function()
    assert.are.same({
      { name = "--a", value = "1", words = { "--a=1" } },
      { name = "--b", value = "2", words = { "--b", "2" } },
      { name = "--c", words = { "--c" } },
      { name = "-d", value = "-1", words = { "-d", "-1" } },
      { name = "--e", value = "", words = { "--e=" } },
      { words = { "--" } },
      { words = { "--f" } },
    }, flags.parse({ "--a=1", "--b", "2", "--c", "-d", "-1", "--e=", "--", "--f" }))
    assert.are.same(
      { { words = { "serve" } }, { name = "--x", words = { "--x" } } },
      flags.parse({ "serve", "--x" })
    )
    assert.are.same({}, flags.parse(nil))
    assert.are.same({}, flags.parse(support.null))
  end)

  it("gets the last value", function()
    assert.are.equal("2", flags.get({ "--a=1", "--a", "2" }, "--a"))
    assert.is_true(flags.get({ "--a" }, "--a"))
    assert.is_nil(flags.get({ "--ab=1" }, "--a"))
  end)

  it("removes and sets", function()
    assert.are.same({ "x", "--b=2" }, flags.remove({ "x", "--a", "1", "--b=2", "--a=3" }, "--a"))
    assert.are.same({ "--a=9", "--b" }, flags.set({ "--a", "1", "--b", "--a=2" }, "--a", "9"))
    assert.are.same({ "--b", "--a=9" }, flags.set({ "--b" }, "--a", "9"))
    assert.are.same({ "--a" }, flags.set({ "--a=1" }, "--a"))
    local plain = flags.set({ "--b", "--", "--a", "x" }, "--a", "9")
    assert.are.same({ "--b", "--a=9", "--", "--a", "x" }, plain)
    assert.are.same({ "--a=9", "--", "--a" }, flags.set({ "--a", "1", "--", "--a" }, "--a", "9"))
    assert.are.same({ "--a=9", "--" }, flags.set({ "--" }, "--a", "9"))
    plain = flags.remove({ "--a", "--b", "--", "--a", "1" }, "--a")
    assert.are.same({ "--b", "--", "--a", "1" }, plain)
  end)

  it("merges two lists, the second one's flags winning in whatever form", function()
    assert.are.same(
      { "serve", "--port=80", "--gpus", "2", "--model=b", "--new" },
      flags.merge(
        { "serve", "--model", "a", "--port=80", "--gpus=1" },
        { "--gpus", "2", "--model=b", "--new" }
      )
    )
    assert.are.same(
      { "--a", "--b=2", "--c", "--", "--b", "x", "--a" },
      flags.merge({ "--a", "--b=1", "--", "--b", "x" }, { "--b=2", "--c", "--", "--a" })
    )
    assert.are.same({ "--a", "--", "x" }, flags.merge({ "--a" }, { "--", "x" }))
    assert.are.same({ "--b", "--", "x" }, flags.merge({ "--", "x" }, { "--b" }))
    assert.are.same({ "--a" }, flags.merge({ "--a" }, nil))
    assert.are.same({ "--a" }, flags.merge(nil, { "--a" }))
  end)
end)
