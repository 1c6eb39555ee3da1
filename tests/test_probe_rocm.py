"""ROCm installations: which, of which release, and whose libraries come first."""

from __future__ import annotations

import pytest
from faketools import artifacts

from rocm_doctor.model import Why
from rocm_doctor.probes.python.rocm import probe

HIP = "libamdhip64.so.6 -> libamdhip64.so.6.4.43483\n"
TWO = {
    "opt/rocm": "link: /opt/rocm-6.4.1\n",
    "opt/rocm-6.3.0/.info/version": "6.3.0-39\n",
    "opt/rocm-6.4.1/.info/version": "6.4.1-83\n",
    "opt/rocm-6.3.0/lib/.listing": "libamdhip64.so.6 -> libamdhip64.so.6.3.42131\n",
    "opt/rocm/lib/.listing": HIP,
}


def values(texts: dict[str, str], missing: dict[str, Why] | None = None) -> dict[str, object]:
    return {key: fact.value for key, fact in probe(artifacts(texts, missing)).facts.items()}


@pytest.mark.parametrize(
    ("text", "version"),
    [("6.4.1-83\n", "6.4.1"), ("6.4.0-47", "6.4.0"), ("7.2.0", "7.2.0"), ("7.10.0a20251124\n", "7.10.0a20251124"),
     ("10.0.0-1\n", "10.0.0"),
     ("", None), ("unknown\n", None)],
)  # fmt: skip
def test_version_files(text: str, version: str | None) -> None:
    got = values({"opt/rocm-x/.info/version": text})
    assert got.get("rocm.version") == version
    assert got["rocm.installations"] == (f"/opt/rocm-x={version or '?'}",)


def test_side_by_side_the_link_decides() -> None:
    got = values(TWO)
    assert got["rocm.installations"] == ("/opt/rocm-6.3.0=6.3.0", "/opt/rocm-6.4.1=6.4.1")
    assert (got["rocm.version"], got["rocm.source"]) == ("6.4.1", "opt")


def test_side_by_side_the_loader_decides() -> None:
    got = values({**TWO, "etc/ld.so.conf.d/rocm.conf": "/opt/rocm/lib\n"})
    assert got["rocm.version"] == "6.4.1"


def test_ld_library_path_comes_before() -> None:
    env = {"env": "LD_LIBRARY_PATH=/nothing:/opt/rocm-6.3.0/lib:/opt/rocm/lib\n", "etc/ld.so.conf.d/rocm.conf": "/opt/rocm/lib\n"}
    got = values({**TWO, **env})
    assert got["rocm.version"] == "6.3.0"
    assert got["rocm.on_path"] == ("/opt/rocm-6.3.0=6.3.0", "/opt/rocm-6.4.1=6.4.1")


def test_two_without_a_link_or_loader_stay_undecided() -> None:
    got = values({name: text for name, text in TWO.items() if name.endswith("version")})
    assert "rocm.version" not in got
    assert len(got["rocm.installations"]) == 2  # type: ignore[arg-type]


def test_a_distributions_libraries_spell_their_release() -> None:
    got = values({"usr/lib64/.listing": f"{HIP}librocm-core.so.1 -> librocm-core.so.1.0.60401\n"})
    assert got["rocm.installations"] == ("/usr/lib64=6.4.1",)
    assert (got["rocm.version"], got["rocm.source"]) == ("6.4.1", "distribution")


def test_the_distributions_own_before_opt() -> None:
    """No path leads to /opt/rocm: the loader takes what lies in the system's folders, and that release counts."""
    own = {"usr/lib64/.listing": "libamdhip64.so.6 -> libamdhip64.so.6.3.42131\nlibrocm-core.so.1.0.60302\n"}
    got = values({**own, "opt/rocm-6.4.1/.info/version": "6.4.1-83\n", "opt/rocm": "link: /opt/rocm-6.4.1\n"})
    assert (got["rocm.version"], got["rocm.source"]) == ("6.3.2", "distribution")


def test_a_runtime_without_hip_is_an_installation_of_unknown_release() -> None:
    got = values({"usr/lib/x86_64-linux-gnu/.listing": "libhsa-runtime64.so.1 -> libhsa-runtime64.so.1.5.0\n"})
    assert got == {"rocm.installations": ("/usr/lib/x86_64-linux-gnu=?",), "rocm.source": "distribution"}


@pytest.mark.parametrize(
    "texts",
    [
        {"opt/rocm/core-7.14/.info/version": "7.14.0\n"},
        {"opt/rocm/.info/version": "7.14.0\n", "opt/rocm/lib/.listing": f"{HIP}rocm_sysdeps\n"},
    ],
)
def test_therock(texts: dict[str, str]) -> None:
    got = values(texts)
    assert (got["rocm.version"], got["rocm.source"]) == ("7.14.0", "therock")


def test_none_installed() -> None:
    assert values({}, {"opt/rocm": "absent-source"}) == {"rocm.installations": ()}
    assert values({}) == {}
