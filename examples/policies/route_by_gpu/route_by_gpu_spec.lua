-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("runtime_selection")

local function candidate(accelerator)
  return {
    name = accelerator or "any",
    scope = "cluster",
    protocol = 5,
    created = "",
    object = { metadata = { labels = { ["example.com/accelerator"] = accelerator } } },
    spec = { supportedModelFormats = { { name = "onnx", autoSelect = true } } },
    match = { name = "onnx", autoSelect = true },
  }
end

local function accepts(accelerator, limits, named)
  return policy.accept(candidate(accelerator), {
    service = {},
    model = { modelFormat = { name = "onnx" }, resources = limits and { limits = limits } },
    format = { name = "onnx" },
    protocol = "v1",
    protocol_given = false,
    named = named or false,
    multi_node = false,
    multi_model = false,
  })
end

describe("route_by_gpu", function()
  it("takes a runtime for the kind that is asked for", function()
    assert.is_true((accepts("amd", { ["amd.com/gpu"] = "1" })))
    assert.is_true((accepts("nvidia", { ["nvidia.com/mig-1g.5gb"] = 1 })))
    assert.are.same(
      { false, "it runs on nvidia, the service asks for amd", "other" },
      { accepts("nvidia", { ["amd.com/gpu"] = "1" }) }
    )
  end)

  it("keeps services without a GPU away from runtimes that need one", function()
    assert.is_false((accepts("nvidia", { cpu = "2" })))
    assert.is_false((accepts("nvidia", { ["nvidia.com/gpu"] = "0" })))
    assert.is_true((accepts("cpu", nil)))
  end)

  it("says nothing of runtimes without the label, nor of one that the service names", function()
    assert.is_true((accepts(nil, { ["amd.com/gpu"] = "1" })))
    assert.is_true((accepts("nvidia", nil, true)))
  end)
end)
