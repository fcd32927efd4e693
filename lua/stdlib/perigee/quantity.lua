-- SPDX-License-Identifier: Apache-2.0
local native = ...

--- Resource quantities ("500m", "2Gi", 3), exact. A quantity is a text or a number, results are
--- texts as an API server prints them. What is not a quantity raises. The fields below are C:
--- core/policy/natives.c.
---@class perigee.quantity
---@field compare fun(a: string|number, b: string|number): integer -1, 0 or 1
---@field add fun(a: string|number, b: string|number): string the sum
---@field sub fun(a: string|number, b: string|number): string the difference
---@field value fun(quantity: string|number): integer whole units, rounded up
---@field milli fun(quantity: string|number): integer thousandths, rounded up
---@field is_zero fun(quantity: string|number): boolean in any spelling
---@field is_valid fun(quantity: any): boolean whether it is a quantity at all; never raises
---@field canonical fun(quantity: string|number): string as an API server prints it
local M = {}

--- The sum of a list; "0" of an empty one.
---@param list (string|number)[]
---@return string
function M.sum(list)
  local sum = "0"
  for _, quantity in ipairs(list) do
    sum = native.add(sum, quantity)
  end
  return sum
end

--- The larger of two; the first when they are equal.
---@param a string|number
---@param b string|number
---@return string|number
function M.max(a, b)
  return native.compare(a, b) >= 0 and a or b
end

--- The smaller of two; the first when they are equal.
---@param a string|number
---@param b string|number
---@return string|number
function M.min(a, b)
  return native.compare(a, b) <= 0 and a or b
end

--- True when a is less than b.
---@param a string|number
---@param b string|number
---@return boolean
function M.less(a, b)
  return native.compare(a, b) < 0
end

return M
