-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local SERVER_TYPE = "serving.kserve.io/server-type"
local fixed = support.policy("image", { compat = { image_suffix = true } })
local kserve = support.policy("image", { compat = { image_suffix = false } })

local function tag(policy, image, fields)
  local request = { runtime_name = "mine", gpus = {} }
  for key, value in pairs(fields or {}) do
    request[key] = value
  end
  return policy.tag(image, request) or image
end

local TORCHSERVE = "kserve-torchserve"

local function gpu(resource, count)
  return { { resource = resource, count = count or "1" } }
end

describe("image", function()
  it("answers as the original does", function()
    local rows = support.lines("tests/cases/functions/image_tag.ndjson")
    assert.are.equal(300, #rows)
    for _, row in ipairs(rows) do
      local input = row["in"]
      local gpus, annotations = {}, input.runtimeAnnotations
      if input.limits ~= support.null then
        for resource, count in pairs(input.limits) do
          gpus[#gpus + 1] = { resource = resource, count = count }
        end
      end
      local function given(value)
        return value ~= support.null and value or nil
      end
      local request = {
        runtime_name = given(input.runtimeName),
        server_type = annotations ~= support.null and annotations[SERVER_TYPE] or nil,
        runtime_version = given(input.runtimeVersion),
        gpus = gpus,
      }
      local image = kserve.tag(input.image, request) or input.image
      assert.are.equal(row.out.image, image, "row " .. row.id)
    end
  end)

  it("puts the version in the place of the tag", function()
    for _, policy in ipairs({ fixed, kserve }) do
      assert.are.equal("a/b:2", tag(policy, "a/b:1", { runtime_version = "2" }))
      assert.are.equal("a/b:2", tag(policy, "a/b", { runtime_version = "2" }))
      assert.are.equal("host:5000/b:2", tag(policy, "host:5000/b", { runtime_version = "2" }))
      assert.are.equal("a@sha256:0", tag(policy, "a@sha256:0", { runtime_version = "2" }))
    end
  end)

  it("takes an empty version as none, the original as an empty tag", function()
    assert.are.equal("a/b:1", tag(fixed, "a/b:1", { runtime_version = "" }))
    assert.are.equal("a/b:", tag(kserve, "a/b:1", { runtime_version = "" }))
    local nvidia = gpu("nvidia.com/gpu")
    local request = { runtime_version = "", runtime_name = TORCHSERVE, gpus = nvidia }
    assert.are.equal("a/b:1-gpu", tag(fixed, "a/b:1", request))
  end)

  it("takes a version literally, the original as a replacement", function()
    local cases = {
      { "v$1", "a/b:v:1" },
      { "v$2", "a/b:v1" },
      { "$0$$x", "a/b::1$x" },
      { "v$2x", "a/b:v" },
      { "v${2}x", "a/b:v1x" },
      { "v${2x", "a/b:v${2x" },
      { "v${}", "a/b:v${}" },
      { "v$", "a/b:v$" },
      { "v$-", "a/b:v$-" },
      { "v$02", "a/b:v" },
      { "100%", "a/b:100%" },
    }
    for _, case in ipairs(cases) do
      assert.are.equal("a/b:" .. case[1], tag(fixed, "a/b:1", { runtime_version = case[1] }))
      assert.are.equal(case[2], tag(kserve, "a/b:1", { runtime_version = case[1] }))
    end
  end)

  it("marks GPU builds of the servers that have them", function()
    local function on(name, image, gpus)
      return tag(fixed, image, { runtime_name = "kserve-" .. name, gpus = gpus })
    end
    for _, name in ipairs({ "torchserve", "tensorflow-serving", "huggingfaceserver" }) do
      assert.are.equal("a:1-gpu", on(name, "a:1", gpu("nvidia.com/gpu", "0")))
      assert.are.equal("a:1-gpu", on(name, "a:1", gpu("nvidia.com/mig-1g.5gb")))
      assert.are.equal("a:1", on(name, "a:1"))
      assert.are.equal("a", on(name, "a", gpu("nvidia.com/gpu")))
    end
    assert.are.equal("a:1", on("sklearnserver", "a:1", gpu("nvidia.com/gpu")))
  end)

  it("asks the annotation before the name of the runtime", function()
    local request = { runtime_name = TORCHSERVE, server_type = "vllmserver" }
    request.gpus = gpu("nvidia.com/gpu")
    assert.are.equal("a:1", tag(fixed, "a:1", request))
    request.server_type = ""
    assert.are.equal("a:1-gpu", tag(fixed, "a:1", request))
  end)

  it("gives vLLM its CPU image, but not on other accelerators", function()
    local request = { server_type = "vllmserver" }
    assert.are.equal("a-cpu:1", tag(fixed, "a:1", request))
    assert.are.equal("a-cpu:1", tag(fixed, "a-cpu:1", request))
    request.gpus = gpu("amd.com/gpu", "0")
    assert.are.equal("a-cpu:1", tag(fixed, "a:1", request))
    request.gpus = gpu("amd.com/gpu")
    assert.are.equal("a:1", tag(fixed, "a:1", request))
    assert.are.equal("a-cpu:1", tag(kserve, "a:1", request))
  end)
end)
