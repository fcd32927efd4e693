-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("object_patch")

local function patch(limits, tolerations)
  local container = { name = "kserve-container", resources = { limits = limits } }
  local pod = { containers = { container }, tolerations = tolerations }
  local answer = policy.patch({ kind = "Deployment", spec = { template = { spec = pod } } }, {})
  return answer and answer.spec.template.spec.tolerations
end

local function exists(key)
  return { key = key, operator = "Exists", effect = "NoSchedule" }
end

describe("gpu_tolerations", function()
  it("tolerates the taint of the GPU that is asked for", function()
    assert.are.same({ exists("amd.com/gpu") }, patch({ ["amd.com/gpu"] = "1" }))
    assert.are.same({ exists("nvidia.com/gpu") }, patch({ ["nvidia.com/mig-1g.5gb"] = 1 }))
  end)

  it("keeps the tolerations that are there", function()
    local own = { key = "spot", operator = "Exists" }
    assert.are.same({ own, exists("nvidia.com/gpu") }, patch({ ["nvidia.com/gpu"] = "2" }, { own }))
  end)

  it("adds nothing twice, and nothing without a GPU", function()
    assert.is_nil(patch({ ["nvidia.com/gpu"] = "2" }, { exists("nvidia.com/gpu") }))
    assert.is_nil(patch({ ["nvidia.com/gpu"] = "0", cpu = "1" }))
    assert.is_nil(policy.patch({ kind = "Service", spec = { ports = {} } }, {}))
  end)
end)
