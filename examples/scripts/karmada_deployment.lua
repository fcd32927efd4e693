-- SPDX-License-Identifier: Apache-2.0
-- Interpreters of a Deployment as Karmada calls them.
--   perigee eval examples/scripts/karmada_deployment.lua --call GetReplicas --all-results --input deployments.ndjson
--   perigee eval examples/scripts/karmada_deployment.lua --call ReviseReplica --spread --input arguments.ndjson
local kube = require("kube")

function GetReplicas(obj)
  replica = obj.spec.replicas
  requirement = kube.accuratePodRequirements(obj.spec.template)
  return replica, requirement
end

function ReviseReplica(obj, desiredReplica)
  obj.spec.replicas = desiredReplica
  return obj
end

function Retain(desiredObj, observedObj)
  desiredObj.spec.paused = observedObj.spec.paused
  return desiredObj
end

function InterpretHealth(observedObj)
  return observedObj.status.updatedReplicas == observedObj.spec.replicas
end

function GetDependencies(desiredObj)
  return kube.getPodDependencies(desiredObj.spec.template, desiredObj.metadata.namespace)
end
