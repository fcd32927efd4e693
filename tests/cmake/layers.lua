-- SPDX-License-Identifier: Apache-2.0
--- Checks that includes in core/ point down the layers only: lua5.4 layers.lua CORE_FOLDER, or --self-test.
-- Prints each offending line as FILE:LINE: what, and exits 1 when there is one.

-- What each module may include of the others, lowest layer first. A module may always include itself.
local MODULES = {
  { name = "base", uses = {} },
  { name = "json", uses = { "base" } },
  { name = "yaml", uses = { "base", "json" } },
  { name = "object", uses = { "base", "json" } },
  { name = "plan", uses = { "base", "json", "object", "policy/decision.h" } },
  { name = "store", uses = { "base", "json", "object" } },
  { name = "catalog", uses = { "base", "json", "object", "yaml", "store" } },
  { name = "policy", uses = { "base", "json", "object", "yaml" } },
  { name = "serving", uses = { "base", "json", "object", "plan", "policy/decision.h" } },
  { name = "learning", uses = { "base", "json", "object", "plan", "policy/decision.h" } },
  { name = "simulate", uses = { "base", "json", "object", "plan", "policy/decision.h", "learning" } },
  { name = "stdlib", uses = { "base", "json", "object", "plan", "policy", "serving", "learning" } },
  {
    name = "check",
    uses = { "base", "json", "yaml", "object", "plan", "store", "policy", "serving", "learning", "stdlib" },
  },
  { name = "kube", uses = { "base", "json", "yaml", "object", "store" } },
  { name = "httpd", uses = { "base" } },
  { name = "ops", uses = { "base", "httpd" } },
  {
    name = "edge",
    uses = { "base", "json", "object", "plan", "policy/decision.h", "learning", "httpd", "kube/timers.h" },
  },
  { name = "record", uses = { "base", "json", "object", "plan", "store", "policy", "learning" } },
  {
    name = "controller",
    uses = {
      "base", "json", "yaml", "object", "plan", "store", "catalog", "policy", "serving", "learning", "stdlib", "check",
      "kube", "httpd", "ops", "edge", "record",
    },
  },
  {
    name = "explain",
    uses = {
      "base", "json", "yaml", "object", "plan", "store", "policy", "serving", "learning", "edge", "controller",
    },
  },
  {
    name = "cli",
    uses = {
      "base", "json", "yaml", "object", "plan", "store", "catalog", "policy", "serving", "learning", "stdlib", "check",
      "kube", "httpd", "ops", "edge", "record", "controller", "explain", "simulate",
    },
  },
}

-- Headers of libraries: in which modules or files they may appear. A pattern of Lua, anchored at both ends.
-- cli/cmd_version.c prints the versions of the libraries.
local LIBRARIES = {
  { header = "cjson/.*", where = { "json" } },
  { header = "yaml%.h", where = { "yaml", "cli/cmd_version.c" } },
  { header = "lua[a-z]*%.h", where = { "policy", "cli/cmd_repl.c", "cli/cmd_version.c" } },
  { header = "lauxlib%.h", where = { "policy", "cli/cmd_repl.c" } },
  { header = "uv%.h", where = { "kube", "httpd", "ops", "edge", "controller", "cli" } },
  { header = "microhttpd%.h", where = { "httpd", "ops", "edge", "cli/cmd_version.c" } },
  { header = "wslay/.*", where = { "edge" } },
  { header = "openssl/.*", where = { "edge" } },
  { header = "curl/.*", where = { "kube", "cli/cmd_version.c" } },
  { header = "zstd%.h", where = { "record" } },
  { header = "pcre2%.h", where = { "serving", "cli/cmd_version.c" } },
}

-- Modules without files, clocks, processes or threads, and the system headers that would bring them.
local PURE = {
  json = true, object = true, plan = true, serving = true, learning = true, simulate = true, stdlib = true,
}
local IMPURE_HEADERS = {
  "unistd%.h", "fcntl%.h", "dirent%.h", "time%.h", "signal%.h", "poll%.h", "pthread%.h", "spawn%.h", "netdb%.h",
  "sys/.*", "netinet/.*", "arpa/.*",
}

local by_name = {}
for _, module in ipairs(MODULES) do
  by_name[module.name] = module
end

local function anchored(text, pattern)
  return text:find("^" .. pattern .. "$") ~= nil
end

local function contains(list, item)
  for _, x in ipairs(list) do
    if x == item then
      return true
    end
  end
  return false
end

--- Why the file may not have the include, or nil.
---@param file string "json/value.c"
---@param include string "base/arena.h"
local function refusal(file, include)
  local own = file:match("^([^/]+)/")
  local module = by_name[own]
  if not module then
    return "module '" .. tostring(own) .. "' is not in the table of tests/cmake/layers.lua"
  end
  local other = include:match("^([^/]+)/")
  if by_name[other] then
    if other == own or contains(module.uses, other) or contains(module.uses, include) then
      return nil
    end
    local may = #module.uses > 0 and table.concat(module.uses, ", ") or "nothing"
    return string.format("%s may not include %s (it may use: %s)", own, include, may)
  end
  for _, library in ipairs(LIBRARIES) do
    if anchored(include, library.header) and not (contains(library.where, own) or contains(library.where, file)) then
      return string.format("%s belongs in %s only", include, table.concat(library.where, ", "))
    end
  end
  if PURE[own] then
    for _, header in ipairs(IMPURE_HEADERS) do
      if anchored(include, header) then
        return string.format("%s does no I/O and has no clock, so no %s", own, include)
      end
    end
  end
  return nil
