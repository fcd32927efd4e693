-- SPDX-License-Identifier: Apache-2.0
--- Labels and annotations: reading them, and making maps of them. Maps that come back are new
--- tables.
---@class perigee.labels
local M = {}

--- A member of metadata, or nil; null is nil.
local function part(object, name)
  local metadata = object and object.metadata
  local map = metadata and metadata ~= perigee.null and metadata[name]
  if not map or map == perigee.null then
    return nil
  end
  return map
end

--- The label of an object, or nil.
---@param object perigee.View
---@param key string
---@return string?
function M.get(object, key)
  local labels = part(object, "labels")
  return labels and labels[key] or nil
end

--- The annotation of an object, or nil.
---@param object perigee.View
---@param key string
---@return string?
function M.annotation(object, key)
  local annotations = part(object, "annotations")
  return annotations and annotations[key] or nil
end

--- True when the annotation (or label) says true in any case: "true", "True".
---@param value any
---@return boolean
function M.is_true(value)
  return type(value) == "string" and value:lower() == "true"
end

--- Maps laid over each other, later ones win. nil and null count as empty.
---@param ... table|perigee.View|nil
---@return table<string, string>
function M.merge(...)
  local merged = {}
  for i = 1, select("#", ...) do
    local map = select(i, ...)
    if map and map ~= perigee.null then
      for key, value in pairs(map) do
        merged[key] = value
      end
    end
  end
  return merged
end

local function filter(map, wanted)
  local kept = {}
  if map and map ~= perigee.null then
    for key, value in pairs(map) do
      if wanted(key) then
        kept[key] = value
      end
    end
  end
  return kept
end

--- Those whose key begins with prefix.
---@param map table|perigee.View|nil
---@param prefix string
---@return table<string, string>
function M.with_prefix(map, prefix)
  return filter(map, function(key)
    return key:sub(1, #prefix) == prefix
  end)
end

--- Those whose key does not begin with prefix.
---@param map table|perigee.View|nil
---@param prefix string
---@return table<string, string>
function M.without_prefix(map, prefix)
  return filter(map, function(key)
    return key:sub(1, #prefix) ~= prefix
  end)
end

--- Those whose key is in the list.
---@param map table|perigee.View|nil
---@param keys string[]
---@return table<string, string>
function M.pick(map, keys)
  local wanted = {}
  for _, key in ipairs(keys) do
    wanted[key] = true
  end
  return filter(map, function(key)
    return wanted[key] == true
  end)
end

--- The part of a key before the slash, or "": "serving.kserve.io" of "serving.kserve.io/stop".
---@param key string
---@return string
function M.prefix(key)
  return key:match("^(.*)/[^/]*$") or ""
end

return M
