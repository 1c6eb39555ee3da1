"""Device nodes: there or not, whose, and open or not."""

from __future__ import annotations

import pytest
from faketools import artifacts

from rocm_doctor.probes.kernel.devices import probe

KFD = "exists: yes\nmode: 0660\nuid: 0\ngid: 109\ngroup: render\nopen: {}\n"


def values(texts: dict[str, str]) -> dict[str, object]:
    return {key: fact.value for key, fact in probe(artifacts(texts)).facts.items()}


def test_open() -> None:
    assert values({"dev/kfd": KFD.format("ok")}) == {
        "kfd.exists": True, "kfd.gid": "109", "kfd.group": "render", "kfd.openable": True, "kfd.error": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "words", ["Permission denied", "Operation not permitted", "EACCES Permission denied", "Cannot allocate memory"]
)
def test_refused(words: str) -> None:
    got = values({"dev/kfd": KFD.format(words)})
    assert (got["kfd.openable"], got["kfd.error"]) == (False, words)


def test_an_opening_that_hangs_is_unknown() -> None:
    assert "kfd.openable" not in values({"dev/kfd": KFD.format("unknown")})


def test_absent() -> None:
    facts = probe(artifacts({}, {"dev/kfd": "absent-source", "dev/dri": "absent-source"})).facts
    assert facts["kfd.exists"].value is False
    assert facts["render.nodes"].value == ()


def test_nobody_looked() -> None:
    assert values({}) == {}


def test_render_nodes_of_others_do_not_count() -> None:
    texts = {
        "dev/dri/renderD128": "exists: yes\ngid: 105\nopen: Permission denied\n",
        "dev/dri/renderD129": "exists: yes\ngid: 992\ngroup: render\nopen: ok\n",
        "sys/class/drm/renderD128/device/uevent": "DRIVER=i915\n",
        "sys/class/drm/renderD129/device/uevent": "DRIVER=amdgpu\n",
    }
    got = values(texts)
    assert got["render.nodes"] == ("renderD128", "renderD129")
    assert (got["render.openable"], got["render.gid"], got["render.group"]) == (True, "992", "render")


def test_one_closed_node_is_told() -> None:
    texts = {"dev/dri/renderD128": "open: ok\nexists: yes\n", "dev/dri/renderD129": "open: Permission denied\nexists: yes\n"}
    assert values(texts)["render.openable"] is False


def test_a_hanging_node_leaves_it_open() -> None:
    texts = {"dev/dri/renderD128": "open: ok\n", "dev/dri/renderD129": "open: unknown\n"}
    assert "render.openable" not in values(texts)


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("crw-rw---- 1 root render 235, 0 Jan  5 10:00 /dev/kfd", "kfd.group", "render"),
        ("crw-rw----+ 1 root 109 234, 0 Nov 21 2025 /dev/kfd", "kfd.gid", "109"),
        ("crw-rw-rw- 1 nobody nogroup 226, 128 Feb 10 12:34 /dev/dri/renderD128", "render.group", "nogroup"),
        ("crw-rw---- 1 root 992 226, 129 Feb 10 12:34 renderD129", "render.gid", "992"),
        ("ls: cannot access '/dev/kfd': No such file or directory", "kfd.exists", False),
        ("ls: cannot access \u2018/dev/kfd\u2019: No such file or directory", "kfd.exists", False),
    ],
)
def test_listings_in_pasted_text(line: str, key: str, value: object) -> None:
    assert values({"paste/text": f"$ ls -l\n{line}\nand so on\n"})[key] == value


def test_wsl_device() -> None:
    assert values({"dev/dxg": "exists: yes\n"}) == {"dxg.exists": True}
    assert probe(artifacts({}, {"dev/dxg": "absent-source"})).facts["dxg.exists"].value is False
