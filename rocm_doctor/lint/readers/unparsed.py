"""Statements of a shell text that the grammar could not parse and that swallowed the lines behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

# What has no statements inside: an error in one of them is its own.
_SIMPLE = frozenset(("command", "variable_assignment", "declaration_command", "test_command", "string", "expansion"))
_STATEMENTS = frozenset((
    "command", "comment", "variable_assignment", "declaration_command", "if_statement", "case_statement", "for_statement", "while_statement",
    "function_definition", "list", "pipeline", "redirected_statement", "subshell", "compound_statement", "\n",
))  # fmt: skip


def broken(node: Node) -> bool:
    """True if a statement could not be parsed and took more than its own line."""
    if node.type == "ERROR":
        return node.start_point[0] != node.end_point[0]
    return node.has_error and node.type in _SIMPLE and any(broken(child) for child in node.children)


def parts(node: Node) -> tuple[list[Node], int]:
    """The statements at the beginning of a broken one that are whole, and the row where what could not be parsed begins."""
    whole: list[Node] = []
    for child in node.children if node.type == "ERROR" else [node]:
        if child.type not in _STATEMENTS or broken(child):
            return whole, child.start_point[0]
        whole.append(child)
    return whole, node.end_point[0]
