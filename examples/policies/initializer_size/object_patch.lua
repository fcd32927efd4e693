-- SPDX-License-Identifier: Apache-2.0
--- Size the storage initializer by model. A service says in its annotation `example.com/model-size`
--- (a quantity: `40Gi`) how large its model is; the init container that fetches it gets memory for
--- its buffers by the option `steps`: from which size on how much. Without the annotation nothing
--- changes.
local M = {
  api = "object_patch/v1",
  options = {
    annotation = "example.com/model-size",
    container = "storage-initializer",
    steps = {
      { from = "0", memory = "1Gi", cpu = "1" },
      { from = "10Gi", memory = "4Gi", cpu = "2" },
      { from = "100Gi", memory = "16Gi", cpu = "4" },
    },
  },
}

local json, labels, quantity = perigee.json, perigee.labels, perigee.quantity

local function step_for(size)
  local found
  for _, step in ipairs(options.steps) do
    if not quantity.less(size, step.from) then
      found = step
    end
  end
  return found
end

function M.patch(object, service)
  local size = labels.annotation(service, options.annotation)
  local init = json.at(object, "spec", "template", "spec", "initContainers")
  if not size or not json.find(init, "name", options.container) then
    return nil
  end
  if not quantity.is_valid(size) then
    error("annotation " .. options.annotation .. ": '" .. size .. "' is no quantity", 0)
  end
  local step = step_for(size)
  if not step then
    return nil
  end
  local resources = { limits = { memory = step.memory, cpu = step.cpu } }
  local container = { name = options.container, resources = resources }
  return { spec = { template = { spec = { initContainers = { container } } } } }
end

return M
