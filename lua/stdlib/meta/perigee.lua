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
---@field null lightuserdata JSON null
---@field config perigee.View the effective configuration; inside functions only
---@field compat perigee.Compat what is mended; inside functions only
---@field shipped perigee.shipped
---@field runtimes perigee.runtimes
---@field labels perigee.labels
---@field selectors perigee.selectors
---@field versions perigee.versions
---@field images perigee.images
---@field flags perigee.flags
---@field json perigee.json
---@field explain perigee.explain
---@field times perigee.times
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

---@class perigee.podspec
---@field merge_container fun(runtime: table, service: table, options?: perigee.CompatOption): perigee.View
---@field merge fun(runtime: table, container: table, service: table, target: string, options?: perigee.CompatOption): perigee.View

---@class perigee.placeholders
---@field replace fun(container: table, metadata: table, options?: perigee.CompatOption): perigee.View

---@class perigee.image
---@field tag fun(image: string, request: perigee.ImageRequest, options?: perigee.CompatOption): string

---@class perigee.gpu
---@field ray fun(request: perigee.TopologyRequest): perigee.Topology?, string?
---@field mp fun(request: perigee.TopologyRequest): perigee.Topology
---@field requested fun(resources: table, types?: string[], options?: perigee.CompatOption): {resource: string, count: integer}?

---@class perigee.storage
---@field validate_uri fun(uri: string, storage_containers: table): string?, string?

---@class perigee.meta
---@field union fun(...: table|perigee.View|nil): perigee.View
---@field filter fun(map: table|perigee.View, disallowed: string[]|perigee.View): perigee.View
