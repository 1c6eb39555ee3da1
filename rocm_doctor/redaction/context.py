"""Does what is around an unknown word show that it is a term of software: code, a package, a file of the system, a hash, a version?"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.addresses import CONDA_BUILD
from rocm_doctor.redaction.known import load_known
from rocm_doctor.redaction.vocabulary import FIELD, vocabulary_level

_REACH = 240
"""Characters on both sides of a word that are looked at, up to the ends of its line."""
_REPLACED = r"<[a-z]{2,9}[- ]\d{1,6}>"
_TO_BREAK = regex(r"(?s:.*[\s\"'`<>|;,])?")
_REPLACED_BEFORE = regex(rf"{_REPLACED}\Z")
_CHUNK_AFTER = regex(rf"(?:[^\s\"'`<>|;,]|{_REPLACED})*")
_NAME = regex(r"[\w-]*")


class WordContext(NamedTuple):
    """A word, its line before and behind it, and `begin`: what is written directly before it, without a space or a quote."""

    before: str
    word: str
    after: str
    begin: str

    @property
    def chunk(self) -> str:
        """All that is written around the word without a space or a quote."""
        return self.begin + self.word + _CHUNK_AFTER.match(self.after)[0]  # type: ignore[index]

    @property
    def name(self) -> str:
        """The word with what letters, digits, underscores and hyphens join to it."""
        return _end(self.before, "-_") + self.word + _NAME.match(self.after)[0]  # type: ignore[index]

    @property
    def line(self) -> str:
        """The line, as far as it is looked at."""
        return self.before + self.word + self.after


def _end(text: str, joints: str) -> str:
    """The end of `text` that is of letters, digits and `joints`."""
    at = len(text)
    while at and (text[at - 1].isalnum() or text[at - 1] in joints):
        at -= 1
    return text[at:]


def _begin(before: str) -> str:
    """The end of `before` that holds no space and no quote. A pseudonym is a part of it, though it has brackets."""
    end = len(before)
    while True:
        cut = _TO_BREAK.match(before, 0, end).end()  # type: ignore[union-attr]
        replaced = _REPLACED_BEFORE.search(before, max(0, cut - 18), cut) if before[cut - 1 : cut] == ">" else None
        if replaced is None:
            return before[cut:]
        end = replaced.start()


def context(text: str, start: int, end: int) -> WordContext:
    """The word between `start` and `end`, with its line."""
    before = text[max(0, start - _REACH) : start].rpartition("\n")[2]
    return WordContext(before, text[start:end], text[end : end + _REACH].partition("\n")[0], _begin(before))


def is_software(text: str, start: int, end: int) -> bool:
    """Whether the word between `start` and `end` is where software names its own things."""
    return _any_test(context(text, start, end))


@lru_cache(10_000)  # a log repeats its lines
def _any_test(here: WordContext) -> bool:
    return any(test(here) for test in _TESTS)


_OPTION = regex(r"(?:^|[\s\"'`(\[|=])(?:--[\w-]*|-(?![upUPlh])\w*|-[Wfm][\w=-]*)$")
_KEY = regex(r'[\w. -]*"\s{0,20}:')


def _is_named_by_a_program(here: WordContext) -> bool:
    """An option, the key of a field in JSON, a variable that is set, a constant of words of the field."""
    if _OPTION.search(here.before):
        return True
    if _KEY.match(here.after) and here.before.rpartition('"')[0].rstrip()[-1:] in ("", ",", "{", "["):
        return True
    name = here.name
    first, *others = name.split("_")
    if (
        name.isupper()
        and others
        and (
            vocabulary_level(first) == FIELD
            or (len(others) > 2 and all(vocabulary_level(part) == FIELD for part in others if part))
        )
    ):
        return True
    behind = here.after[_NAME.match(here.after).end() :]  # type: ignore[union-attr]
    return behind[:1] == "=" != behind[1:2] and "://" not in here.chunk and "@" not in here.chunk


_CALL = regex(r"\((?!\d|uid)")
_SYMBOL = regex(
    r"::|(?:^|\W)_Z[A-Z0-9]|\+0x[0-9a-f]+|(?:^|\W)(?:Cijk|TensileLibrary|igemm|ck)_|(?:^|\s)(?:[vs]|ds|buffer|flat|global)_[a-z0-9_]*[biuf]\d"
)
_FRAME = regex(r"(?:-----(?:BEGIN|END) |, in |\bdef |\bclass |\bin function '?|symbol:? '?|undefined reference to [`'])[\w.]*\Z")
_DOTTED = regex(r"([a-z]\w*)(?:\.[A-Za-z_]\w*){2,6}[:,.)\]]?")


def _is_code(here: WordContext) -> bool:
    """A function, a class, a symbol, a module of a package."""
    if _CALL.match(here.after) and (here.before[-1:] in "._ \t(=," or not here.before):
        return True
    if here.after.startswith("::") or _SYMBOL.search(here.chunk) or _FRAME.search(here.before):
        return True
    path = _DOTTED.fullmatch(here.chunk) if "." in here.begin and "_" in here.chunk else None
    return path is not None and vocabulary_level(path[1]) == FIELD


_PACKAGE_BEFORE = regex(
    r"(?:\bimport |No module named ['\"]|(?:pip|uv|conda|mamba|apt|apt-get|dnf|pacman|zypper)3? (?:\S+ ){0,3}?(?:install|add|-S\w*) (?:[^;|]* )?|Collecting "
    r"|Requirement already satisfied: |Building wheels? for |Installing collected packages: (?:.* )?|Successfully installed (?:.* )?|Downloading |Using cached )\S*$"
)
_VERSION_AFTER = regex(
    rf"(?:[\w.-]|{_REPLACED})*(?:(?:==|>=|<=|~=|!=)\d| v?(?!\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?![\w.-]))\d+\.\d+\.\d+(?![\d.]*-\d+-)| [Vv]ersion:? v?\d+\.\d)"
)
_PRIVATE_INDEX = regex(r"index-url[ =]\S*@")
_IMPORTED = regex(r"[\w.]* import\b")
_SHORT_VERSION = regex(r"[\w.-]*[ \t]*[@ \t(][ \t(]*(?!\d{2,3}(?:\.\d{1,3}){3}(?![\w.-]))v?\d+\.\d+[\w.+-]*\)?[ \t]*(?:$|[a-z])")
_ALONE = regex(r"^[\s|*-]{0,40}[\w.-]*$")
_BUILD_AFTER = regex(rf"[\w.-]*(?:[ \t=-]{{1,30}}\d[\w.!]{{0,30}}[ \t=-]{{1,30}}{CONDA_BUILD}|_1\d{{9,12}}/| @ file:///)")
"""What is behind the name of conda's package: its version and build, or in the folder that it was built in the time."""
_BUILD = regex(rf"(?:^|-){CONDA_BUILD}")


