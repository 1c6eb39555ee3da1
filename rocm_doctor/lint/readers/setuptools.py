"""setup.py: the requirements that it states as literal lists. The file is parsed and never run."""

from __future__ import annotations

import ast
import warnings

from rocm_doctor.bounded import Unreadable
from rocm_doctor.lint.model import Environment, Install, Place, Requirement, Step, Unread, UnreadReason
from rocm_doctor.lint.readers import requirements
from rocm_doctor.lint.readers.pyproject import concerns_gpu
from rocm_doctor.lint.readers.requirements import ELSEWHERE
from rocm_doctor.lint.tree import Tree

MAX_TEXT = 2**17


def read(tree: Tree, path: str) -> list[Environment]:
    """The project, and the project with each extra that concerns the GPU stack; none if no `setup` is called or there are no
    requirements. Raises Unreadable if the text is not Python or has over MAX_TEXT characters."""
    text = tree.text(path) or ""
    if "setup" not in text:
        return []
    if len(text) > MAX_TEXT:
        raise Unreadable("too large")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an escape in the text of another is none of ours
            module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as exc:
        raise Unreadable("not Python") from exc
    call = next((node for node in ast.walk(module) if isinstance(node, ast.Call) and _name(node.func) == "setup"), None)
    if call is None:
        return []
    stated = {keyword.arg: keyword.value for keyword in call.keywords}
    lists = _Lists(module, tree, path)
    base = lists.requirements(stated.get("install_requires"))
    extras = lists.extras(stated.get("extras_require"))
    environments = []
    for extra, more in {"": [], **extras}.items():
        asked = [*base, *more]
        if asked and (not extra or concerns_gpu(extra, more)):
            place = more[0].place if more else asked[0].place
            steps: tuple[Step, ...] = (*lists.unread, Install("pip", place, tuple(asked)))
            environments.append(
                Environment(
                    "project", place, extra, steps=steps, unread=tuple(lists.unread), files=(path,),
                    has_torch_elsewhere=ELSEWHERE.search(text) is not None,
                )
            )  # fmt: skip
    return environments


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


class _Lists:
    """The literal lists of a module. A name means what is assigned to it, where that happens once and outside of everything else."""

    def __init__(self, module: ast.Module, tree: Tree, path: str) -> None:
        self.tree, self.path = tree, path
        self.unread: list[Unread] = []
        self.items: dict[str, dict[str, ast.expr]] = {}
        """`name["key"] = value`, by name and key."""
        assigned: dict[str, list[ast.expr]] = {}
        for node in module.body:
            target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
            if isinstance(node, ast.Assign) and isinstance(target, ast.Name):
                assigned.setdefault(target.id, []).append(node.value)
            elif isinstance(node, ast.Assign) and isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                self.items.setdefault(_name(target.value), {})[str(target.slice.value)] = node.value
        self.names = {name: values[0] for name, values in assigned.items() if len(values) == 1}

    def _place(self, node: ast.AST) -> Place:
        return self.tree.place(self.path, getattr(node, "lineno", 1))

    def requirements(self, node: ast.expr | None) -> list[Requirement]:
        """The requirements of a list of literal words; what is not literal is recorded."""
        if node is None:
            return []
        value = self.names.get(node.id, node) if isinstance(node, ast.Name) else node
        if not isinstance(value, (ast.List, ast.Tuple)):
            self.unread.append(Unread(self._place(node), UnreadReason.EXPRESSION, True))
            return []
        wanted = []
        for word in value.elts:
            literal = word.value if isinstance(word, ast.Constant) and isinstance(word.value, str) else None
            requirement = requirements.requirement(literal, self._place(word)) if literal is not None else UnreadReason.EXPRESSION
            if isinstance(requirement, Requirement):
                wanted.append(requirement)
            else:
                self.unread.append(Unread(self._place(word), requirement, True))
        return wanted

    def extras(self, node: ast.expr | None) -> dict[str, list[Requirement]]:
        """The requirements of each extra that is stated as a literal list."""
        value = self.names.get(node.id, node) if isinstance(node, ast.Name) else node
        stated = dict(self.items.get(node.id, {})) if isinstance(node, ast.Name) else {}
        if isinstance(value, ast.Dict):
            stated |= {str(key.value): one for key, one in zip(value.keys, value.values) if isinstance(key, ast.Constant)}
        return {
            extra: self.requirements(one) for extra, one in stated.items() if isinstance(one, (ast.List, ast.Tuple, ast.Name))
        }
