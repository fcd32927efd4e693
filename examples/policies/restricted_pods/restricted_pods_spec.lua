-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("object_patch")

local function patch(pod)
  local answer = policy.patch({ kind = "Deployment", spec = { template = { spec = pod } } }, {})
  return answer and answer.spec.template.spec
end

local HARDENED = { allowPrivilegeEscalation = false, capabilities = { drop = { "ALL" } } }

describe("restricted_pods", function()
  it("fills in what is not said", function()
    assert.are.same({
      securityContext = { runAsNonRoot = true, seccompProfile = { type = "RuntimeDefault" } },
      containers = { { name = "a", securityContext = HARDENED } },
    }, patch({ containers = { { name = "a" } } }))
  end)

  it("leaves what is said", function()
    local own = { capabilities = {}, allowPrivilegeEscalation = true }
    local spec = patch({
      securityContext = { runAsNonRoot = false },
      containers = { { name = "a", securityContext = own } },
    })
    assert.are.same({ securityContext = { seccompProfile = { type = "RuntimeDefault" } } }, spec)
  end)

  it("is done when all is there", function()
    assert.is_nil(patch({
      securityContext = { runAsNonRoot = true, seccompProfile = { type = "Localhost" } },
      containers = { { name = "a", securityContext = HARDENED } },
    }))
  end)
end)
