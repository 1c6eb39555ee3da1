"""Run the pre-commit hook, the action's steps and the GitLab job for real, in a scratch repository with a fault and without.

    python scripts/lint_in_ci.py

The hook is installed by pre-commit from this checkout's last commit. The action's steps are run in order with its own inputs; the GitLab
job is the one of docs/ci.md, with this checkout in the place of the released package. Each must end with 1 for the fault and 0 without.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

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
    run(["git", "init", "-q"], folder)
    run(["git", "add", "-A"], folder)
    return folder


def hook(folder: Path, home: Path) -> int:
    """`pre-commit run` with the hook of this checkout, as a developer would have it run before a commit."""
    commit = run(["git", "rev-parse", "HEAD"], ROOT).stdout.strip()
    hooks = {"repos": [{"repo": str(ROOT), "rev": commit, "hooks": [{"id": "rocm-doctor-lint"}]}]}
    (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(hooks))
    done = run([sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"], folder, PRE_COMMIT_HOME=str(home))
    print(re.sub(r"^", "    ", done.stdout[-600:], flags=re.M))
    return done.returncode


def value(text: str, inputs: dict[str, str], temporary: Path) -> str:
    """An expression of the action as the runner fills it in."""
    known = {f"inputs.{name}": given for name, given in inputs.items()}
    known |= {"github.action_path": str(ROOT / ".github/actions/rocm-doctor"), "runner.temp": str(temporary)}
    return re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda m: known[m[1]], text)


def action(folder: Path, temporary: Path) -> int:
    """The steps of the composite action, in order, until one fails."""
    described: dict[str, Any] = yaml.safe_load((ROOT / ".github/actions/rocm-doctor/action.yml").read_text("utf-8"))
    inputs = {name: str(one.get("default", "")) for name, one in described["inputs"].items()} | {
        "sarif": str(temporary / "r.sarif")
    }
    runner = {
        "RUNNER_TEMP": str(temporary),
        "GITHUB_STEP_SUMMARY": str(temporary / "summary.md"),
        "GITHUB_OUTPUT": str(temporary / "out"),
    }
    for step in described["runs"]["steps"]:
        env = {name: value(str(text), inputs, temporary) for name, text in step.get("env", {}).items()}
        done = run(["bash", "-e", "-o", "pipefail", "-c", value(step["run"], inputs, temporary)], folder, **runner, **env)
        print(f"    {step['name']}: {done.returncode}\n" + re.sub(r"^", "    ", (done.stdout + done.stderr)[-400:], flags=re.M))
        if done.returncode:
            break
    sarif = json.loads((temporary / "r.sarif").read_text())
    print(f"    {(temporary / 'out').read_text().strip()}, {len(sarif['runs'][0]['results'])} results in SARIF")
    return done.returncode


def gitlab(folder: Path, temporary: Path) -> int:
    """The commands of the job, and the reports that it keeps."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/ci.md").read_text("utf-8"), re.S)
    job = next(yaml.safe_load(block) for block in blocks if block.startswith("rocm-doctor:"))["rocm-doctor"]
    run([sys.executable, "-m", "venv", str(temporary / "venv")], folder)
    path = f"{temporary / 'venv' / 'bin'}:{os.environ['PATH']}"
    for command in job["script"]:
        done = run(["bash", "-c", command.replace("install rocm-doctor", f"install -q {ROOT}")], folder, PATH=path)
        print(f"    {command[:60]}: {done.returncode}")
        if done.returncode:
            break
    for kept in job["artifacts"]["reports"].values():
        print(f"    {kept}: {(folder / kept).stat().st_size} bytes")
    return done.returncode


def main() -> None:
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        base = Path(scratch)
        for name, check in (("pre-commit", hook), ("action", action), ("gitlab", gitlab)):
            for words, text, code in (("with a fault", FAULT, 1), ("without", RIGHT, 0)):
                print(f"{name}, {words}:")
                (base / f"{name}-{code}-tmp").mkdir()
                temporary = base / "pre-commit-home" if check is hook else base / f"{name}-{code}-tmp"
                found = check(repository(base / f"{name}-{code}", text), temporary)
                print(f"    exit code {found}" + ("" if found == code else f", and {code} was expected"))
                wrong += found != code
    sys.exit(wrong)


if __name__ == "__main__":
    main()
