-- One recorded call of MergeServingRuntimeAndInferenceServiceSpecs. What it writes into the status of a service that fails is
-- compared in the reconcile cases; without an error it leaves an empty model status.
local case = input["in"]
local merged, refusal =
  perigee.podspec.merge(case.runtimePodSpec, case.isvcContainer, case.isvcPodSpec, case.targetContainerName, { compat = "kserve" })
if not merged then
  return { index = 0, error = refusal }
end
return {
  container = merged.container,
  podSpec = merged.podSpec,
  index = merged.index,
  error = perigee.null,
  isvcStatus = { modelStatus = { transitionStatus = "" } },
}
