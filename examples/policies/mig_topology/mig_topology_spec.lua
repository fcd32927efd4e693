-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

-- Stock busted has no C functions.
local gpu = {
  ray = function()
    return { nodes = 4, head_gpus = 1, worker_gpus = 1 }
  end,
}
local policy = support.policy("multi_node", { gpu = gpu })

local function topology(head, tensor, pipeline, worker)
  return policy.topology({
    backend = "ray",
    tensor_parallel = tensor,
    pipeline_parallel = pipeline,
    head = { resource = head, requested = 1 },
    worker = { resource = worker or head, requested = 1 },
    service = {},
    runtime = {},
  })
end

describe("mig_topology", function()
  it("keeps tensor parallelism on one card, pipeline stages on nodes", function()
    assert.are.same(
      { nodes = 3, head_gpus = 2, worker_gpus = 2 },
      topology("nvidia.com/mig-3g.20gb", 2, 3)
    )
  end)

  it("refuses what does not fit on a card", function()
    local answer, why = topology("nvidia.com/mig-3g.20gb", 4, 1)
    assert.is_nil(answer)
    assert.matches("has 2 slices", why)
    assert.matches("not in the options", select(2, topology("nvidia.com/mig-9g.1gb", 1, 1)))
    local mixed = select(2, topology("nvidia.com/mig-3g.20gb", 1, 1, "nvidia.com/gpu"))
    assert.matches("one kind", mixed)
  end)

  it("leaves whole GPUs to the shipped policy", function()
    assert.are.same(
      { nodes = 4, head_gpus = 1, worker_gpus = 1 },
      topology("nvidia.com/gpu", 2, 2)
    )
  end)
end)
