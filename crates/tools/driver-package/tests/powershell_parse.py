"""Parses PowerShell scripts with tree-sitter's grammar: names each place that it does not understand, and ends with 1."""

import sys

import tree_sitter
import tree_sitter_powershell

parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
wrong = 0


def walk(path, node):
    """The outermost errors of a tree."""
    global wrong
    if node.is_error or node.is_missing:
        wrong = 1
        print("%s:%d: %r" % (path, node.start_point[0] + 1, node.text[:60]))
        return
    for child in node.children:
        walk(path, child)


for path in sys.argv[1:]:
    with open(path, "rb") as file:
        walk(path, parser.parse(file.read()).root_node)
sys.exit(wrong)
