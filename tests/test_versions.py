"""Version arithmetic: the traps that real texts set, and agreement with PEP 440 where a text is PEP 440."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version as Pep440

from rocm_doctor.versions import contains, parse, parse_spec, release, rocm_of_local, series, sort_key


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("6.4.0-47", (6, 4, 0)),
        ("6.3.42134-a9a80e791", (6, 3, 42134)),
        ("7.0.0.70000-17~24.04", (7, 0, 0)),
        ("6.3.60304", (6, 3, 4)),
        ("7.12.0a20260203", (7, 12, 0)),
        ("2.4.1+rocm6.0", (2, 4, 1)),
        ("6.8.0-45-generic", (6, 8, 0)),
        ("6.18-rc6", (6, 18)),
        ("6.18.0-rc6+", (6, 18, 0)),
        ("2.11.0a0+rocm7.11.0a20260106", (2, 11, 0)),
        ("5.15.167.4-microsoft-standard-WSL2", (5, 15, 167, 4)),
        ("v3.12.3", (3, 12, 3)),
        ("0.10b", (0, 10)),
        ("unknown", None),
        ("", None),
        ("a9a80e791", None),
    ],
)
def test_release_of_what_machines_print(text: str, numbers: tuple[int, ...] | None) -> None:
    assert release(text) == numbers


@pytest.mark.parametrize(
    ("spec", "text", "inside"),
    [
        (">=7.11", "7.12.0a20260203", True),  # PEP 440 leaves pre-releases out
        (">=2.11,<2.12", "2.11.0a0+rocm7.11.0a20260106", True),  # a nightly of 2.11 holds 2.11 code
        ("<2.11", "2.11.0a0", False),
        ("<7.11.0a20260119", "7.11.0a20260118", True),
        ("<7.11.0a20260119", "7.11.0", False),
        ("<7.11.0a20260119", "7.10.0", True),
        ("==6.4.0", "6.4.0-47", True),  # packaging reads post47
        ("6.4", "6.4.0-47", True),
        ("6.4", "6.4.1", False),
        ("2.4.*", "2.4.1+rocm6.0", True),
        ("!=2.4.*", "2.5.0", True),
        ("<6.18-rc6", "6.18-rc5", True),
        ("<6.18-rc6", "6.18.0", False),
        (">=6.17.0-19", "6.17.0-19.19~24.04.2", True),
        (">=6.17.0-19", "6.17.0-14-generic", False),
        (">=6.17.0-19", "6.17.1-300.fc43.x86_64", True),
        ("~=2.4.1", "2.4.9", True),
        ("~=2.4.1", "2.4.1", True),
        ("~=2.4.1", "2.4.0", False),
        ("~=2.4.1", "2.5.0", False),
        ("==7.11.0a20260106", "7.11.0a20260107", False),
        (">2.8.3", "2.8.3.post2", False),
        ("<=7.0", "7", True),
        ("<7.0", "7", False),
        ("<=7.0.x", "7", True),
        (">7.0.x", "7.1", True),
        ("<=2.8.3", "2.8.3.post2", True),  # PEP 440 leaves it out: the bound names no post-release
        (">=2.8.0.post1", "2.8.0", False),
        ("<2.8.0.post1", "2.8.0", True),
        ("<2.8.0.post1", "2.8.0.post1", False),
        (">=2.8.0.post1", "2.8.1", True),
        ("<=7.2.x", "7.2.4", True),
        ("<=7.2.x", "7.3.0", False),
        (">7.2.x", "7.2.4", False),
        (">7.2.x", "7.9.0", True),
        (">=7.2.x", "7.2.0", True),
        ("<7.2.x", "7.2.0", False),
        ("7.2.x", "7.2.3", True),
        ("<=7.2.x", "7.2.1.dev3", True),
    ],
)
def test_ranges(spec: str, text: str, inside: bool) -> None:
    assert contains(spec, text) is inside


def test_a_text_that_is_no_version_is_unknown_and_a_bad_bound_is_an_error() -> None:
    assert contains(">=2", "main") is None
    for spec in (">=", "banana", ">=2.*", "2.0,,3.0", "==2.9.1+rocm6.3", "2.9.1+rocm6.3"):
        with pytest.raises(ValueError, match="not a bound"):
            parse_spec(spec)


def test_the_rocm_part_is_compared_on_its_own() -> None:
    ten, seven = "2.12.0+rocm10.0", "2.12.0+rocm7.0"
    assert Pep440(ten) < Pep440(seven)  # why nobody may compare the whole
    assert sort_key(str(rocm_of_local(ten))) > sort_key(str(rocm_of_local(seven)))


@pytest.mark.parametrize(
    ("text", "rocm"),
    [
        ("2.9.1+rocm6.4", "6.4"),
        ("2.9.1+rocm7.2.0.lw.git7e1940d4", "7.2.0"),
        ("2.9.1+rocm7.11.0a20260118", "7.11.0a20260118"),
        ("2.9.0+devrocm7.10.0.dev0-efed3c", "7.10.0.dev0"),
        ("3.8.0+git4cff872c.rocm10.0.0", "10.0.0"),
        ("2.9.1+rocmsdk20260116", None),
        ("2.9.1", None),
    ],
)
def test_rocm_of_a_local_part(text: str, rocm: str | None) -> None:
    assert rocm_of_local(text) == rocm


def test_series() -> None:
    assert series("7.2.53211-e1a6bc5663") == "7.2"
    assert series("7") is None


PLAIN = st.lists(st.integers(0, 40), min_size=1, max_size=4).map(lambda n: ".".join(map(str, n)))
OPERATOR = st.sampled_from((">=", "<=", "==", "!=", ">", "<"))


@given(PLAIN, OPERATOR, PLAIN)
def test_plain_versions_compare_as_pep_440_does(text: str, operator: str, bound: str) -> None:
    assert contains(operator + bound, text) is SpecifierSet(operator + bound).contains(text)


@given(PLAIN, PLAIN)
def test_a_prefix_is_pep_440s(text: str, bound: str) -> None:
    assert contains(f"=={bound}.*", text) is SpecifierSet(f"=={bound}.*").contains(text)


TWO_OR_MORE = st.lists(st.integers(0, 40), min_size=2, max_size=4).map(lambda n: ".".join(map(str, n)))


@given(PLAIN | TWO_OR_MORE, TWO_OR_MORE)
def test_a_compatible_release_is_pep_440s(text: str, bound: str) -> None:
    for version in (text, bound, f"{bound}.1"):
        assert contains(f"~={bound}", version) is SpecifierSet(f"~={bound}").contains(version)


@given(PLAIN, st.integers(1, 9), OPERATOR, PLAIN, st.integers(1, 9))
def test_post_releases_compare_as_pep_440_does_where_both_have_one(
    text: str, post: int, operator: str, bound: str, limit: int
) -> None:
    version = f"{text}.post{post}"
    spec = f"{operator}{bound}.post{limit}"
    assert contains(spec, version) is SpecifierSet(spec).contains(version)


@given(PLAIN, st.sampled_from(("a1", "b2", "rc1", ".dev7", "rc2.dev1")), OPERATOR, PLAIN, st.sampled_from(("a1", "rc1", ".dev7")))
def test_pre_releases_compare_as_pep_440_does_where_both_have_one(
    text: str, pre: str, operator: str, bound: str, limit: str
) -> None:
    version, spec = text + pre, operator + bound + limit
    expected = SpecifierSet(spec).contains(version, prereleases=True)
    assert contains(spec, version) is expected


@given(st.text(max_size=60))
def test_any_text_is_a_version_or_none(text: str) -> None:
    version = parse(text)
    assert version is None or all(n >= 0 for n in version.release)
    assert contains(">=1", text) in (None, True, False)
