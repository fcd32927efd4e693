-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local policy = support.policy("object_patch", {
  options = { mirror = "mirror.local:5000", default = "docker.io", trusted = { "quay.io" } },
})

local function patch(image, init)
  local pod = {
    containers = { { name = "kserve-container", image = image } },
    initContainers = init and { { name = "storage-initializer", image = init } },
  }
  local answer = policy.patch({ kind = "Deployment", spec = { template = { spec = pod } } }, {})
  return answer and answer.spec.template.spec
end

describe("mirror_registry", function()
  it("takes images of containers and init containers from the mirror", function()
    local spec = patch("nvcr.io/nvidia/tritonserver:23.05", "kserve/storage-initializer:latest")
    assert.are.equal(
      "mirror.local:5000/nvcr.io/nvidia/tritonserver:23.05",
      spec.containers[1].image
    )
    assert.are.equal(
      "mirror.local:5000/docker.io/kserve/storage-initializer:latest",
      spec.initContainers[1].image
    )
  end)

  it("leaves the mirror itself and trusted registries alone", function()
    assert.is_nil(patch("mirror.local:5000/docker.io/x:1"))
    assert.is_nil(patch("quay.io/x@sha256:abc"))
  end)

  it("has nothing to say about objects without pods", function()
    assert.is_nil(policy.patch({ kind = "Service", spec = {} }, {}))
  end)
end)
