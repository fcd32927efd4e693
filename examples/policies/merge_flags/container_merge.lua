-- SPDX-License-Identifier: Apache-2.0
--- Merge arguments flag by flag. A flag of the service replaces the runtime's flag of the same
--- name, whether it is written `--port=8080` or `--port 8080`; the runtime's other flags stay.
--- Flags of the option `locked` cannot be replaced.
local M = { api = "container_merge/v1", options = { locked = { "--model_name" } } }

local flags = perigee.flags

function M.args(runtime_args, service_args, _container_name)
  local given = service_args or {}
  for _, name in ipairs(options.locked) do
    if flags.get(runtime_args, name) ~= nil then
      given = flags.remove(given, name)
    end
  end
  return flags.merge(runtime_args, given)
end

return M
