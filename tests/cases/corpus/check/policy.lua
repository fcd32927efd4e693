local M = { api = "runtime_selection/v1", options = { a = 1, ["b c"] = {} } }
--- doc
---@param c perigee.Candidate
---@return {a: string, b?: fun(x: integer[]|nil, ...: any): table<string, k8s.Pod>?, string}
local function f(c, ...) return c.spec.containers[1].imag or f(c) end
function M.accept(candidate, request, more)
  for i, x in ipairs(candidate.spec.containers or {}) do f(x) end
  for k, v in pairs(request.service.metadata.labels) do k = v:uper() end
  goto done
  ::done:: return os.time(), request.format.nme, options.b, perigee.json.at(request, "service", "spce")
end
M.before = function(a) return a.name < undefined end
return M
