-- One recorded call of computeRayNodeAndGPUs.
local case = input["in"]
local function requested(resource, text)
  local resources = text ~= "" and { requests = { [resource] = text } } or nil
  local found = perigee.gpu.requested(resources, nil, { compat = "kserve" })
  return { requested = found and found.count or 0 }
end
local topology, refusal = perigee.gpu.ray({
  tensor_parallel = case.totalRequestGPUCount,
  pipeline_parallel = 1,
  head = requested(case.headResource, case.headRequest),
  worker = requested(case.workerResource, case.workerRequest),
})
topology = topology or { nodes = 0, head_gpus = 0, worker_gpus = 0 }
return {
  nodeCount = topology.nodes,
  headNodeGPUCount = topology.head_gpus,
  workerNodeGPUCount = topology.worker_gpus,
  error = refusal or perigee.null,
}
