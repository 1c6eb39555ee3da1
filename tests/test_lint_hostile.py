"""Files that want to hurt: a message with file and line, no crash, nothing outside of the repository read."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from lint_text import report

from rocm_doctor.cli import cli
from rocm_doctor.lint import readers as declared
from rocm_doctor.lint.declared import Place, Repository
from rocm_doctor.lint.readers import bash, requirements, script, shell
from rocm_doctor.lint.readers.files import MAX_BYTES


def problems(root: Path) -> list[tuple[str, int, str]]:
    start = time.process_time()
    found = [(t.place.file, t.place.line, t.message) for t in declared.read(root).problems]
    assert time.process_time() - start < 5
    return found


def one(root: Path) -> tuple[str, int, str]:
    found = problems(root)
    assert len(found) == 1, found
    return found[0]


def test_a_yaml_bomb(tmp_path: Path) -> None:
    lines = ["base_model: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (tmp_path / "train.yaml").write_text("\n".join(lines))
    file, line, words = one(tmp_path)
    assert (file, line) == ("train.yaml", 5)
    assert "bomb" in words


def test_deep_yaml_json_and_toml(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("base_model: " + "[" * 3000)
    (tmp_path / "ds.json").write_text('{"bf16": ' + "[" * 100_000)
    (tmp_path / "pyproject.toml").write_text("a = " + "[" * 5000)
    assert {t[0] for t in problems(tmp_path)} == {"a.yaml", "ds.json", "pyproject.toml"}


def test_a_huge_requirements_file(tmp_path: Path) -> None:
    with (tmp_path / "requirements.txt").open("wb") as file:
        file.truncate(100 * 2**20)
    name, _, words = one(tmp_path)
    assert name == "requirements.txt"
    assert "100 MiB" in words


def test_a_file_of_the_largest_size_is_linear(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("--" + "a" * (MAX_BYTES // 2) + "\n" + "b " * (MAX_BYTES // 8))
    (tmp_path / "run.sh").write_text("pip install " + "x" * (MAX_BYTES // 2))
    (tmp_path / "Dockerfile").write_text("FROM a\nRUN " + "\\\n" * 200_000 + "true\n")
    problems(tmp_path)


def test_links_in_a_circle_and_out_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("torch==6.6.6\n")
    root = tmp_path / "repo"
    (root / "deep").mkdir(parents=True)
    (root / "deep" / "loop").symlink_to(root, target_is_directory=True)
    (root / "requirements.txt").symlink_to(tmp_path / "secret.txt")
    (root / "requirements-dev.txt").symlink_to(root / "requirements-dev.txt")
    (root / "requirements-up.txt").write_text("-r ../secret.txt\n-r /etc/passwd\n")
    found = {(t[0], t[1]): t[2] for t in problems(root)}
    assert set(found) == {
        ("requirements.txt", 1),
        ("requirements-dev.txt", 1),
        ("requirements-up.txt", 1),
        ("requirements-up.txt", 2),
    }
    assert "outside" in found["requirements.txt", 1]
    assert "6.6.6" not in repr(declared.read(root))


def test_no_file_outside_is_ever_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "requirements.txt").write_text("torch\n")
    root = tmp_path / "repo"
    root.mkdir()
    (root / "requirements.txt").write_text(f"-r ../outside/requirements.txt\n-c {outside}/requirements.txt\n")
    (root / "Dockerfile").write_text("FROM x\nRUN pip install -r ../outside/requirements.txt\n")
    opened: list[str] = []
    real = Path.read_bytes

    def watched(self: Path) -> bytes:
        opened.append(os.path.realpath(self))
        return real(self)

    monkeypatch.setattr(Path, "read_bytes", watched)
    declared.read(root)
    assert opened
    assert all(name.startswith(os.path.realpath(root) + os.sep) for name in opened)


def test_requirements_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("-r requirements-a.txt\n")
    (tmp_path / "requirements-a.txt").write_text("peft\n-r requirements.txt\n")
    found = problems(tmp_path)
    assert ("requirements-a.txt", 2) in {t[:2] for t in found}
    assert "includes itself" in found[0][2]


def test_text_that_is_not_utf8_and_binary_junk(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_bytes(b"# ok\n# f\xfcr MI50\ntorch==2.9.1\n")
    (tmp_path / "environment.yml").write_bytes(bytes(range(256)) * 10)
    found = {t[0]: t[2] for t in problems(tmp_path)}
    assert "line 2" in found["requirements.txt"]
    assert "binary" in found["environment.yml"]
    assert any(r.name == "torch" for u in declared.read(tmp_path).environments for s in u.steps for r in s.requirements)


def test_a_windows_editors_files(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_bytes("torch==2.9.1\r\npeft\r\n".encode("utf-16"))
    units = declared.read(tmp_path).environments
    assert [r.name for r in units[0].steps[0].requirements] == ["torch", "peft"]


def test_a_pipe_and_a_folder_with_a_files_name(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").mkdir()
    os.mkfifo(tmp_path / "Dockerfile")
    assert [t[0] for t in problems(tmp_path)] == ["Dockerfile"]


def test_broken_files_are_findings_with_a_place(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = \n")
    (tmp_path / "compose.yaml").write_text("services:\n  a: [1\n")
    result = CliRunner().invoke(cli, ["lint", str(tmp_path), "--gpu", "gfx1100", "--format", "jsonl"])
    found = [json.loads(line) for line in result.stdout.splitlines() if '"repo.unreadable"' in line]
    assert {(f["evidence"][0]["artifact"], f["evidence"][0]["place"]) for f in found} == {
        ("pyproject.toml", "line 2"), ("compose.yaml", "line 3")}  # fmt: skip
    assert result.exit_code == 0


JUNK = st.text(max_size=400) | st.lists(st.sampled_from([
    "FROM", "RUN", "pip install", "-r", "-r requirements.txt", "torch==", "&&", "\\\n", "<<EOF", "\n", "$X", "${", "'", '"',
    "#", "ENV a", "export", "- ", ": ", "&a", "*a", "[", "]", "{", "}", "services", "jobs", "dependencies", "pip",
    "--index-url", "docker run", "base_model", "!!python/object",
]), max_size=40).map(" ".join)  # fmt: skip
NAMES = (
    "requirements.txt", "pyproject.toml", "uv.lock", "poetry.lock", "pylock.toml", "environment.yml", "Dockerfile", "compose.yaml", "run.sh",
    ".env", ".github/workflows/ci.yml", "train.yaml", "ds.json", "rocm-doctor.yaml", "x.bat",
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from(NAMES), text=JUNK)
def test_no_text_breaks_a_reader(tmp_path_factory: pytest.TempPathFactory, name: str, text: str) -> None:
    root = tmp_path_factory.mktemp("repo")
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8", errors="replace")
    assert isinstance(declared.read(root), Repository)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_no_line_breaks_the_small_parsers(text: str) -> None:
    requirements.one(text, Place("f", 1))
    list(shell.commands("f", text))
    shell.words(text)
    shell.filled(text, {"A": "b"})


@pytest.mark.parametrize("name", [*NAMES, "Makefile", "setup.py", "setup.cfg", "README.md", "install.ps1", "tox.ini"])
@pytest.mark.parametrize("blank", ["\n", " ", "\t", "}", "(", '"', "%A%", "$A"])
def test_the_same_character_many_times_is_linear(tmp_path: Path, name: str, blank: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("pip install torch" + blank * 6_000 + "x\npip install torch " + blank * 6_000)
    problems(tmp_path)


def test_a_name_longer_than_any_file_has_is_no_file(tmp_path: Path) -> None:
    """`bash` of a name that a program's text is part of ended the run: the system refuses such a name."""
    (tmp_path / "benchmarks").mkdir()
    found = report(
        tmp_path, {"run.sh": f"bash benchmarks/{'x' * 300}.sh\npython3 benchmarks/{'y' * 5000}.py\npip install torch\n"}
    )
    assert found.verdict


