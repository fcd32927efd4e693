-- SPDX-License-Identifier: Apache-2.0
--- The shipped rule for image tags, for any image.
---@class perigee.image
local M = {}

---@param compat "kserve"|"fixed"|perigee.View|nil nil: fixed
---@return {image_suffix: boolean}
local function flags(compat)
  if compat == nil or compat == "fixed" or compat == "kserve" then
    return { image_suffix = compat ~= "kserve" }
  end
  return compat
end

--- The image that the shipped image policy gives; the same image where its rule does not apply.
---@param image string
---@param request perigee.ImageRequest
---@param options? {compat?: "kserve"|"fixed"|perigee.View}
---@return string
function M.tag(image, request, options)
  return perigee.shipped.image.tag(image, request, flags(options and options.compat)) or image
end

return M
