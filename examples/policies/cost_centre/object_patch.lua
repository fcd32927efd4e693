-- SPDX-License-Identifier: Apache-2.0
--- Copy cost-centre labels to all children. The labels named by the option `labels` go from the
--- service to every rendered object and to its pods, so that a bill by label finds them. Labels
--- that are there already win.
local M = {
  api = "object_patch/v1",
  options = { labels = { "cost-centre", "team", "environment" } },
}

local json, labels = perigee.json, perigee.labels

--- The wanted labels that `present` lacks; nil when there is none.
local function missing(wanted, present)
  local added
  for key, value in pairs(wanted) do
    if not present or present[key] == nil then
      added = added or {}
      added[key] = value
    end
  end
  return added
end

function M.patch(object, service)
  local wanted = labels.pick(json.at(service, "metadata", "labels"), options.labels)
  local own = missing(wanted, json.at(object, "metadata", "labels"))
  local template = json.at(object, "spec", "template", "metadata")
  local pods = template and missing(wanted, json.at(template, "labels"))
  if not own and not pods then
    return nil
  end
  return {
    metadata = own and { labels = own },
    spec = pods and { template = { metadata = { labels = pods } } },
  }
end

return M
