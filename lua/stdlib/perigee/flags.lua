-- SPDX-License-Identifier: Apache-2.0
--- Command-line arguments: --name=value, --name value, --name, -n value. A word after a flag that
--- does not begin with a dash is taken as the flag's value. Lists that come back are new.
---@class perigee.flags
local M = {}

---@class perigee.Flag
---@field name? string   "--port"; nil: a word that belongs to no flag
---@field value? string
---@field words string[] as they stood in the list

local function is_flag(word)
  return word:sub(1, 1) == "-" and #word > 1 and not word:match("^%-%d") and word ~= "--"
end

--- The arguments as flags and other words, in order. After a word "--" nothing is a flag.
---@param args string[]|perigee.View|nil
---@return perigee.Flag[]
function M.parse(args)
  local flags, i = {}, 1
  local count = args and args ~= perigee.null and #args or 0
  local only_words = false
  while i <= count do
    local word = args[i]
    local name, value = word:match("^(%-[^=]+)=(.*)$")
    if only_words or not is_flag(word) then
      only_words = only_words or word == "--"
      flags[#flags + 1] = { words = { word } }
    elseif name then
      flags[#flags + 1] = { name = name, value = value, words = { word } }
    elseif i < count and not is_flag(args[i + 1]) and args[i + 1] ~= "--" then
      flags[#flags + 1] = { name = word, value = args[i + 1], words = { word, args[i + 1] } }
      i = i + 1
    else
      flags[#flags + 1] = { name = word, words = { word } }
    end
    i = i + 1
  end
  return flags
end

--- wanted: of a flag; nil: all of them.
local function words_of(flags, wanted)
  local words = {}
  for _, flag in ipairs(flags) do
    if not wanted or wanted(flag) then
      for _, word in ipairs(flag.words) do
        words[#words + 1] = word
      end
    end
  end
  return words
end

local function append(words, more)
  for _, word in ipairs(more) do
    words[#words + 1] = word
  end
  return words
end

--- The arguments up to a word "--", as flags, and those from it on: "--" and words that are no
--- flags, whatever they look like.
local function split(args)
  local head, tail = {}, {}
  for _, flag in ipairs(M.parse(args)) do
    local is_end = #tail > 0 or flag.words[1] == "--"
    append(is_end and tail or head, is_end and flag.words or { flag })
  end
  return head, tail
end

--- The value of the last flag of that name: a text, true for one without a value, nil when there is
--- none.
---@param args string[]|perigee.View|nil
---@param name string
---@return string|true|nil
function M.get(args, name)
  local found
  for _, flag in ipairs(M.parse(args)) do
    if flag.name == name then
      found = flag.value or true
    end
  end
  return found
end

--- The arguments without the flags of that name and their values.
---@param args string[]|perigee.View|nil
---@param name string
---@return string[]
function M.remove(args, name)
  return words_of(M.parse(args), function(flag)
    return flag.name ~= name
  end)
end

--- The arguments with --name=value in place of the first flag of that name, or behind the last
--- argument (before a word "--"); further ones go away. value nil: the flag alone.
---@param args string[]|perigee.View|nil
---@param name string
---@param value string?
---@return string[]
function M.set(args, name, value)
  local flags, rest = split(args)
  local word, seen = value and name .. "=" .. value or name, false
  for _, flag in ipairs(flags) do
    if flag.name == name then
      flag.words = seen and {} or { word }
      seen = true
    end
  end
  local words = words_of(flags)
  if not seen then
    words[#words + 1] = word
  end
  return append(words, rest)
end

--- Two lists of arguments as one: flags of `over` replace all of the same name in `base`, whatever
--- their form; what is left of both is kept, base first. A word "--" and what follows it come last.
---@param base string[]|perigee.View|nil
---@param over string[]|perigee.View|nil
---@return string[]
function M.merge(base, over)
  local given, rest = split(over)
  local kept, kept_rest = split(base)
  local replaced = {}
  for _, flag in ipairs(given) do
    if flag.name then
      replaced[flag.name] = true
    end
  end
  local words = words_of(kept, function(flag)
    return not (flag.name and replaced[flag.name])
  end)
  append(append(words, words_of(given)), kept_rest)
  if #kept_rest > 0 then
    table.remove(rest, 1) -- one "--" is enough
  end
  return append(words, rest)
end

return M
