"""Run what the documentation tells people to paste, for real: the pre-commit hooks, both actions, the GitLab jobs, the install lines.

    python scripts/lint_in_ci.py

Lint, and the gate on an environment that is made of files that say what is installed, run in a scratch repository with a fault and
without, and must end with 1 and 0. The hook is installed by pre-commit from this
checkout's last commit, the actions' steps run in order with their own inputs, the GitLab job is the component. The triage action
gets an issue, and a `gh` that writes down what it is asked to post. Install lines of the README and the docs run in an environment of their
own. Wherever a release is named, this checkout takes its place.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from environments import environment
from test_lint_ci import gitlab_job

ROOT = Path(__file__).resolve().parents[1]
POLICY = "targets:\n  card: {gpu: gfx1100, python: '3.12'}\n"
RIGHT = "--index-url https://download.pytorch.org/whl/rocm6.4\ntorch==2.9.1\n"
FAULT = "--index-url https://download.pytorch.org/whl/cu128\ntorch==2.9.1\n"


def run(command: list[str], cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False)


def repository(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "requirements-rocm.txt").write_text(text)
    (folder / "rocm-doctor.yaml").write_text(POLICY)
    (folder / ".gitignore").write_text(".venv\n")
    environment(folder / ".venv", {"torch": "2.9.1+cu128" if text == FAULT else "2.9.1+rocm6.4"})
    run(["git", "init", "-q"], folder)
    run(["git", "add", "-A"], folder)
    return folder


def hook(folder: Path, home: Path, name: str) -> int:
    """`pre-commit run` with a hook of this checkout, as a developer would have it run before a commit."""
    commit = run(["git", "rev-parse", "HEAD"], ROOT).stdout.strip()
    hooks = {"repos": [{"repo": str(ROOT), "rev": commit, "hooks": [{"id": name}]}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(hooks))
    done = run([sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"], folder, PRE_COMMIT_HOME=str(home))
    print(re.sub(r"^", "    ", done.stdout[-600:], flags=re.M))
    return done.returncode


def steps(name: str, folder: Path, temporary: Path, given: dict[str, str], **more: str) -> int:
    """The steps of a composite action, in order, until one fails."""
    place = ROOT / ".github" / "actions" / name
    described: dict[str, Any] = yaml.safe_load((place / "action.yml").read_text("utf-8"))
    inputs = {key: str(one.get("default", "")) for key, one in described["inputs"].items()} | given
    known = {f"inputs.{key}": one for key, one in inputs.items()}
    known |= {"github.action_path": str(place), "runner.temp": str(temporary), "github.token": "none"}
    runner = {
        "RUNNER_TEMP": str(temporary),
        "GITHUB_STEP_SUMMARY": str(temporary / "summary.md"),
        "GITHUB_OUTPUT": str(temporary / "out"),
        **more,
    }

    def value(text: str) -> str:
        """An expression as the runner fills it in; a default may be one, too."""
        filled = re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda m: known[m[1]], text)
        return filled if filled == text else value(filled)

    for step in described["runs"]["steps"]:
        env = {key: value(str(text)) for key, text in step.get("env", {}).items()}
        done = run(["bash", "-e", "-o", "pipefail", "-c", value(step["run"])], folder, **runner, **env)
        print(f"    {step['name']}: {done.returncode}\n" + re.sub(r"^", "    ", (done.stdout + done.stderr)[-400:], flags=re.M))
        if done.returncode:
            break
    return done.returncode


def action(folder: Path, temporary: Path, given: dict[str, str]) -> int:
    """The action, with SARIF."""
    code = steps("rocm-doctor", folder, temporary, {"sarif": str(temporary / "r.sarif"), **given})
    sarif = json.loads((temporary / "r.sarif").read_text())
    print(f"    {(temporary / 'out').read_text().strip()}, {len(sarif['runs'][0]['results'])} results in SARIF")
    return code


GH = """#!/bin/sh
case "$*" in *"comments?per_page"*) echo "[]"; exit 0;; esac
for last; do :; done
printf '%s\\n' "$*" >> "$CALLS"; cat "$last" >> "$CALLS"
"""


def triage(event: str, temporary: Path) -> int:
    """The triage action on a saved event: the number of calls to GitHub."""
    temporary.mkdir()
    (temporary / "gh").write_text(GH)
    (temporary / "gh").chmod(0o755)
    (calls := temporary / "calls").touch()
    more = {
        "PATH": f"{temporary}:{os.environ['PATH']}", "CALLS": str(calls), "GITHUB_REPOSITORY": "octo/train",
        "GITHUB_EVENT_PATH": str(ROOT / "tests" / "triage" / f"{event}.json"),
    }  # fmt: skip
    code = steps("triage", temporary, temporary, {}, **more)
    return -1 if code else calls.read_text().count("api --silent --method POST")


def install_lines() -> dict[str, str]:
    """Every line of the README and the docs that installs or runs the released package, by file."""
    found = {}
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = path.read_text("utf-8")
        lines = [*re.findall(r"`([^`\n]+)`", text), *(line.strip().removeprefix("- ") for line in text.splitlines())]
        for line in lines:
            if re.match(r"(?:uvx|pipx install|pip install|uv tool install)\b.*rocm-doctor\b", line):
                found[line] = path.name
    return found


def local(line: str) -> str:
    """The line with this checkout in the place of the release."""
    return line.replace("git+https://github.com/rocm-doctor/rocm-doctor", f"git+file://{ROOT}")


def installed(line: str, folder: Path) -> int:
    """Run an install line in a new environment that has uv and pipx, then what it installed."""
    folder.mkdir()
    run([sys.executable, "-m", "venv", "venv"], folder)
    run(["venv/bin/pip", "install", "-q", "uv", "pipx"], folder)
    homes = {name: str(folder / name.lower()) for name in ("PIPX_HOME", "PIPX_BIN_DIR", "UV_CACHE_DIR")}
    path = f"{folder / 'venv' / 'bin'}:{homes['PIPX_BIN_DIR']}:/usr/bin:/bin"
    proof = "python -c 'import mcp'" if "[mcp]" in line else "rocm-doctor --version"
    for command in (local(line), *(() if line.startswith("uvx") else (proof,))):
        done = run(["bash", "-c", command], folder, **homes, PATH=path)
        print(f"    {command[:100]}: {done.returncode}\n" + re.sub(r"^", "    ", (done.stdout + done.stderr)[-300:], flags=re.M))
        # `uvx ... rocm-doctor check` judges this machine: 1 is an answer.
        if done.returncode > (1 if command.startswith("uvx") else 0):
            return done.returncode
    return 0


def gitlab(folder: Path, temporary: Path, name: str) -> int:
    """The commands of the component, and the reports that it keeps. The environment is there: its gigabytes are not installed."""
    job = gitlab_job(command=name, source=str(ROOT))["rocm-doctor"]
    for command in job["script"]:
        done = run(["bash", "-c", command.replace("/tmp/rocm-doctor", str(temporary / "venv"))], folder)
        print(f"    {command[:60]}: {done.returncode}")
        if done.returncode:
            break
    for kept in job["artifacts"]["reports"].values():
        print(f"    {kept}: {(folder / kept).stat().st_size} bytes")
    return done.returncode


def main() -> None:
    wrong = 0

    def expect(what: str, found: int, expected: int) -> None:
        nonlocal wrong
        print(f"    {what} {found}" + ("" if found == expected else f", and {expected} was expected"))
        wrong += found != expected

    with tempfile.TemporaryDirectory() as scratch:
        base = Path(scratch)
        checks: dict[str, Callable[[Path, Path], int]] = {
            "hook-lint": lambda folder, _: hook(folder, base / "pre-commit-home", "rocm-doctor-lint"),
            "hook-check": lambda folder, _: hook(folder, base / "pre-commit-home", "rocm-doctor-check"),
            "action-lint": lambda folder, temporary: action(folder, temporary, {}),
            "action-check": lambda folder, temporary: action(folder, temporary, {"environment": ".venv"}),
            "gitlab-lint": lambda folder, temporary: gitlab(folder, temporary, "lint"),
            "gitlab-check": lambda folder, temporary: gitlab(folder, temporary, "check --gpu declared --python .venv"),
        }
        for name, check in checks.items():
            for words, text, code in (("with a fault", FAULT, 1), ("without", RIGHT, 0)):
                print(f"{name}, {words}:")
                (base / f"{name}-{code}-tmp").mkdir()
                expect("exit code", check(repository(base / f"{name}-{code}", text), base / f"{name}-{code}-tmp"), code)
        for event, calls in (("hostile-shell", 1), ("other-cuda-oom", 0)):
            print(f"triage, {event}:")
            expect("comments", triage(event, base / event), calls)
        for number, (line, file) in enumerate(install_lines().items()):
            print(f"{file}: {line}")
            expect("exit code", installed(line, base / f"install-{number}"), 0)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
