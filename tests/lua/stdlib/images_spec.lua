-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")
local images = support.module("images")

describe("images", function()
  it("takes references apart", function()
    local cases = {
      ["nginx"] = { repository = "nginx" },
      ["kserve/sklearnserver:v1"] = { repository = "kserve/sklearnserver", tag = "v1" },
      ["ghcr.io/a/b:1"] = { registry = "ghcr.io", repository = "a/b", tag = "1" },
      ["localhost:5000/b"] = { registry = "localhost:5000", repository = "b" },
      ["localhost/b:"] = { registry = "localhost", repository = "b", tag = "" },
      ["h:1/a/b:t@sha256:0"] = {
        registry = "h:1",
        repository = "a/b",
        tag = "t",
        digest = "sha256:0",
      },
    }
    for image, parts in pairs(cases) do
      assert.are.same(parts, images.parse(image))
    end
  end)

  it("puts them together again", function()
    local all = { "a", "a:1", "h.io/a/b:1", "h:5/a@sha256:0", "a/b:", "x/a:1@sha256:0" }
    for _, image in ipairs(all) do
      assert.are.equal(image, images.format(images.parse(image)))
    end
  end)

  it("changes tag and registry", function()
    assert.are.equal("h:5/a:2", images.with_tag("h:5/a:1@sha256:0", "2"))
    assert.are.equal("a:2", images.with_tag("a", "2"))
    assert.are.equal("m.io/a/b:1", images.with_registry("ghcr.io/a/b:1", "m.io"))
    assert.are.equal("m.io/kserve/x@sha256:0", images.with_registry("kserve/x@sha256:0", "m.io"))
  end)
end)
