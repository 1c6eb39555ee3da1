"""What CONTRIBUTING, the Makefile, the workflows and the hooks promise to the next person."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from release_notes import notes

from rocm_doctor._version import __version__
from rocm_doctor.cli import cli

ROOT = Path(__file__).resolve().parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
MAKE = (ROOT / "Makefile").read_text(encoding="utf-8")
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def _yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_every_recipe_says_how_to_check_it() -> None:
    recipes = re.findall(r"^## Add (?:a|an) ([\w -]+)\n(.*?)(?=^## )", GUIDE, re.MULTILINE | re.DOTALL)
    assert [name for name, text in recipes if not re.search(r"^Check: `", text, re.MULTILINE)] == []
    wanted = {
        "row",
        "GPU",
        "package",
        "torch release",
        "probe",
        "rule",
        "diagnosis",
        "cure",
        "format",
        "smoke stage",
        "labelled report",
        "machine",
    }
    assert {name for name, _ in recipes} == wanted


def test_files_and_tests_that_the_guide_names_exist() -> None:
    named = re.findall(r"(?:compat_matrix|rocm_doctor|tests|scripts|docs|fixtures|\.github)/[\w./-]*\w", GUIDE)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_table_of_chores_is_the_makefile() -> None:
    rules = {name: body.split("\n\t")[1:] for name, body in re.findall(r"^(\w+):((?:\n\t.+)*)", MAKE, re.MULTILINE)}
    table = dict(re.findall(r"\| `make (\w+)` \| `([^`]+)`", GUIDE))
    assert {name: " && ".join(lines) for name, lines in rules.items()} == table
    assert re.search(r"^\.PHONY: (.*)", MAKE, re.MULTILINE)[1].split() == list(rules)  # type: ignore[index]


def test_hooks_of_the_project_run_what_lint_runs() -> None:
    hooks = [hook["entry"] for repo in _yaml(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    programs = {shlex.split(entry)[0] for entry in hooks}
    lint = re.search(r"^lint:((?:\n\t.+)*)", MAKE, re.MULTILINE)
    assert lint
    assert programs == {shlex.split(line)[0] for line in lint[1].split("\n\t")[1:]}


def test_continuous_integration_and_release_run_the_one_script() -> None:
    for name, job in (("ci", "everything"), ("release", "build")):
        steps = _yaml(f".github/workflows/{name}.yml")["jobs"][job]["steps"]
        assert any(step.get("run", "").partition(" ")[0] == ".ci/run" for step in steps), name
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    parts = _yaml(".github/workflows/ci.yml")["jobs"]["everything"]["strategy"]["matrix"]["part"]
    assert set(re.findall(r"^if asked (\w+)", script, re.MULTILINE)) == set(parts)


def test_publishing_needs_no_token() -> None:
    job = _yaml(".github/workflows/release.yml")["jobs"]["publish"]
    assert job["permissions"]["id-token"] == "write"
    assert "password" not in str(job)
    assert "secrets." not in str(job)


@pytest.mark.parametrize(("schema", "files"), [
    ("github-workflows", ".github/workflows/*.yml"), ("github-issue-forms", ".github/ISSUE_TEMPLATE/[!c]*.yml"),
    ("github-issue-forms", ".github/ISSUE_TEMPLATE/crash.yml"), ("github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"),
])  # fmt: skip
def test_files_for_github_fit_its_schemas(schema: str, files: str) -> None:
    checker = pytest.importorskip("check_jsonschema")
    done = CliRunner().invoke(checker.main, ["--builtin-schema", f"vendor.{schema}", *map(str, ROOT.glob(files))])
    assert done.exit_code == 0, done.output


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each `rocm-doctor ...` in a document, up to what the shell does with it."""
    spans = re.findall(r"`(rocm-doctor [^`\n]*)`", text)
    lines = re.findall(r"^(?:    |\$ )?(rocm-doctor [^\n]*)$", text, re.MULTILINE)
    for one in (*spans, *lines):
        lexer = shlex.shlex(re.split(r" {2,}|\\$", one)[0], posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        with contextlib.suppress(ValueError):  # a quotation that goes on in the next line
            words = list(takewhile(lambda word: not set(word) <= set("|&;<>…"), lexer))
            yield words[1 : -1 if words[-1] == "2" else None]


def _complaint(words: list[str]) -> str:
    """Why the command line refuses these words; values are not looked at."""
    command: click.Command = cli
    with click.Context(cli) as context:
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            found = command.get_command(context, words[0])
            if found is None:
                return f"no command {words[0]}"
            command, words = found, words[1:]
        try:
            _, left, _ = command.make_parser(click.Context(command)).parse_args(list(words))
        except click.BadOptionUsage:
            return ""  # the document names an option without a value
        except click.UsageError as exc:
            return exc.format_message()
        return "" if isinstance(command, click.Group) or not left else f"unexpected {left}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_commands_in_documents_are_commands(path: Path) -> None:
    found = {" ".join(words): _complaint(words) for words in _commands(path.read_text(encoding="utf-8"))}
    assert {words: why for words, why in found.items() if why} == {}


def test_issue_forms_ask_for_what_a_helper_needs() -> None:
    """A verdict on a machine needs its bundle; lint and the matrix judge no machine."""
    forms = {path.stem: _yaml(str(path.relative_to(ROOT))) for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")}
    required = {
        name: {part["id"] for part in form["body"] if part.get("validations", {}).get("required")} for name, form in forms.items()
    }
    assert "bundle" in required["wrong-verdict"]
    assert {"repository", "output", "truth"} <= required["wrong-lint"]
    assert {"name", "source"} <= required["new-gpu-or-release"]


def test_documents_name_no_tag_that_does_not_exist() -> None:
    released = set(re.findall(r"^### ([\d.]+) \(\d{4}-", CHANGELOG, re.MULTILINE))
    pattern = r"(?:rev: |@)v(\d+\.\d+\.\d+)"
    named = {(path.name, tag) for path in DOCUMENTS for tag in re.findall(pattern, path.read_text(encoding="utf-8"))}
    assert {(name, tag) for name, tag in named if tag not in released} == set()


def test_the_changelog_has_a_section_for_this_version() -> None:
    assert re.search(rf"^### {re.escape(__version__)} \((unreleased|\d{{4}}-\d\d-\d\d)\)", CHANGELOG, re.MULTILINE)


CHANGES = "# Changelog\n\n## Tool\n\n### 1.2.3 (2026-12-01)\n\n- one\n- two\n\n### 1.2.2 (unreleased)\n\n- old\n\n## Matrix\n"


def test_notes_of_a_release_are_its_section() -> None:
    assert notes("v1.2.3", CHANGES, "1.2.3") == "- one\n- two"


@pytest.mark.parametrize(("tag", "version", "said"), [
    ("v1.2.4", "1.2.3", "the tag is v1.2.4 and the version 1.2.3"),
    ("v1.2.2", "1.2.2", "no section `### 1.2.2"),
    ("1.2.3", "1.2.3", "tag v1.2.3"),
])  # fmt: skip
def test_a_tag_that_does_not_fit_is_refused(tag: str, version: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        notes(tag, CHANGES, version)


def test_development_tools_that_the_guide_runs_are_installed_with_dev() -> None:
    extra = re.search(r"^dev = \[(.*?)^\]", PYPROJECT, re.MULTILINE | re.DOTALL)
    assert extra
    names = set(re.findall(r'"([\w-]+)', extra[1]))
    assert {"build", "import-linter", "mypy", "pre-commit", "pytest", "pytest-xdist", "ruff"} <= names