end

--- Refusals in the text of a file, as "file:line: why".
local function check_text(file, text)
  local found, number = {}, 0
  for line in (text .. "\n"):gmatch("(.-)\n") do
    number = number + 1
    local include = line:match('^%s*#%s*include%s*[<"]([^>"]+)[>"]')
    local why = include and refusal(file, include)
    if why then
      found[#found + 1] = string.format("%s:%d: %s", file, number, why)
    end
  end
  return found
end

local function check_tree(core)
  local list = assert(io.popen("find '" .. core .. "' -name '*.[ch]' | LC_ALL=C sort"))
  local files, bad = 0, 0
  for path in list:lines() do
    local file = path:sub(#core + 2)
    local handle = assert(io.open(path, "rb"))
    for _, line in ipairs(check_text(file, handle:read("a"))) do
      print("core/" .. line)
      bad = bad + 1
    end
    handle:close()
    files = files + 1
  end
  list:close()
  print(string.format("%d files, %d includes against the layers", files, bad))
  return files > 0 and bad == 0
end

local function self_test()
  local cases = {
    -- file, include, part of the refusal or nil
    { "json/value.c", '#include "base/arena.h"' },
    { "json/value.c", '#include "json/value.h"' },
    { "json/value.c", "#include <string.h>" },
    { "json/value.h", "#include <cjson/cJSON.h>" },
    { "serving/plan.c", '#include "policy/decision.h"' },
    { "plan/plan.h", '#include "policy/decision.h"' },
    { "cli/cmd_version.c", "#include <lua.h>" },
    { "cli/cmd_repl.c", "#include <lauxlib.h>" },
    { "controller/run.c", "#include <uv.h>" },
    { "catalog/folder.c", "#include <unistd.h>" },
    { "base/clock.c", "#include <time.h>" },
    { "json/value.c", "// #include \"serving/plan.h\"" },
    { "json/value.c", '#include "serving/plan.h"', "json may not include serving/plan.h (it may use: base)" },
    { "base/arena.c", '#include "json/value.h"', "it may use: nothing" },
    { "serving/plan.c", '#include "policy/policy.h"', "serving may not include policy/policy.h" },
    { "serving/plan.c", '#include "yaml/load.h"', "serving may not include yaml/load.h" },
    { "policy/vm.c", '#include "serving/plan.h"', "policy may not include serving/plan.h" },
    { "store/store.h", '#include "catalog/catalog.h"', "store may not include" },
    { "controller/run.c", '#include "cli/cli.h"', "controller may not include cli/cli.h" },
    { "serving/plan.c", "#include <lua.h>", "lua.h belongs in policy" },
    { "cli/main.c", "#include <lualib.h>", "lualib.h belongs in" },
    { "stdlib/gpu.c", "# include <lauxlib.h>", "lauxlib.h belongs in" },
    { "object/meta.c", "#include <cjson/cJSON.h>", "belongs in json only" },
    { "serving/plan.c", "#include <uv.h>", "uv.h belongs in kube, httpd, ops, edge, controller, cli" },
    { "catalog/folder.c", "#include <yaml.h>", "yaml.h belongs in yaml" },
    { "serving/plan.c", "#include <time.h>", "has no clock" },
    { "json/read.c", "  #include <sys/stat.h>", "does no I/O" },
    { "newmodule/x.c", "#include <string.h>", "is not in the table" },
  }
  local failed = 0
  for _, case in ipairs(cases) do
    local file, line, want = table.unpack(case)
    local got = check_text(file, "// first line\n" .. line .. "\n")
    local ok
    if want then
      ok = #got == 1 and got[1]:find(want, 1, true) and got[1]:find(file .. ":2: ", 1, true) == 1
    else
      ok = #got == 0
    end
    if not ok then
      print(string.format("FAIL %s with %s: got %s", file, line, got[1] or "no refusal"))
      failed = failed + 1
    end
  end
  -- A lower layer never uses a higher one.
  local seen = {}
  for _, module in ipairs(MODULES) do
    for _, used in ipairs(module.uses) do
      local module_used = used:match("^([^/]+)/") or used -- "kube/timers.h": that header of it alone
      if not seen[module_used] and used ~= "policy/decision.h" then
        print(string.format("FAIL %s uses %s, which stands above it", module.name, used))
        failed = failed + 1
      end
    end
    seen[module.name] = true
  end
  print(string.format("%d cases, %d failed", #cases, failed))
  return failed == 0
end

local mode = arg[1]
if not mode then
  io.stderr:write("usage: layers.lua CORE_FOLDER | --self-test\n")
  os.exit(2)
end
local ok
if mode == "--self-test" then
  ok = self_test()
else
  ok = check_tree(mode)
end
os.exit(ok and 0 or 1)
