-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

describe("multi_node", function()
  local asked

  local function policy(answer, refusal)
    local function ask(name)
      return function(request)
        asked = { name, request }
        return answer, refusal
      end
    end
    return support.policy("multi_node", { gpu = { ray = ask("ray"), mp = ask("mp") } })
  end

  it("leaves the arithmetic of each backend to C", function()
    local request, topology = { backend = "mp" }, { nodes = 2, head_gpus = 4, worker_gpus = 4 }
    assert.are.equal(topology, (policy(topology).topology(request)))
    assert.are.same({ "mp", request }, asked)
    request.backend = "ray"
    assert.are.equal(topology, (policy(topology).topology(request)))
    assert.are.same({ "ray", request }, asked)
  end)

  it("passes a refusal on", function()
    assert.are.same({ nil, "too few" }, { policy(nil, "too few").topology({ backend = "ray" }) })
  end)
end)
