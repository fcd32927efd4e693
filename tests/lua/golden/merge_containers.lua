-- One recorded call of MergeRuntimeContainers.
local case = input["in"]
return {
  container = perigee.podspec.merge_container(case.runtime, case.isvc, { compat = "kserve" }),
  error = perigee.null,
}
