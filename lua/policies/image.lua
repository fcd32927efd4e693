-- SPDX-License-Identifier: Apache-2.0
--- The image of the predictor's container: the tag is the model's runtimeVersion, or says whether a
--- GPU is used. See policy-guide.md, "image". With `compat: kserve` (image_suffix not mended)
--- exactly what KServe does.
---@type perigee.ImagePolicy
local M = { api = "image/v1" }

--- Kinds of server, for KServe's own runtimes that do not carry the annotation
--- serving.kserve.io/server-type.
local SERVER_TYPES = {
  ["kserve-huggingfaceserver"] = "huggingfaceserver",
  ["kserve-tensorflow-serving"] = "tensorflow-serving",
  ["kserve-torchserve"] = "torchserve",
  ["kserve-vllmserver"] = "vllmserver",
}

--- Servers whose image for GPUs has the same name and a tag that ends in -gpu.
local HAS_GPU_TAG = {
  ["huggingfaceserver"] = true,
  ["tensorflow-serving"] = true,
  ["torchserve"] = true,
}

--- The server whose image without a GPU is called NAME-cpu.
local HAS_CPU_IMAGE = "vllmserver"

---@param image string
---@return string? repository without the tag; nil when the image has none
---@return string? tag with its colon
local function split(image)
  return image:match("^(.*)(:[%w_.%-]*)$")
end

---@param text string
---@param ending string
local function ends_with(text, ending)
  return text:sub(-#ending) == ending
end

--- What KServe makes of a version by using it as the replacement of a regular expression: $0 and $1
--- are the old tag with its colon, $2 is the tag without, ${name} and any other name are nothing,
--- $$ is a dollar sign, and so is a $ that begins none of these.
---@param version string
---@param tag string with its colon
local function expand(version, tag)
  local groups = { ["0"] = tag, ["1"] = tag, ["2"] = tag:sub(2) }
  local out, at = {}, 1
  while true do
    local dollar = version:find("$", at, true)
    if not dollar then
      out[#out + 1] = version:sub(at)
      return table.concat(out)
    end
    out[#out + 1] = version:sub(at, dollar - 1)
    local rest = version:sub(dollar + 1)
    local name = rest:match("^[%w_\x80-\xff]+")
    local braced = rest:match("^{([%w_\x80-\xff]+)}")
    if rest:sub(1, 1) == "$" then
      out[#out + 1] = "$"
      at = dollar + 2
    elseif name then
      out[#out + 1] = groups[name] or ""
      at = dollar + 1 + #name
    elseif braced then
      out[#out + 1] = groups[braced] or ""
      at = dollar + 3 + #braced
    else
      out[#out + 1] = "$"
      at = dollar + 1
    end
  end
end

---@param image string
---@param version string
---@param mended boolean
---@return string
local function with_version(image, version, mended)
  local repository, tag = split(image)
  if not repository then
    return image .. ":" .. version
  end
  return repository .. (mended and ":" .. version or expand(":" .. version, tag or ":"))
end

---@param gpus {resource: string, count: string}[]
---@return boolean nvidia some kind of theirs is named, with a count of 0 too
---@return boolean other there is some of another kind
local function accelerators(gpus)
  local nvidia, other = false, false
  for _, gpu in ipairs(gpus) do
    local name = gpu.resource
    if name == "nvidia.com/gpu" or name:sub(1, 14) == "nvidia.com/mig" then
      nvidia = true
    elseif not perigee.quantity.is_zero(gpu.count) then
      other = true
    end
  end
  return nvidia, other
end

---@param image string
---@param request perigee.ImageRequest
---@param compat? {image_suffix: boolean} for perigee.image.tag; else perigee.compat
---@return string? image nil: as it is
function M.tag(image, request, compat)
  local mended = (compat or perigee.compat).image_suffix == true
  local version = request.runtime_version
  if image:find("@sha256:", 1, true) then
    return nil
  end
  if version and not (mended and version == "") then
    return with_version(image, version, mended)
  end
  local kind = request.server_type
  if not kind or kind == "" then
    kind = SERVER_TYPES[request.runtime_name]
  end
  local repository, tag = split(image)
  if not kind or not repository then
    return nil
  end
  local nvidia, other = accelerators(request.gpus)
  if nvidia then
    return HAS_GPU_TAG[kind] and not ends_with(image, "-gpu") and image .. "-gpu" or nil
  end
  if kind ~= HAS_CPU_IMAGE or ends_with(repository, "-cpu") or (mended and other) then
    return nil
  end
  return repository .. "-cpu" .. tag
end

return M
