-- One recorded call of buildObjectMeta, with the filters that come before it.
local case = input["in"]
local function given(value)
  return value ~= perigee.null and value or nil
end
local function kept(annotations)
  return perigee.meta.filter(given(annotations), given(case.annotationDisallowedList))
end
local annotations =
  perigee.meta.union(kept(case.runtimeAnnotations), kept(case.isvcAnnotations), kept(case.predictorAnnotations))
return {
  metadata = {
    name = case.name .. "-predictor",
    namespace = case.namespace,
    labels = perigee.meta.union(
      given(case.runtimeLabels),
      given(case.isvcLabels),
      given(case.predictorLabels),
      { ["serving.kserve.io/inferenceservice"] = case.name, component = "predictor" }
    ),
    annotations = next(annotations) and annotations, -- none at all are left out
  },
}
