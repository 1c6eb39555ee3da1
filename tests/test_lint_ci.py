"""What docs/ci.md tells people to paste: the action, the hook and the snippets are run, or held against their schemas."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from called import called

from rocm_doctor._version import SOURCE
from rocm_doctor.lint.readers import files_pattern, find_reader
from rocm_doctor.lint.tree import Tree

ROOT = Path(__file__).resolve().parents[1]
ACTION = ROOT / ".github" / "actions" / "rocm-doctor"
REPOS = ROOT / "fixtures" / "repos"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / "ci.md").read_text("utf-8"), re.S)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder with the command on it, as an installed package would give it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script(folder / "rocm-doctor", f'PYTHONPATH="{ROOT}" exec "{sys.executable}" -m rocm_doctor "$@"')
    return folder


def script(path: Path, text: str) -> None:
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run(command: list[str], tools: Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    whole = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", **env}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=whole, timeout=120, check=False)


def test_the_action_annotates_summarises_and_keeps_the_exit_code(tools: Path, tmp_path: Path) -> None:
    env = {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "s.md"), "GITHUB_OUTPUT": str(tmp_path / "out"),
           "GPU": "gfx1100", "ROCM": "6.3", "SARIF": str(tmp_path / "r.sarif"), "PATHS": ".\n"}  # fmt: skip
    done = run(["bash", str(ACTION / "judge.sh")], tools, REPOS / "pip-extra-index", **env)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=requirements.txt,line=3,")
    assert (tmp_path / "out").read_text() == "verdict=problems\n"
    assert (tmp_path / "s.md").read_text().startswith("## ")
    result = json.loads((tmp_path / "r.sarif").read_text())["runs"][0]["results"][0]
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 3


def test_the_action_takes_the_policy_of_the_repository(tools: Path, tmp_path: Path) -> None:
    done = run(["bash", str(ACTION / "judge.sh")], tools, REPOS / "healthy-uv", RUNNER_TEMP=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_input_of_the_action_reaches_a_shell_as_text() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    for step in action["runs"]["steps"]:
        assert "inputs." not in step["run"]
    named = set(re.findall(r"inputs\.([\w-]+)", (ACTION / "action.yml").read_text("utf-8")))
    assert named == set(action["inputs"])


def schema(name: str) -> Any:
    found = pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    path = Path(found.__file__).parent / "builtin_schemas" / "vendor" / f"{name}.json"
    return json.loads(path.read_text("utf-8"))


def valid(data: Any, name: str) -> None:
    import jsonschema

    kind = jsonschema.validators.validator_for(schema(name))
    kind(schema(name)).validate(data)


def test_the_action_and_the_snippets_fit_the_schemas_of_their_services() -> None:
    valid(yaml.safe_load((ACTION / "action.yml").read_text("utf-8")), "github-actions")
    snippets = [yaml.load(block, yaml.BaseLoader) for block in blocks("yaml")]
    valid(next(s for s in snippets if "jobs" in s), "github-workflows")
    for snippet in snippets:
        if "include" in snippet:
            valid(snippet, "gitlab-ci")
    valid(gitlab_job(), "gitlab-ci")


def gitlab_job(**inputs: str) -> Any:
    """The component as GitLab fills it in: the job's document, with inputs in the place of their names."""
    spec, job = (ROOT / "templates" / "rocm-doctor.yml").read_text("utf-8").split("\n---\n")
    known = {name: one["default"] for name, one in yaml.safe_load(spec)["spec"]["inputs"].items()}
    assert set(inputs) <= set(known)
    for name, value in {**known, **inputs}.items():
        job = job.replace(f"$[[ inputs.{name} ]]", value)
    assert "$[[" not in job
    return yaml.safe_load(job)


def included() -> list[dict[str, str]]:
    """The inputs of each `include` of the documentation."""
    found = [yaml.safe_load(block) for block in blocks("yaml") if block.startswith("include:")]
    return [one["include"][0].get("inputs", {}) for one in found]


def test_the_gitlab_command_writes_what_its_artifacts_name(tools: Path, tmp_path: Path) -> None:
    job = gitlab_job(**next(one for one in included() if not one))["rocm-doctor"]
    shutil.copytree(REPOS / "uv-unbound", tmp_path / "repo")
    done = run(["bash", "-c", job["script"][-1].replace("/tmp/rocm-doctor/bin/", "")], tools, tmp_path / "repo")
    assert done.returncode == 1, done.stderr
    for path in job["artifacts"]["reports"].values():
        assert (tmp_path / "repo" / path).stat().st_size > 100
    assert "pyproject.toml:6" in (tmp_path / "repo" / "rocm-doctor.xml").read_text()


