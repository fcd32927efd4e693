-- One recorded call of UpdateImageTag.
local case = input["in"]
local gpus = {}
local function given(value)
  return value ~= perigee.null and value or nil
end
for resource, count in pairs(given(case.limits) or {}) do
  gpus[#gpus + 1] = { resource = resource, count = count }
end
return {
  image = perigee.image.tag(case.image, {
    runtime_name = case.runtimeName,
    server_type = (given(case.runtimeAnnotations) or {})["serving.kserve.io/server-type"],
    runtime_version = given(case.runtimeVersion),
    gpus = perigee.array(gpus),
  }, { compat = "kserve" }),
}
