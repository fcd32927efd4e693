-- SPDX-License-Identifier: Apache-2.0
--- Replace instead of append arguments. A service that gives arguments gives all of them; without
--- any the runtime's stand.
local M = { api = "container_merge/v1" }

function M.args(runtime_args, service_args, _container_name)
  if service_args and #service_args > 0 then
    return service_args
  end
  return runtime_args
end

return M