def _is_package(here: WordContext) -> bool:
    """A package with its version, or where one is installed or imported."""
    if _VERSION_AFTER.match(here.after):
        return not here.before.endswith("Linux ") and "://" not in here.begin
    if _BUILD_AFTER.match(here.after) or _BUILD.search(here.name):
        return True
    if _PACKAGE_BEFORE.search(here.before) or (_IMPORTED.match(here.after) and "from " in here.before):
        return "@" not in here.chunk and not _PRIVATE_INDEX.search(here.line)
    return _ALONE.match(here.before) is not None and _SHORT_VERSION.match(here.after) is not None


_FILE_AFTER = regex(r"[\w.+-]*\.(?:so|dll|ko|hsaco|sys|pyd|dylib|deb|rpm|whl|h|hpp|cuh|hip|inc)\b", re.I)
_ROOTS = regex(
    r"(?:/(?:site|dist)-packages/|^[^/]*/(?:opt/(?:rocm|amdgpu|conda|intel|ompi|ucx)|usr|var/lib/(?:flatpak|snapd|dkms|apt)|lib|lib64|sys|proc|dev|etc|boot|nix/store|bin|sbin)(?=[/-])"
    r"|/lib/python|\\site-packages\\|/_deps/|/third_party/|/csrc/|/aten/|/kernels/|\\Windows\\|\\Program Files)",
    re.I,
)
_PAGE = regex(
    r"(?:^|[/.@(\[])(?:amd\.com|pytorch\.org|python\.org|readthedocs\.io|kernel\.org|ubuntu\.com|nvidia\.com|amd\.github\.io|docs\.[\w-]+\.[a-z]{2,6})/[\w./-]*$"
)
_OWNER = regex(r"(?:^|[=:]|\.(?:co|com|io|org|ai)/(?:datasets/|spaces/)?)([\w.-]+)/[\w.-]*$")


def _is_public_file(here: WordContext) -> bool:
    """A library, a file of the system or of an environment, a page of documentation, a project of an owner whom everybody knows."""
    if _FILE_AFTER.match(here.after) or _PAGE.search(here.begin) or ("@" not in here.begin and _ROOTS.search(here.begin)):
        return True
    owner = _OWNER.search(f"{here.begin}{here.word}{here.after[:1]}") or _OWNER.search(here.begin)
    return owner is not None and owner[1].casefold() in load_known().public_owners


_KERNEL = regex(r"^(?:.{0,60}kernel: ?)?\[ *\d+\.\d{3,6}\]|^.{0,60} kernel:|^<\d>\[|^\w+ +\d{4,9} +-?\d{1,3}(?: [\w,]*)?\s*$")
_OF_A_LOGIN = regex(
    r"(?:acct|user|name|comm|host|hostname|nodename|by|for|process|thread|cgroup|task|label)[=: ]{1,2}[\"']?[\w.-]*$|\bip=[\w.:]*$|//[\w.-]*$"
)
"""Where a line of the kernel names a login, a program or a machine."""


