-- One recorded call of GetSupportingRuntimes, answered by the shipped runtime_selection policy.
local case = input["in"]
local function given(value)
  return value ~= perigee.null and value or nil
end
return {
  names = perigee.runtimes.supporting(given(case.servingRuntimes), given(case.clusterServingRuntimes), case.model, {
    namespace = case.namespace,
    multi_model = case.isMMS,
    multi_node = case.isMultiNode,
    compat = "kserve",
  }),
  error = perigee.null,
}
