-- SPDX-License-Identifier: Apache-2.0
--- Which annotations reach the rendered objects: all but those that the configuration disallows.
--- See policy-guide.md, "annotation_filter".
---@type perigee.AnnotationFilterPolicy
local M = { api = "annotation_filter/v1" }

---@param key string
---@param _value string
---@param layer "service"|"predictor"|"runtime"|"worker"
---@param _service perigee.View
---@return boolean? keep nil: no opinion
---@return string? reason
function M.keep(key, _value, layer, _service)
  if layer == "worker" and not perigee.compat.worker_annotations then
    return true -- the original does not filter those of a runtime's workerSpec
  end
  local section = perigee.config.inferenceService
  for _, disallowed in ipairs(section and section.serviceAnnotationDisallowedList or {}) do
    if disallowed == key then
      return false, "it is in serviceAnnotationDisallowedList of the configuration"
    end
  end
  return true
end

return M