def _is_of_the_kernel(here: WordContext) -> bool:
    """A driver or a device in a line of the kernel or of lsmod, unless it is a number of one device."""
    return (
        (here.word.isalpha() or "Hardware Error" in here.line)
        and not _OF_A_LOGIN.search(here.before)
        and _KERNEL.match(here.line) is not None
        and "kernel:" not in here.after
    )


_HEX = regex(r"[0-9a-fA-F]{5,}")
_HASH_BEFORE = regex(
    r"(?:commit|index|revision|rev|sha\d*|git|hash|head|build(?: ?id)?|branch|merge|checkout|digest|snapshots?|blobs?|trees?|compare|md5|crc|version|local|image|etag|tag"
    r"|[+-]g|@|\.git|\.conda#|\.bz2#|fw|vbios|checksum|sum|nightly|artifacts|roc-[\d.]+ \d+|\.\.)[\s:=/\"'`(\[@-]{0,4}$",
    re.I,
)
_MEMORY_BEFORE = regex(
    r"(?:addr(?:ess)?|at|rip|r\d\d|r[a-z]{2}|cr\d|code|fault|ptr|handle|pc|flags?|mask|status|offset|value|size|0x|#|ucode|/tmp/[a-z]+-)\W{0,6}(?:\w{0,12}[ /:=])?$",
    re.I,
)
_BUILD_BEFORE = regex(r"\d+\.\d[\w.]{0,40}[+.~/-]\w*$|\($|/pip-[a-z-]+-$")
_ADDRESS = 16
"""Digits of an address in memory, at most."""


def _is_hash(here: WordContext) -> bool:
    """A commit, a digest, a build, an address of memory, a register."""
    if not _HEX.fullmatch(here.word):
        return "/pip-" in here.begin
    if _HASH_BEFORE.search(here.before) or "/.cache/" in here.begin or "/pip-" in here.begin:
        return True
    return len(here.word) <= _ADDRESS and bool(_MEMORY_BEFORE.search(here.before) or _BUILD_BEFORE.search(here.before))


_VERSION_BEFORE = regex(r"(?:^|[\s\"'(=/:v_-])\d+\.\d+\.\d[\w.+~-]*(?<=[-+_.~])$")
_PRODUCT_BEFORE = regex(
    r"(?:\b|_)(?i:vbios(?:[ _]version)?|part[ _]number|(?:card|device|gpu|product|marketing|market|board|model|asic|cpu|vendor)[ _](?:series|model|name|sku|vendor|version|number)"
    r"|model|codename|sku|distro|distribution|pretty_name|os|processor|chipset|architecture|controller|subsystem|adapter|firmware|bios)[\"']?[ \t]*(?:[:=|]|\[\d{4}\]:|\s{2})[^@\n]*$"
)
_MAKER_BEFORE = regex(
    r"\b(?:Linux|Windows|Ubuntu|Debian|Fedora|NixOS|AMD|Radeon|Instinct|Ryzen|EPYC|Navi|Vega|ASUS|ASUSTeK|ASRock|Gigabyte|GIGABYTE|MSI|Supermicro|Dell|HP|HPE|Lenovo|LENOVO|Intel"
    r"|NVIDIA|Broadcom|Mellanox|Realtek|Samsung|Sapphire|PowerColor|XFX|Minisforum|Framework|ThinkPad|GeForce|KIOXIA|Micron|Seagate|WDC|WD|Solidigm|hynix|TOSHIBA|Crucial)"
    r"(?: \(?[A-Z0-9][\w.()/+-]*){0,4}[ -][(\[]?$|\b[A-Z]\w{0,40} ?\d{1,9}(?:\.\d+)*,? \(?(?:[A-Z][a-z]+ )?$|\d+\.\d+ \((?:[A-Z][a-z]+ )?$"
)
"""A maker, or the release of a system before its code name: `NixOS 25.05 (Warbler)`."""
_PART = regex(r"(?i:cve)-\d{4}-\d{4,7}|1\d\d-[A-Z0-9]{5,12}-\w{1,4}|[A-Z]{2,4}-[0-9A-Z]{3,5}|pc-(?:q35|i440fx)-\d{1,2}")
"""Numbers of boards and of their firmware, machines of QEMU: `113-D1650600-X63`, `MS-7D78`."""


def _is_product(here: WordContext) -> bool:
    """A part of a version, of the name of a product, of a system or of a firmware."""
    if _VERSION_BEFORE.search(here.before) and not here.after.startswith("@"):
        return True
    if _PART.fullmatch(here.name):
        return True
    if _PRODUCT_BEFORE.search(here.before):
        return "/home" not in here.before
    return here.word[0].isupper() and _MAKER_BEFORE.search(here.before) is not None


_TESTS = (_is_named_by_a_program, _is_package, _is_code, _is_public_file, _is_of_the_kernel, _is_hash, _is_product)
