"""Commands of shell text by tree-sitter's bash grammar, each with the branches that it is in and with its words expanded.

Nothing is run. Variables that the text sets, arrays, default values and functions that it calls are followed; a value that only
a machine can give stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.lint.declared import Place
from rocm_doctor.lint.environments.branches import Arm, chosen, kind_of, runs
from rocm_doctor.lint.environments.words import Kind
from rocm_doctor.lint.readers import unparsed
from rocm_doctor.lint.readers.expansion import ALL_ARGUMENTS, EXPANSION, MAX_VALUE, filled, text_of, value_of, words_of
from rocm_doctor.lint.readers.files import quoted

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_TEXT = 2**20
MAX_COMMANDS = 10_000
MAX_DEPTH = 150
MAX_CALLS = 200
MAX_ANEW = 2**16
# A command that ends the script, or says by its name that it does.
_ENDS = regex(r"(?:^|[;&|({\n])\s*(?:exit|return|false|die|fail\w*|abort|err\w*|fatal)\b")
_TESTS = frozenset(("command", "which", "test", "[", "type", "hash", "grep", "lspci", "nvidia-smi", "rocm-smi", "rocminfo"))
_COMPARED = regex(r"""\[{1,2}\s+["']?\$\{?(\w+)\}?["']?\s+={1,2}\s+["']?([\w.+-]+)["']?\s+\]{1,2}\s*;?""")
# What is only passed through: its children are commands.
_PLAIN = frozenset((
    "program", "compound_statement", "pipeline", "do_group", "for_statement", "while_statement",
    "c_style_for_statement", "redirected_statement", "negated_command", "else_clause",
))  # fmt: skip
_PASSED_ON = ("redirected_statement", "pipeline")


class Command(NamedTuple):
    """One command with its assignments first (`NAME=value`), where it is written, and the arms that it is in, outermost first.

    `handed`: the text of the here-document that it gets. `whole`: the statement around it, if its output goes to a file or a command.
    `guarded`: where another command follows if it fails, that does not end the script.
    """

    words: list[str]
    place: Place
    arms: tuple[Arm, ...]
    assigned: int = 0
    handed: str = ""
    whole: str = ""
    guarded: bool = False


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def commands(
    file: str, text: str, first: int, names: dict[str, str], kind: Kind = "amd", given: frozenset[str] = frozenset()
) -> Iterator[Command]:
    """The commands of a text that run on hardware of that kind, in their order; `names` are the variables known before it and
    receive those that it sets. `given`: those that decide a branch whatever the hardware.
    """
    reading = _Reading(file, first, names, kind, text[:MAX_TEXT], given)
    root = _parser().parse(reading.text.encode("utf-8", "replace")).root_node
    reading.find_functions(root)
    yield from reading.of(root, (), 0)
    # A function that the text does not call may be called by another one.
    for name, body in [*reading.functions.items()]:
        if name not in reading.called:
            yield from reading.of(body, (Arm(body.start_byte, first, f"{name} is called"),), 0)


class _Reading:
    """The state of one pass over a text."""

    def __init__(
        self, file: str, first: int, names: dict[str, str], kind: Kind, text: str = "", given: frozenset[str] = frozenset()
    ) -> None:
        self.text = text
        self.anew = MAX_ANEW  # letters that may be parsed again
        self.file = file
        self.given = given
        self.first = first
        self.names = names
        self.kind = kind
        self.arms: list[Arm] = []
        self.functions: dict[str, Node] = {}
        self.called: set[str] = set()
        self.calls = 0
        self.call: Place | None = None
        self.left = MAX_COMMANDS
        self.handed = self.whole = ""
        self.doubtful: set[str] = set()
        """Variables that are set in a branch that may not run: a test of them decides nothing."""
        self.by_list: dict[tuple[str, str], str] = {}
        """A variable with a value that only a branch gives it of which a list of PCI devices decides, and the test of that branch."""

    def find_functions(self, root: Node) -> None:
        """The functions that are defined on the outer level or in a branch of it."""
        stack = [(root, 0)]
        while stack:
            node, depth = stack.pop()
            if node.type == "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is not None and body is not None:
                    self.functions[text_of(name)] = body
            elif depth < 6:
                stack += [(child, depth + 1) for child in node.named_children]

    def of(self, node: Node, arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        """The commands below a node."""
        if depth > MAX_DEPTH or self.left <= 0:
            return
        kind = node.type
        if kind == "command":
            yield from self._command(node, arms, depth)
        elif kind == "if_statement":
            yield from self._if(node, arms, depth)
        elif kind == "case_statement":
            yield from self._case(node, arms, depth)
        elif kind == "list":
            yield from self._list(node, arms, depth)
        elif kind in ("declaration_command", "variable_assignment"):
            yield from self._declaration(node, arms, depth)
        elif kind == "subshell":
            before = self.names.get("WORKDIR")
            yield from self._each(node.named_children, arms, depth)
            if before is not None:
                self.names["WORKDIR"] = before
        elif kind == "ERROR":
            yield from self._each([node] if unparsed.broken(node) else node.named_children, arms, depth)
        elif kind in _PLAIN:
            outer, self.handed = self.handed, _here_document(node) or self.handed
            around, self.whole = self.whole, self.whole or (text_of(node)[:MAX_VALUE] if node.type in _PASSED_ON else "")
            yield from self._each(node.named_children, arms, depth)
            self.handed, self.whole = outer, around

    def _each(self, nodes: Sequence[Node], arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        """The commands of statements, one after the other. Behind one that swallowed several lines, the lines are parsed anew."""
        for node in nodes if depth < MAX_DEPTH else ():
            if unparsed.broken(node):
                yield from self._resumed(node, nodes[-1].end_point[0], arms, depth)
                return
            yield from self.of(node, arms, depth + 1)

    def _resumed(self, node: Node, last: int, arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        """The commands behind the line that the grammar could not parse: in which branch or function they are is not known."""
        whole, row = unparsed.parts(node)
        for child in whole:
            yield from self.of(child, arms, depth + 1)
        lines = self.text.split("\n")
        rest = "\n".join(lines[row + 1 : last + 1])
        self.anew -= len(rest)
        inner = (*arms, Arm(-row, self.first + row, "what is before it was understood"))
        for at in range(row, last + 1 if self.anew < 0 else row + 1):
            self.left -= 1
            yield Command(lines[at].split(), Place(self.file, self.first + at, quoted(lines[at].strip())), inner)
        if rest and self.anew >= 0:
            root = _parser().parse(("\n" * (row + 1) + rest).encode("utf-8", "replace")).root_node
            self.find_functions(root)
            yield from self.of(root, inner, depth + 1)

    def _command(self, node: Node, arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        words: list[str] = []
        assigned = end = 0
        for child in node.named_children:
            begins, end = end, child.end_byte
            if words and child.start_byte == begins and words[-1].endswith("$"):
                words[-1] = filled(words[-1] + text_of(child), self.names)  # the grammar cuts `$A-$B-c` in two
            elif child.type == "variable_assignment":
                words.append(self._assigned(child, arms))
                assigned += 1
            elif child.type == "command_name":
                words += words_of(child.named_children[0] if child.named_children else child, self.names)
            elif child.type not in ("file_redirect", "herestring_redirect", "heredoc_redirect", "comment"):
                words += words_of(child, self.names)
        if assigned == len(words) and not words:
            return
        name = words[assigned] if assigned < len(words) else ""
        if name in self.functions and self.calls < MAX_CALLS:
            outer, self.call = self.call, self._place(node)
            yield from self._call(name, words[assigned + 1 :], arms, depth)
            self.call = outer
            return
        self.left -= 1
        # A command of a function that only passes on its arguments is written where the function is called.
        at = self.call if self.call and any(text_of(c) in ALL_ARGUMENTS for c in node.named_children) else self._place(node)
        yield Command(words, at, arms, assigned, self.handed, self.whole)

    def _call(self, name: str, arguments: list[str], arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        """The body of a function with its arguments; one that calls itself is read once."""
        self.calls += 1
        self.called.add(name)
        body = self.functions.pop(name)
        before = {k: self.names.get(k) for k in "@123456789"}
        self.names |= {str(n): word for n, word in enumerate(arguments[:9], 1)}
        self.names["@"] = "\0".join(arguments)[:MAX_VALUE]
        yield from self.of(body, arms, depth + 1)
        for key, value in before.items():
            if value is None:
                self.names.pop(key, None)
            else:
                self.names[key] = value
        self.functions[name] = body

    def _substituted(self, assignment: Node, arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        """The commands of `NAME=$(...)`, which are run for their output."""
        value = assignment.child_by_field_name("value")
        inner = value.named_children if value is not None and value.type == "string" else [value]
        for one in inner:
            for child in one.named_children if one is not None and one.type == "command_substitution" else ():
                yield from self.of(child, arms, depth + 1)

    def _declaration(self, node: Node, arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        found = (
            [node] if node.type == "variable_assignment" else [c for c in node.named_children if c.type == "variable_assignment"]
        )
        for one in found:
            yield from self._substituted(one, arms, depth)
        words = [self._assigned(one, arms) for one in found]
        if words:
            self.left -= 1
            exported = node.type == "declaration_command" and text_of(node).startswith(("export", "declare -x", "typeset -x"))
            yield Command([*words, *(["export"] if exported else [])], self._place(node), arms, len(words))

    def _assigned(self, node: Node, arms: tuple[Arm, ...]) -> str:
        """`NAME=value`; the variable is set for what follows. `+=` appends."""
        name_node, value_node = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = re.sub(r"\[.*", "", text_of(name_node)) if name_node is not None else ""
        (self.doubtful.discard if runs(arms, self.kind) else self.doubtful.add)(name)
        if value_node is not None and value_node.type == "array":
            more = [word for child in value_node.named_children for word in words_of(child, self.names)]
            before = self.names.get(name + "[@]", "").split("\0") if "+=" in text_of(node)[: len(name) + 3] else []
            self.names[name + "[@]"] = "\0".join([*filter(None, before), *more])[:MAX_VALUE]
            return f"{name}={' '.join(more)}"
        value = value_of(value_node, self.names) if value_node is not None else ""
        if "+=" in text_of(node)[: len(name) + 2]:
            value = self.names.get(name, "") + value
        listed = next((arm.filled or arm.condition for arm in reversed(arms) if arm.lists and not arm.lists.absent), "")
        same = self.by_list.get((name, value), listed) == listed  # another branch may give the same value
        self.by_list[name, value] = listed if same else ""
        # `X=${X:-$(ask the machine)}` leaves what was known before.
        self.names[name] = value[:MAX_VALUE]
        return f"{name}={value}"

    def _if(self, node: Node, arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        """The arms that run, each by its own condition; the else by the denial of all."""
        denied: list[str] = []
        found: list[tuple[Arm, list[Node]]] = []
        for part in (node, *(c for c in node.named_children if c.type in ("elif_clause", "else_clause"))):
            conditions = [] if part.type == "else_clause" else part.children_by_field_name("condition")
            for condition in conditions if part is node else ():
                # `if pip install ...` runs it
                yield from (one._replace(guarded=True) for one in self.of(condition, arms, depth + 1))
            if part.type == "elif_clause" and not conditions:
                conditions = part.named_children[:1]
            said = " ".join(" ".join(text_of(c).split()) for c in conditions).rstrip("; ")[:500]
            skip = {c.id for c in conditions}
            body = [c for c in part.named_children if c.id not in skip and c.type not in ("elif_clause", "else_clause")]
            found.append((self._arm(node, part, said, denied), body))
            denied.append(said)
        yield from self._chosen(found, arms, depth)

    def _arm(self, node: Node, part: Node, said: str, denied: list[str]) -> Arm:
        open_ = self.doubtful and any((m[1] or m[3]) in self.doubtful for m in EXPANSION.finditer(said))
        known = self._of_list(said) or filled(said, {k: v for k, v in self.names.items() if k not in self.doubtful})
        known = "" if open_ and "lspci" not in known else known
        asked = {m[1] or m[3] for m in EXPANSION.finditer(said)}
        sure = bool(known and asked) and asked <= self.given
        refused = tuple(self._of_list(one) or ("" if self.doubtful else filled(one, self.names)) for one in denied)
        return Arm(node.start_byte, self.first + part.start_point[0], said, tuple(denied), known, sure, refused)

    def _of_list(self, said: str) -> str:
        """The test of a list of PCI devices on which a comparison of a variable rests; empty for any other."""
        asked = _COMPARED.fullmatch(said)
        return self.by_list.get((asked[1], asked[2]), "") if asked else ""

    def _chosen(self, found: list[tuple[Arm, list[Node]]], arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        self.arms += [arm for arm, _ in found]
        run = chosen([arm for arm, _ in found], self.kind)
        given: dict[str, set[str]] = {}
        for arm, body in found:
            before = dict(self.names)
            if arm in run:
                yield from self._each(body, (*arms, arm), depth)
            for name, value in self.names.items():
                if before.get(name) != value:
                    given.setdefault(name, set()).add(value)
        for name in (name for name, values in given.items() if len(values) > 1 and name != "WORKDIR"):
            self.names.pop(name, None)  # which of them it is, only a machine decides

    def _case(self, node: Node, arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        """Each item by its patterns; `*)` is the else."""
        denied: list[str] = []
        found: list[tuple[Arm, list[Node]]] = []
        value = node.child_by_field_name("value")
        over = self._arm(node, node, text_of(value).strip('"') if value is not None else "", [])
        for item in (c for c in node.named_children if c.type == "case_item"):
            head = (item.text or b"").split(b")", 1)[0].decode("utf-8", "replace").strip("( \t")[:500]
            patterns = {c.id for c in item.children_by_field_name("value")}
            arm = self._arm(node, item, "" if head == "*" else head, denied)
            listed = self._of_list(f"[ {over.condition} = {head} ]")
            arm = arm._replace(refused=tuple(filter(None, (self._of_list(f"[ {over.condition} = {one} ]") for one in denied))))
            plain = re.fullmatch(r"[\w.+-]+", head) and re.fullmatch(r"[\w.+-]+", over.filled)
            arm = arm._replace(filled=listed or (f"[ {over.filled} = {head} ]" if plain else ""), sure=over.sure)
            found.append((arm, [c for c in item.named_children if c.id not in patterns]))
            denied.append(head)
        yield from self._chosen(found, arms, depth)

    def _list(self, node: Node, arms: tuple[Arm, ...], depth: int) -> Iterator[Command]:
        """`test && command` is a branch, as is the command of `test || command`; other lists are a sequence."""
        if not node.named_children:
            return
        left, *rest = node.named_children
        or_ = next((c.type for c in node.children if not c.is_named), "&&") == "||"
        guarded = or_ and not any(_ENDS.search(text_of(child)) for child in rest)
        yield from (one._replace(guarded=one.guarded or guarded) for one in self.of(left, arms, depth + 1))
        test = left.type in ("test_command", "negated_command") or (
            left.type in ("command", "redirected_statement", "pipeline") and (text_of(left).split() or [""])[0] in _TESTS
        )
        if not test:
            for child in rest:
                yield from self.of(child, arms, depth + 1)
            return
        said = " ".join(text_of(left).split())[:500]
        yield from self._chosen([(self._arm(node, node, "" if or_ else said, [said] if or_ else []), rest)], arms, depth)

    def _place(self, node: Node) -> Place:
        row = node.start_point[0]
        words = " ".join(text_of(node).replace("\\\n", " ").split())
        return Place(self.file, self.first + row, quoted(words))


def _here_document(node: Node) -> str:
    """The text that a redirected command gets by a here-document; empty for any other."""
    if node.type != "redirected_statement":
        return ""
    parts = (part for one in node.named_children if one.type == "heredoc_redirect" for part in one.named_children)
    return next((text_of(part) for part in parts if part.type == "heredoc_body"), "")


def kinds(text: str) -> dict[Kind, int]:
    """The hardware that the conditionals of a text ask for, each with the first line that does."""
    reading = _Reading("", 1, {}, "neutral")
    stack = [_parser().parse(text[:MAX_TEXT].encode("utf-8", "replace")).root_node]
    while stack:
        node = stack.pop()
        if node.type in ("if_statement", "case_statement", "list"):
            list(
                getattr(reading, {"if_statement": "_if", "case_statement": "_case", "list": "_list"}[node.type])(
                    node, (), MAX_DEPTH
                )
            )
        stack += node.named_children
    found: dict[Kind, int] = {}
    for arm in sorted(reading.arms, key=lambda a: a.line):
        kind, _ = kind_of(arm)
        found.setdefault(kind, arm.line)
    return found
