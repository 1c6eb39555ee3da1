"""Overrides whose value a shell computes, and those that a script writes into files that other programs read."""

from __future__ import annotations

from pathlib import Path

import pytest
from lint_text import report, said, serious

TORCH = "pip install torch --index-url https://download.pytorch.org/whl/rocm6.2\n"
NAME = "ARCH=$(rocminfo 2>/dev/null | grep -oP 'gfx\\d+' | head -1 || echo none)\n"
SET = "export HSA_OVERRIDE_GFX_VERSION="


@pytest.mark.parametrize(("text", "value"), [
    (f'{NAME}{SET}"${{ARCH#gfx}}"\n', "1100"),
    (f"{NAME}{SET}$ARCH\n", "gfx1100"),
    (f"{NAME}{SET}${{ARCH/gfx/}}\n", "1100"),
    (f"ARCH=$(rocm_agent_enumerator | grep -v gfx000 | tail -1)\n{SET}${{ARCH#gfx}}\n", "1100"),
    (f"ARCH=`rocminfo | grep gfx | head -1 | awk '{{print $2}}'`\n{SET}$(echo $ARCH | sed 's/gfx//')\n", "1100"),
    (f"{NAME}N=${{ARCH#gfx}}\n{SET}${{N:0:1}}.${{N:1:1}}.${{N:2:1}}\n", "1.1.0"),
])  # fmt: skip
def test_an_override_that_is_cut_out_of_the_name_of_the_gpu(tmp_path: Path, text: str, value: str) -> None:
    found = serious(report(tmp_path, {"setup_rocm.sh": text + TORCH, "README.md": "Run `bash setup_rocm.sh`.\n"}))
    assert [(f.id, f.severity) for f in found] == [("arch.override-wrong", "error")]
    assert f"HSA_OVERRIDE_GFX_VERSION={value} " in found[0].title


@pytest.mark.parametrize("text", [
    f"{NAME}N=${{ARCH#gfx}}\n{SET}${{N:0:2}}.${{N:2:1}}.${{N:3:1}}\n",
    f"{NAME}{SET}$(echo $ARCH | sed -E 's/gfx(..)(.)(.)/\\1.\\2.\\3/')\n",
    f"{NAME}{SET}$(echo ${{ARCH}} | sed 's/gfx\\(..\\)\\(.\\)\\(.\\)/\\1.\\2.\\3/')\n",
])  # fmt: skip
def test_one_that_becomes_the_version_of_the_gpu_is_no_problem(tmp_path: Path, text: str) -> None:
    assert report(tmp_path, {"setup_rocm.sh": text + TORCH}).verdict == "ready"


@pytest.mark.parametrize("value", ["$(./which-gpu)", "$(rocminfo | my-filter)", "${1}", "$FROM_OUTSIDE"])
def test_an_override_that_only_the_machine_knows_is_not_green(tmp_path: Path, value: str) -> None:
    found = report(tmp_path, {"setup_rocm.sh": f"{SET}{value}\n{TORCH}"})
    assert found.verdict == "undetermined"
    assert "which HSA_OVERRIDE_GFX_VERSION line 1 sets is not known" in found.summary


@pytest.mark.parametrize("value", ["$HSA_OVERRIDE_GFX_VERSION", "${HSA_OVERRIDE_GFX_VERSION:-11.0.0}"])
def test_one_that_hands_on_what_is_set_is_green(tmp_path: Path, value: str) -> None:
    assert report(tmp_path, {"setup_rocm.sh": f"{SET}{value}\n{TORCH}"}).verdict == "ready"


WRITTEN = {
    "cargo": ('cat >> ~/.cargo/config.toml <<EOF\n[env]\nHSA_OVERRIDE_GFX_VERSION = "10.3.0"\nEOF\n', 4),
    "a unit": ('sudo tee /etc/systemd/system/a.service >/dev/null <<\'EOF\'\n[Service]\nEnvironment="HSA_OVERRIDE_GFX_VERSION=10.3.0"\nEOF\n', 4),
    "variables": ('VALUE=10.3.0\ncat > "$HERE/.env.rocm" <<EOF\n# written\nexport HSA_OVERRIDE_GFX_VERSION=$VALUE\nEOF\n', 5),
    "a session": ("printf 'HSA_OVERRIDE_GFX_VERSION=10.3.0\\n' > ~/.config/environment.d/rocm.conf\n", 2),
    "a profile": ("echo 'export HSA_OVERRIDE_GFX_VERSION=10.3.0' | sudo tee /etc/profile.d/rocm.sh\n", 2),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line"), WRITTEN.values(), ids=WRITTEN)
def test_an_override_that_a_script_writes_for_later_programs(tmp_path: Path, text: str, line: int) -> None:
    found = said(report(tmp_path, {"setup_rocm.sh": TORCH + text}))
    assert found == [("arch.override-wrong", "warning", f"setup_rocm.sh:{line}")]


@pytest.mark.parametrize("to", ["", " > .env.example", " > notes.txt"])
def test_a_text_that_no_program_reads_sets_nothing(tmp_path: Path, to: str) -> None:
    text = f"cat{to} <<EOF\nHSA_OVERRIDE_GFX_VERSION=10.3.0\nEOF\n"
    assert report(tmp_path, {"setup_rocm.sh": TORCH + text}).verdict == "ready"


def test_a_quoted_text_is_written_as_it_is(tmp_path: Path) -> None:
    text = f"{NAME}cat > .env <<{{0}}\nHSA_OVERRIDE_GFX_VERSION=${{{{ARCH#gfx}}}}\n{{1}}\n{TORCH}"
    found = serious(report(tmp_path / "a", {"setup_rocm.sh": text.format("EOF", "EOF")}))
    assert [f.title for f in found] == ["HSA_OVERRIDE_GFX_VERSION=1100 is not a version"]
    assert serious(report(tmp_path / "b", {"setup_rocm.sh": text.format("'EOF'", "EOF")})) == []
