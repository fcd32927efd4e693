-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("object_patch")

local function memory(size, container)
  local init = { { name = container or "storage-initializer" } }
  local object = { spec = { template = { spec = { containers = {}, initContainers = init } } } }
  local service = { metadata = { annotations = { ["example.com/model-size"] = size } } }
  local answer = policy.patch(object, service)
  return answer and answer.spec.template.spec.initContainers[1].resources.limits.memory
end

describe("initializer_size", function()
  it("grows with the model", function()
    assert.are.equal("1Gi", memory("500Mi"))
    assert.are.equal("4Gi", memory("10Gi"))
    assert.are.equal("16Gi", memory("500Gi"))
  end)

  it("leaves pods without the annotation or the container alone", function()
    assert.is_nil(memory(nil))
    assert.is_nil(memory("10Gi", "other"))
  end)
end)
