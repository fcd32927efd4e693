-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("image", {
  compat = { image_suffix = true },
  options = {
    pins = { ["kserve/sklearnserver"] = "v0.15.2", ["vllm/vllm-openai"] = "sha256:abc" },
    allowed = { "1.2.3" },
  },
})

local function tag(image, version)
  return policy.tag(image, {
    runtime_name = "mine",
    runtime_version = version,
    gpus = {},
    service = { metadata = { name = "iris" } },
  })
end

describe("pin_versions", function()
  it("gives a pinned repository its tag", function()
    assert.are.equal("kserve/sklearnserver:v0.15.2", tag("kserve/sklearnserver:latest"))
    assert.are.equal("ghcr.io/kserve/sklearnserver:v0.15.2", tag("ghcr.io/kserve/sklearnserver"))
  end)

  it("gives it its digest, without a tag", function()
    assert.are.equal("vllm/vllm-openai@sha256:abc", tag("vllm/vllm-openai:v1"))
  end)

  it("leaves other images as shipped", function()
    assert.is_nil(tag("me/model:1"))
  end)

  it("takes versions that are allowed and refuses others", function()
    assert.are.equal("me/model:1.2.3", tag("me/model:1", "1.2.3"))
    assert.has_error(function()
      tag("me/model:1", "2.0.0")
    end, "runtimeVersion 2.0.0 is not one of the versions that are allowed here")
  end)
end)
