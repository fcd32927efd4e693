-- One recorded call of computeMpNodeAndGPUs.
local case = input["in"]
local topology = perigee.gpu.mp({
  pipeline_parallel = case.pipelineParallelSize,
  tensor_parallel = case.tensorParallelSize,
})
return {
  nodeCount = topology.nodes,
  headNodeGPUCount = topology.head_gpus,
  workerNodeGPUCount = topology.worker_gpus,
}
