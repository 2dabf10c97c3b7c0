"""Checks PowerShell scripts that belong together, without PowerShell. Prints each problem with file and line.

Usage: powershell_check.py [--commands LIST.json] FILE...

The exit code is 1 if there are problems. The grammar is tree-sitter's. powershell_commands.py makes LIST.json; without it,
the rules about the commands of Windows are skipped. The other rules are in the style of PSScriptAnalyzer, which needs PowerShell.
"""

import json
import re
import sys

import tree_sitter
import tree_sitter_powershell

# The verbs of Get-Verb in Windows PowerShell 5.1 that scripts for drivers may need.
VERBS = set(
    "Add Assert Clear Close Compare Complete Confirm Convert ConvertFrom ConvertTo Copy Deny Disable Disconnect Edit "
    "Enable Enter Exit Expand Export Find Format Get Hide Import Initialize Install Invoke Join Limit Lock Measure Merge "
    "Mount Move New Open Out Pop Push Read Receive Redo Register Remove Rename Repair Request Reset Resolve Restart "
    "Restore Resume Revoke Save Search Select Send Set Show Split Start Stop Submit Suspend Switch Sync Test Trace "
    "Unblock Undo Uninstall Unlock Unprotect Unregister Update Use Wait Watch Write".split()
)
# Verbs of pnputil that need Windows 10 2004 or later (Learn, "PnPUtil Command Syntax"), and the check that must guard
# them.
NEWER = re.compile(
    r"/(remove-device|restart-device|scan-devices|enum-devices|enum-devicetree|enable-device|disable-device|"
    r"enum-interfaces|enum-classes|enum-containers)\b"
)
GUARD = re.compile(r"\(Get-WindowsBuild\)\s+-ge\s+\$DeviceVerbsBuild")
# Programs of Windows that scripts may start by name.
PROGRAMS = {"cmd.exe", "sc.exe"}
# Commands that do not access files, so wildcards do not matter.
ANY_PATH = {"split-path"}
AUTOMATIC = {"_", "true", "false", "null", "args", "psscriptroot", "lastexitcode", "erroractionpreference"}

problems = []
names = sys.argv[1:]
windows = None
if names[:1] == ["--commands"]:
    with open(names[1], encoding="utf-8") as file:
        windows = json.load(file)
    names = names[2:]
known = {name.lower(): {each.lower() for each in parameters} for name, parameters in (windows or {"commands": {}})["commands"].items()}
programs = {each.lower() for each in (windows or {"programs": []})["programs"]}
common = {each.lower() for each in (windows or {"common": []})["common"]}


def text(node):
    return node.text.decode("ascii", "replace")


def find(node, kind):
    """Yields the nodes of a kind below a node, including the node."""
    if node.type == kind:
        yield node
    for child in node.children:
        yield from find(child, kind)


def parents(node):
    while node.parent is not None:
        node = node.parent
        yield node


def say(path, node, rule, what):
    problems.append("%s:%d: %s: %s" % (path, node.start_point[0] + 1, rule, what))


def errors(path, node):
    """Reports the outermost errors of a tree."""
    if node.is_error or node.is_missing:
        say(path, node, "syntax", repr(node.text[:60]))
        return
    for child in node.children:
        errors(path, child)


def parameters_of(function):
    """Returns the names in the function's param block."""
    block = next(find(function, "param_block"), None)
    found = find(block, "script_parameter") if block else ()
    return [text(next(find(each, "variable")))[1:].lower() for each in found]


def uses(tree):
    """Yields the variables that are read or written, including those in strings."""
    for node in find(tree, "variable"):
        yield re.sub(r"^[$@]\{?(script:|env:)?|\}$", "", text(node).lower())
    for node in find(tree, "braced_variable"):
        yield text(node).lower()[2:-1]


parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
trees = {}
for path in names:
    with open(path, "rb") as file:
        trees[path] = parser.parse(file.read()).root_node
    errors(path, trees[path])

functions, called, used = {}, set(), {}
for path, tree in trees.items():
    for node in find(tree, "function_statement"):
        name = text(next(find(node, "function_name")))
        if name.lower() in functions:
            say(path, node, "function", "%s is defined twice" % name)
        functions[name.lower()] = parameters_of(node)
        if name.split("-")[0] not in VERBS:
            say(path, node, "verb", "%s does not begin with an approved verb" % name)
        inside = list(uses(node))
        for parameter in functions[name.lower()]:
            if inside.count(parameter) < 2:
                say(path, node, "parameter", "$%s of %s is not used" % (parameter, name))
    for name in uses(tree):
        used[name] = used.get(name, 0) + 1


def check_command(path, node):
    named = next((child for child in node.children if child.type == "command_name"), None)
    if named is None:
        return
    name, elements = text(named), next((c for c in node.children if c.type == "command_elements"), None)
    called.add(name.lower())
    own = functions.get(name.lower())
    if own is None and name.lower() not in PROGRAMS:
        if "-" not in name:
            say(path, node, "alias", "%s is an alias or a program without its extension" % name)
        elif windows and name.lower() not in known:
            say(path, node, "command", "%s is not a command of Windows PowerShell 5.1 on %s" % (name, windows["source"]))
    if elements is None:
        return
    accepted = set(own) if own is not None else known.get(name.lower())
    given, positional, expects = set(), 0, False
    for element in elements.children:
        if element.type == "command_parameter":
            given.add(text(element)[1:].rstrip(":").lower())
            expects = True
        elif element.type != "command_argument_sep":
            positional += 0 if expects else 1
            expects = False
        if name == "Invoke-Program" and positional == 1 and element.type == "generic_token":
            program = text(element).lower()
            if windows and program not in programs and program + ".exe" not in programs:
                say(path, element, "program", "Windows has no program %s" % program)
        if element.type == "generic_token" and "\\" in text(element):
            say(path, element, "quotes", "%s is a path without quotes" % text(element))
    if name.lower() in PROGRAMS or accepted is None:
        return
    for parameter in given - accepted - (common if own is None else set()):
        say(path, node, "parameter", "%s has no -%s" % (name, parameter))
    if own is not None and positional > len(own):
        say(path, node, "parameter", "%s takes %d arguments, %d are given" % (name, len(own), positional))
    if "literalpath" in accepted and "literalpath" not in given and name.lower() not in ANY_PATH:
        if positional or given & {"path", "filepath"}:
            say(path, node, "literal-path", "%s treats brackets in a path as wildcards; use -LiteralPath" % name)


for path, tree in trees.items():
    for node in find(tree, "command"):
        check_command(path, node)
    for kind in ("verbatim_string_characters", "expandable_string_literal", "generic_token"):
        for node in find(tree, kind):
            if NEWER.search(text(node)):
                conditions = [text(each).split("{")[0] for each in parents(node) if each.type == "if_statement"]
                if not any(GUARD.search(each) for each in conditions):
                    say(path, node, "windows-version", "%s needs Windows 10 2004, and nothing checks that" % text(node))
    for node in find(tree, "comparison_expression"):
        if node.child_count == 3 and text(node.children[2]).lower() == "$null":
            say(path, node, "null", "$null belongs on the left of a comparison")
    for node in find(tree, "assignment_expression"):
        target = text(node.children[0])
        simple = re.fullmatch(r"\$(\w+)", target)
        if simple and simple[1].lower() not in AUTOMATIC and used.get(simple[1].lower(), 0) < 2:
            say(path, node, "variable", "%s is assigned and not used" % target)
for name in functions:
    if name not in called:
        problems.append("%s: function: it is defined and not called" % name)

print("\n".join(problems))
sys.exit(1 if problems else 0)
