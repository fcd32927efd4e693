-- SPDX-License-Identifier: Apache-2.0
local support = require("support.perigee")

local function policy(list, mended)
  return support.policy("annotation_filter", {
    config = list and { inferenceService = { serviceAnnotationDisallowedList = list } } or {},
    compat = { worker_annotations = mended or false },
  })
end

describe("annotation_filter", function()
  it("drops what the configuration disallows, and says so", function()
    local keep, reason = policy({ "modelFormat", "x/y" }).keep("x/y", "v", "service", {})
    assert.is_false(keep)
    assert.matches("serviceAnnotationDisallowedList", reason, 1, true)
    assert.is_true((policy({ "modelFormat" }).keep("x/y", "v", "service", {})))
  end)

  it("compares whole keys", function()
    assert.is_true((policy({ "x/y" }).keep("x/yz", "v", "service", {})))
    assert.is_true((policy({ "x/." }).keep("x/y", "v", "service", {})))
  end)

  it("leaves worker annotations alone unless that is mended", function()
    assert.is_true((policy({ "x" }, false).keep("x", "v", "worker", {})))
    assert.is_false((policy({ "x" }, true).keep("x", "v", "worker", {})))
  end)

  it("keeps everything without a list", function()
    assert.is_true((policy(nil).keep("modelFormat", "v", "runtime", {})))
    assert.is_true((policy({}).keep("modelFormat", "v", "predictor", {})))
  end)
end)
