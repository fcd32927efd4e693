# SPDX-License-Identifier: Apache-2.0
"""perigee types, read by a checker that is not ours: emmylua_check (crates.io), which knows LuaLS' annotations.

It is looked for in $EMMYLUA_CHECK, in PATH and where scripts/nightly installs it."""
import json
import os
import re
import shutil
import subprocess
import unittest

from support import ROOT, Case, read_file

CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
INSTALLED = os.path.join(CACHE, "perigee", "emmylua", "bin", "emmylua_check")
CHECKER = os.environ.get("EMMYLUA_CHECK") or shutil.which("emmylua_check") or (
    INSTALLED if os.access(INSTALLED, os.X_OK) else None)


@unittest.skipUnless(CHECKER, "emmylua_check is not installed; scripts/nightly installs it where there is cargo")
class Editor(Case):
    def setUp(self):
        super().setUp()
        self.run_perigee("types", self.path("types"))
        # What the guide tells authors to put into .luarc.json.
        guide = read_file(ROOT, "docs", "policy-guide.md")
        settings = json.loads(re.search(r'^\{"runtime\.version".*\}$', guide, re.M).group(0))
        settings["workspace.library"] = [self.path("types")]
        # The checker follows values through loops and tables less well than it believes.
        settings["diagnostics.disable"] = ["unnecessary-if"]
        self.write("luarc.json", json.dumps(settings))

    def findings(self, folder):
        """(file, line, column, code, message) of all that the checker says, specs aside (they are busted's)."""
        done = subprocess.run([CHECKER, "-c", self.path("luarc.json"), "-i", "**/*_spec.lua", "-f", "json", folder],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
        files = json.loads(done.stdout)
        self.assertTrue(files, done.stderr)
        return sorted((os.path.relpath(f["file"], folder), d["range"]["start"]["line"] + 1,
                       d["range"]["start"]["character"] + 1, d["code"], d["message"])
                      for f in files for d in f["diagnostics"])

    def test_the_shipped_policies_are_clean(self):
        self.run_perigee("policies", "export", self.path("set"))
        self.assertEqual(self.findings(self.path("set")), [])

    def test_the_cookbook_is_clean(self):
        self.assertEqual(self.findings(os.path.join(ROOT, "examples", "policies")), [])

    def test_misspelled_names_are_found_where_they_are(self):
        self.write("set/image.lua", """\
---@type perigee.ImagePolicy
local M = { api = "image/v1" }

function M.tag(image, request)
  local model = request.service.spec.predictor.model
  if model.storageUrl then
    return nil
  end
  return image .. request.runtime_nam
end

return M
""")
        self.write("set/runtime_selection.lua", """\
---@type perigee.RuntimeSelectionPolicy
local M = { api = "runtime_selection/v1" }

function M.accept(candidate, request)
  for _, container in ipairs(candidate.spec.containers) do
    if container.imagePullPolicies == "Never" then
      return false, perigee.flags.gett(container.args, "x")
    end
  end
  if nope then
    return false
  end
  return perigee.shipped.runtime_selection.acept(candidate, request)
end

return M
""")
        found = [(file, line, column, code, re.search(r"storageUrl|runtime_nam|imagePullPolicies|gett|nope|acept", message).group(0))
                 for file, line, column, code, message in self.findings(self.path("set"))]
        self.assertEqual(found, [
            ("image.lua", 6, 12, "undefined-field", "storageUrl"),
            ("image.lua", 9, 27, "undefined-field", "runtime_nam"),
            ("runtime_selection.lua", 6, 18, "undefined-field", "imagePullPolicies"),
            ("runtime_selection.lua", 7, 35, "undefined-field", "gett"),
            ("runtime_selection.lua", 10, 6, "undefined-global", "nope"),
            ("runtime_selection.lua", 13, 44, "undefined-field", "acept"),
        ])

    def test_our_own_check_finds_the_same_fields(self):
        self.write("set/image.lua", """\
---@type perigee.ImagePolicy
local M = { api = "image/v1" }

function M.tag(image, request)
  return request.service.spec.predictor.model.storageUrl or image
end

return M
""")
        out, _ = self.run_perigee("check", self.path("set"), "-o", "json", code=1)
        ours = [(f["line"], f["column"], f["rule"]) for f in json.loads(out)["findings"]]
        theirs = [(line, column, code) for _, line, column, code, _ in self.findings(self.path("set"))]
        self.assertEqual(ours, theirs)


if __name__ == "__main__":
    unittest.main()