def test_lines_that_the_grammar_cannot_parse_are_parsed_anew_within_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []

    class Counting:
        def parse(self, text: bytes) -> object:
            parsed.append(len(text))
            return real.parse(text)

    real = bash._parser()
    monkeypatch.setattr(bash, "_parser", Counting)
    text = "echo torch\n" + "a=(\n)) fi\ndone ((\n" * 400
    assert list(bash.commands("run.sh", text, 1, {}, "amd"))
    assert len(parsed) > 1
    assert sum(parsed) <= 2 * bash.MAX_ANEW + len(text)


@pytest.mark.timed
@pytest.mark.parametrize("text", [
    "A=$A$A$A\n" * 50, "".join(f"A{n}='{f'${{A{n + 1}#x}}' * 60}'\n" for n in range(20)) + "A=$A0\n",
    f"A=$(echo {'a' * 400} | sed -E 's/(a*)*b//')\n", "A=$(rocm_agent_enumerator | sed -E 's/((((((.*)*)*)*)*)*)*b//')\n",
    "A=$(rocminfo | grep -o 'gfx((((([0-9]*)*)*)*)*)*b')\n", f"if lspci | grep -E '{'.*' * 60}b'; then export B=1; fi\n",
    "export HSA_OVERRIDE_GFX_VERSION=$(rocm_agent_enumerator | sed 's/gfx//')\n" * 2000,
    f"cat > .env <<EOF\n{chr(10).join(['HSA_OVERRIDE_GFX_VERSION=$A'] * 10_000)}\nEOF\n",
])  # fmt: skip
def test_values_that_a_shell_computes_take_little_time(tmp_path: Path, text: str) -> None:
    began = time.process_time()
    report(tmp_path, {"setup_rocm.sh": f"{text}export HSA_OVERRIDE_GFX_VERSION=${{A#gfx}}\npip install torch\n"})
    assert time.process_time() - began < 5


def test_commands_that_scripts_run_over_and_over_are_read_so_many_times_in_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A matrix of jobs runs one long script again for each of its combinations."""
    monkeypatch.setattr(script, "MAX_IN_ALL", 40)
    (tmp_path / "install.sh").write_text("pip install numpy\n" * 15)
    jobs = "".join(f"  j{n}:\n    runs-on: ubuntu-latest\n    steps:\n      - run: bash install.sh\n" for n in range(4))
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "x.yml").write_text(f"on: push\njobs:\n{jobs}")
    assert {words for _, _, words in problems(tmp_path)} == {
        "not read to its end: its commands are run more than 40 times in all"
    }


def test_a_here_document_for_no_command(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(
        "- " + "<<: " * 31 + "|\n" + " |\n" * 12 + " " + "<<: " * 36 + "torch==2.9.1", encoding="utf-8"
    )
    assert declared.read(tmp_path).files