def test_the_hook_is_one_that_pre_commit_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))[0]
    wanted = re.compile(hook["files"])
    assert hook["files"] == files_pattern(), "write the pattern of lint's readers into .pre-commit-hooks.yaml"
    for tree in (Tree(folder) for folder in sorted((ROOT / "tests" / "lint").iterdir()) if folder.is_dir()):
        assert [path for path in tree.paths if find_reader(path) and not wanted.search(path)] == []
    assert not any(wanted.search(name) for name in ("train.py", "data.csv"))
    assert hook["pass_filenames"] is False
    program, *words = hook["entry"].split()
    assert program == "rocm-doctor"
    for repository, code in (("healthy-uv", 0), ("mixed-monorepo", 1)):
        monkeypatch.chdir(REPOS / repository)
        assert called(*words).returncode == code, repository


def test_the_policies_of_the_documentation_say_the_same(tmp_path: Path) -> None:
    from rocm_doctor.lint import policy
    from rocm_doctor.lint.tree import Tree

    read = []
    for name, text in (
        ("pyproject.toml", blocks("toml")[0]),
        ("rocm-doctor.yaml", next(b for b in blocks("yaml") if "targets:" in b)),
    ):
        folder = tmp_path / name.split(".")[0]
        folder.mkdir()
        (folder / name).write_text(text)
        read.append(policy.read(Tree(folder)))
    one, other = read
    assert not one.faults
    assert not other.faults
    assert [(t.name, t.gpu, t.rocm, t.python) for t in one.targets] == [(t.name, t.gpu, t.rocm, t.python) for t in other.targets]
    assert [(i.id, i.reason, i.until) for i in one.ignores] == [(i.id, i.reason, i.until) for i in other.ignores]
    assert (one.fail_on, one.exclude) == (other.fail_on, other.exclude) == ("warning", ("third_party/*",))


def test_the_python_snippet_asks_for_what_require_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    import inspect

    import rocm_doctor

    signature, asked = inspect.signature(rocm_doctor.require), []
    monkeypatch.setattr(
        rocm_doctor, "require", lambda *args, **named: asked.append(signature.bind(*args, **named)), raising=False
    )
    exec(blocks("python")[0], {})
    assert asked[0].arguments["packages"] == ["torch>=2.6", "peft"]


def test_the_action_fails_loudly_where_it_was_used_wrongly(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "rocm-doctor.json").write_text('{\n "verdict": "problems",\n}')
    env = {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "s.md"), "GITHUB_OUTPUT": str(tmp_path / "out")}
    done = run(["bash", str(ACTION / "judge.sh")], tools, REPOS / "pip-extra-index", GPU="no-such-gpu", **env)
    assert done.returncode == 2
    assert re.search(r"^::error title=rocm-doctor did not judge::.*no-such-gpu", done.stdout, re.M), done.stdout
    assert "no-such-gpu" in (tmp_path / "s.md").read_text()
    assert not (tmp_path / "out").exists()


def test_every_document_and_template_installs_from_the_one_source() -> None:
    paths = [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "templates").iterdir(),
        *(ROOT / ".github").rglob("*.*"),
    ]
    wrong = []
    for path in (one for one in paths if one.is_file()):
        for line in path.read_text("utf-8").splitlines():
            asked = re.search(r"(?:pip3? install|pipx install|uvx|uv tool install)\s[^`#&]*rocm-doctor", line)
            if asked and SOURCE not in line:
                wrong.append(f"{path.name}: {line.strip()}")
    assert wrong == []
    assert SOURCE in (ROOT / "README.md").read_text("utf-8")
    assert SOURCE in (ROOT / "templates" / "rocm-doctor.yml").read_text("utf-8")


def test_no_format_has_invisible_characters(tools: Path) -> None:
    from rocm_doctor import check
    from rocm_doctor.reports import FORMATS

    texts = (REPOS.parent / "mi50-wrong-override", REPOS.parent / "windows-cpu-wheel")
    for report in (
        *map(check, texts),
        check(text="torch 2.9.1+cu128 on RX 7900 XTX, pip install --index-url https://a.example/x @you #12"),
    ):
        for name in FORMATS:
            assert not re.search("[\u200b-\u200f\u2060\ufeff]", report.render(name)), name


def test_a_rule_of_sarif_describes_the_diagnosis_and_leads_to_its_page() -> None:
    done = called("lint", str(REPOS / "pip-extra-index"), "--gpu", "gfx1100", "--format", "sarif")
    [rule] = json.loads(done.stdout)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"].endswith(f"/diagnosis/{rule['id']}/")
    assert "requirements.txt" not in rule["fullDescription"]["text"]
