-- One recorded call of ReplacePlaceholders.
local case = input["in"]
return {
  container = perigee.placeholders.replace(case.container, case.metadata, { compat = "kserve" }),
  error = perigee.null,
}
