---@meta
-- SPDX-License-Identifier: Apache-2.0
-- Types of the global `perigee` for editors (LuaLS). Nothing here runs: the values are made in C (core/policy/library.c,
-- core/policy/natives.c, core/stdlib/natives.c), the modules are the files of lua/stdlib/perigee.
error("this file declares types for editors and is not run")

--- A read-only view of a part of an object: index, #, pairs, ipairs, next, == and tostring work as
--- on a table. null is perigee.null, absent is nil.
---@class perigee.View
---@field [string] any
---@field [integer] any

---@class perigee
---@field null lightuserdata JSON null, which is neither nil nor false
---@field config perigee.View the effective configuration; inside functions only
---@field compat perigee.Compat what is mended; inside functions only
---@field shipped perigee.shipped functions of the shipped policies, for files that change a part of one
---@field runtimes perigee.runtimes
---@field labels perigee.labels
---@field selectors perigee.selectors
---@field versions perigee.versions
---@field images perigee.images
---@field flags perigee.flags
---@field json perigee.json
---@field explain perigee.explain
---@field times perigee.times
---@field lua51 perigee.lua51
---@field karmada perigee.karmada
---@field podspec perigee.podspec
---@field placeholders perigee.placeholders
---@field image perigee.image
---@field gpu perigee.gpu
---@field storage perigee.storage
---@field meta perigee.meta
---@field quantity perigee.quantity
perigee = {}

--- The table itself, a list even when it is empty. A view of a list gives a copy.
---@param list? table|perigee.View
---@return table
function perigee.array(list) end

--- The table itself, an object even when it is empty. A view of an object gives a copy.
---@param object? table|perigee.View
---@return table
function perigee.object(object) end

--- A view as tables that can be changed, null, [] and {} kept apart; other values as they are.
---@generic T
---@param value T
---@return T
function perigee.copy(value) end

--- What JSON calls the value.
---@param value any
---@return "object"|"array"|"string"|"number"|"boolean"|"null"|"nothing"|"function"|"userdata"
function perigee.kind(value) end

--- The options of the policy: the defaults in M.options, with the set's policies.yaml over them.
---@type perigee.View
options = {}

---@class perigee.CompatOption
---@field compat? "kserve"|"fixed"|table<string, boolean>

--- How the planner merges pod specs.
---@class perigee.podspec
---@field merge_container fun(runtime: table, service: table, options?: perigee.CompatOption): perigee.View the merged container
---@field merge fun(runtime_spec: table, service_container: table, service_spec: table, target: string, options?: perigee.CompatOption): perigee.View {container, podSpec, index}

--- Placeholders in containers of runtimes.
---@class perigee.placeholders
---@field replace fun(container: table, metadata: table, options?: perigee.CompatOption): perigee.View the container with {{.Name}} and the like replaced

--- GPUs and nodes.
---@class perigee.gpu
---@field ray fun(request: perigee.TopologyRequest): perigee.Topology?, string? nodes and GPUs for Ray, or nil and why the GPUs do not suffice
---@field mp fun(request: perigee.TopologyRequest): perigee.Topology nodes and GPUs for multiprocessing
---@field requested fun(resources: table, types?: string[], options?: perigee.CompatOption): {resource: string, count: integer}? the GPUs of a container's resources

--- Storage URIs.
---@class perigee.storage
---@field validate_uri fun(uri: string, storage_containers: table): string?, string? why it is supported, or nil and why not

--- Maps of labels and annotations as the planner treats them.
---@class perigee.meta
---@field union fun(...: table|perigee.View|nil): perigee.View maps laid over each other, later ones win
---@field filter fun(map: table|perigee.View, disallowed: string[]|perigee.View): perigee.View the map without the keys of the list
