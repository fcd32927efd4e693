-- One recorded call of computeRayNodeAndGPUs.
local case = input["in"]
local function requested(text)
  return text == "" and 0 or perigee.quantity.parse(text).value
end
local topology, refusal =
  perigee.gpu.ray(case.totalRequestGPUCount, requested(case.headRequest), requested(case.workerRequest))
topology = topology or { nodes = 0, head_gpus = 0, worker_gpus = 0 }
return {
  nodeCount = topology.nodes,
  headNodeGPUCount = topology.head_gpus,
  workerNodeGPUCount = topology.worker_gpus,
  error = refusal or perigee.null,
}
