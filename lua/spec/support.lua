-- SPDX-License-Identifier: Apache-2.0
--- What require("support.perigee") gives a spec in the sandbox. tests/lua/support/perigee.lua has
--- the same functions for stock busted. Here a policy runs as it does in a plan: anew for each
--- call, its tables turned into views, its own options, and the real C functions.
local host = ...

local support = { null = perigee.null }

--- The policy NAME of the set under test. fields: config, compat, options, and whatever else is to
--- stand in for a part of `perigee`.
function support.policy(name, fields)
  local shape, policy = host.run(name, fields or {}), {}
  for key, value in pairs(shape) do
    if type(value) == "function" then
      policy[key] = function(...)
        return host.call(name, fields or {}, key, ...)
      end
    else
      policy[key] = value
    end
  end
  return policy
end

function support.module(name)
  return perigee[name] or error("no module " .. tostring(name), 2)
end

function support.perigee(fields)
  return setmetatable(fields or {}, { __index = perigee })
end

--- The text of a file below the folder of fixtures.
function support.read(path)
  return host.read(path)
end

--- A JSON text as a view.
function support.decode(text)
  return perigee.json.decode(text)
end

--- The lines of a file of JSON lines.
function support.lines(path)
  local rows = {}
  for line in host.read(path):gmatch("[^\n]+") do
    rows[#rows + 1] = perigee.json.decode(line)
  end
  return rows
end

--- A table as a view, as policies get their arguments.
function support.view(value)
  return host.view(value)
end

--- The objects of a YAML or JSON file, as views.
function support.objects(path)
  return host.objects(path)
end

--- The objects of a YAML text.
function support.yaml(text)
  return host.yaml(text)
end

--- Asks accept for each candidate and sorts the accepted ones by before. Returns the accepted ones,
--- and what accept said about each name.
function support.select(policy, request, candidates)
  local accepted, said = {}, {}
  for _, candidate in ipairs(candidates) do
    local yes, reason, code = policy.accept(candidate, request)
    said[candidate.name] = { yes, reason, code }
    if yes then
      local at = #accepted + 1
      while at > 1 and policy.before(candidate, accepted[at - 1], request) do
        at = at - 1
      end
      table.insert(accepted, at, candidate)
    end
  end
  return accepted, said
end

return support
