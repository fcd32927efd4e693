-- SPDX-License-Identifier: Apache-2.0
--- JSON values and texts. `encode`, `decode` and `find` are C: core/policy/natives.c.
---@alias perigee.List table|perigee.View|nil
---@class perigee.json
---@field encode fun(value: any, pretty?: boolean): string keys sorted
---@field decode fun(text: string): any, string? the value as a view, or nil and why
---@field find fun(list: perigee.List, key: string, value: string): any first item with key = value
---@field null lightuserdata as perigee.null
---@field array fun(list?: table|perigee.View): table as perigee.array
---@field object fun(object?: table|perigee.View): table as perigee.object
---@field copy fun(value: any): any as perigee.copy
---@field kind fun(value: any): string as perigee.kind
local M = {
  null = perigee.null,
  array = perigee.array,
  object = perigee.object,
  copy = perigee.copy,
  kind = perigee.kind,
}

--- The value at a path of keys and indices, or nil as soon as one is missing. Never raises.
---@param value any
---@param ... string|integer
---@return any
function M.at(value, ...)
  for i = 1, select("#", ...) do
    if type(value) ~= "table" then
      return nil
    end
    value = value[select(i, ...)]
  end
  return value
end

--- value, or nil when it is JSON null.
---@generic T
---@param value T
---@return T?
function M.given(value)
  if value == perigee.null then
    return nil
  end
  return value
end

return M
