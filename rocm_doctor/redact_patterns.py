r"""What gives a person or a machine away in a text, as finders of spans. Each is quick on megabytes of log.

Patterns start at a rare literal (`:`, `.`, `-`, a key word) and look back from there: the regex engine then skips to that
character instead of trying every position, which makes the difference between 0.3 and 5 seconds for 10 MB.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator

Spans = Iterator[tuple[int, int]]

# Names that identify nobody, and words of the field that would be torn out of every log if a user were called so.
COMMON = frozenset(
    re.findall(
        r"\S+",
        """
root user users admin administrator ubuntu debian fedora centos rocky arch nixos localhost localdomain local default public docker
container runner jenkins gitlab-runner vscode codespace jovyan conda miniconda venv app nobody amd rocm gpu gpus cpu hip hsa torch
pytorch python linux windows render video kernel driver model train test data home work workspace node name max min host version
info error true false none null dev sys proc opt usr tmp var env log card device memory size type value key serial guest
""",
    )
)

PSEUDONYM = re.compile(r"<(?:user|host|home|email|token|uuid|serial|ip|mac)[- ]\d+>")
ENDS = r"(?![A-Za-z0-9_.-])"
_HEX = "0123456789abcdefABCDEF"
SECRET_KEYS = {
    "uuid": "uuid",
    "unique_id": "uuid",
    "serial": "serial",
    "asic_serial": "serial",
    "product_serial": "serial",
    "machine_id": "serial",
    "hostname": "host",
}


def bounded(name: str, edge: str = "") -> str:
    """A regex for `name` as a word that is no JSON key. An underscore also ends a long name: `jmiller_lora.py` names jmiller.

    A name of one or two letters is taken only where a login, a path or a parenthesis says what it is.
    """
    if len(name) < 3:
        return f"{re.escape(name)}(?<=[@/\\\\=(]{re.escape(name)})(?=[@:\\s/\\\\)]|$)"
    edge = edge or ("A-Za-z0-9" if len(name) >= 5 else "A-Za-z0-9_")
    return f'{re.escape(name)}(?<![{edge}]{re.escape(name)})(?![{edge}])(?!"\\s*:)'


def canonical(kind: str, secret: str) -> str:
    """One spelling for one secret: an id is the same number in hex (rocminfo, amd-smi) and in decimal (the KFD topology)."""
    if kind not in ("uuid", "serial"):
        return secret.casefold()
    bare = secret.casefold().removeprefix("gpu-").removeprefix("0x")
    digits = bare.replace("-", "")
    if re.fullmatch(r"\d{17,20}", digits):
        return str(int(digits))
    return str(int(digits, 16)) if re.fullmatch(r"[0-9a-f]{8,}", digits) else bare


def identifies(value: str) -> bool:
    """Whether an id or serial says anything: `0`, `N/A`, `GPU-XX` and all-zero ids name no card."""
    return len(value) >= 5 and any(c.isdigit() for c in value) and len(set(value.removeprefix("0x")) - {"-"}) > 1


def lower(text: str) -> str:
    """ASCII lower case, of the same length: positions found in it hold in `text`."""
    return text.encode("ascii", "replace").lower().decode("ascii")


def _at(words: tuple[str, ...], low: str) -> Iterator[int]:
    """Where each of the words stands in a lower-case text."""
    for word in words:
        at = low.find(word)
        while at >= 0:
            yield at
            at = low.find(word, at + len(word))


_HOMES = re.compile(r"/(?:home|Users)/([\w.@+-]+)")
_WINDOWS_HOMES = re.compile(r":\\{1,2}users\\{1,2}([^\\/:*?\"<>|\r\n]+)(?=\\)", re.I)
_PROMPT = re.compile(r"@([A-Za-z0-9][\w.-]*)(?::| [~/])[^\n]{0,200}?[$#%](?: |$|\n)")
_UNAME = re.compile(r"Linux ([A-Za-z0-9][\w.-]*) \d+\.\d+")
_SYSLOG = re.compile(r":(?<=[A-Z][a-z]{2} [ \d]\d \d\d:)\d\d:\d\d ([A-Za-z0-9][\w.-]*) [\w./-]+(?:\[\d+\])?:")
_NAMED = (
    ("host", ("hostname", "computername"), re.compile(r"(?i:hostname|computername)[\"']?\s*[:=]\s*[\"']?([\w.-]+)")),
    ("host", ("host name", "node name"), re.compile(r"(?i:host name|node name)[\"']?\s*:\s*[\"']?([\w.-]+)")),
    ("user", ("user=", "username=", "logname="), re.compile(r"(?i:user|username|logname)=[\"']?([\w.-]+)")),
    ("user", ("uid=",), re.compile(r"uid=\d+\(([\w.-]+)\)")),
)


def names(text: str) -> Iterator[tuple[str, str]]:
    """Users and hosts that `text` names as such: home folders, shell prompts, `uname -a`, syslog stamps, HOSTNAME= and so on."""
    low = lower(text)
    yield from (("user", m[1].rstrip(".-")) for m in _HOMES.finditer(text))
    if "users\\" in low:
        yield from (("user", m[1]) for m in _WINDOWS_HOMES.finditer(text))
    for prompt in _PROMPT.finditer(text):
        if user := re.search(r"[A-Za-z_][\w.-]*$", text[max(0, prompt.start() - 40) : prompt.start()]):
            yield "user", user[0]
            yield "host", prompt[1]
    yield from (("host", m[1]) for m in _UNAME.finditer(text))
    yield from (("host", m[1]) for m in _SYSLOG.finditer(text))
    for kind, words, pattern in _NAMED:
        yield from ((kind, m[1].rstrip(".-")) for at in _at(words, low) if (m := pattern.match(text, at)))


_ID_WORDS = ("serial", "unique", "machine", "boot_id", "boot-id", "boot id", "asset")
_SERIAL = re.compile(
    r"(?i:serial(?:[ _-]?(?:number|no|num))?|unique[ _-]?id|machine[ _-]?id|boot[ _-]?id|asset[ _-]?tag)"
    r"[\"']?\s*(?:[:=]\s*|\s)[\"']?((?:0x)?[A-Za-z0-9][A-Za-z0-9-]{5,})(?![\w:.])"
)


def serials(text: str) -> Iterator[str]:
    """Serial numbers and unique ids, known by the key before them."""
    found = (m[1] for at in _at(_ID_WORDS, lower(text)) if (m := _SERIAL.match(text, at)))
    yield from (value.removeprefix("GPU-") for value in found if identifies(value))


_TOKEN_SHAPES = re.compile(
    r"hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{20,}|xox[abprs]-[\w-]{10,}"
    r"|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]+|pypi-[\w-]{30,}|npm_[A-Za-z0-9]{30,}|wandb_v1_\w{20,}"
)
_TOKEN_HINTS = ("hf_", "gh", "glpat-", "sk-", "xox", "AKIA", "AIza", "eyJ", "pypi-", "npm_", "wandb_v1_")
_KEY_WORDS = ("token", "secret", "passw", "passphrase", "api_key", "apikey", "access", "private", "credential")
_SECRET_KEY = re.compile(
    r"(?i:TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)(?:_ID)?[\"']?(?:\s*[:=]\s*|\s+)[\"']?"
    r"(?i:bearer )?([^\s\"'<>,;$&|()]{6,})"
)
_BEARER = re.compile(r"(?:Bearer|bearer|Basic|basic) ([\w.~+/=-]{12,})")
_URL_LOGIN = re.compile(r"://(?!<)([^\s/@:<>]*:[^\s/@<>]+|[^\s/@:<>]{12,})@")
_PEM = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----(.*?)-----END", re.S)


def tokens(text: str) -> Spans:
    """Tokens by their shape, values of keys called token, secret, password and the like, logins in URLs, private keys."""
    low = lower(text)
    found: list[tuple[int, int]] = []
    if any(hint in text for hint in _TOKEN_HINTS):
        found += [m.span() for m in _TOKEN_SHAPES.finditer(text) if m.start() == 0 or not text[m.start() - 1].isalnum()]
    found += [m.span(1) for at in _at(_KEY_WORDS, low) if (m := _SECRET_KEY.match(text, at)) and _looks_secret(m)]
    for hint, pattern in (("://", _URL_LOGIN), ("earer ", _BEARER), ("uthorization", _BEARER), ("PRIVATE KEY", _PEM)):
        if hint in text:
            found += [m.span(1) for m in pattern.finditer(text)]
    return _disjoint(found)


def _looks_secret(match: re.Match[str]) -> bool:
    """A value after a secret's key: mixed letters and digits, or any value at all of a password that is assigned."""
    value, assigned = match[1], re.search(r"[:=]", match.group()[: match.start(1) - match.start()])
    if PSEUDONYM.search(value):
        return False
    if assigned and match.group()[:5].casefold() == "passw":
        return True
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return mixed and len(value) >= (8 if assigned else 20) and not re.search(r"[/\\.]", value[:4])


def _disjoint(spans: list[tuple[int, int]]) -> Spans:
    end = 0
    for start, stop in sorted(spans, key=lambda s: (s[0], -s[1])):
        if start >= end:
            yield start, stop
            end = stop


_UUID = re.compile(r"-(?<=[0-9a-fA-F]{8}-)[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}(?![0-9a-fA-F])")
_GPU_UUID = re.compile(r"GPU-[0-9a-fA-F]{16}(?![0-9a-fA-F])")


def uuids(text: str) -> Spans:
    """UUIDs in the usual form, and the 16 digits of the runtime's `GPU-...`; ids of one repeated digit name nothing and stay."""
    found = [(m.start() - 8, m.end()) for m in _UUID.finditer(text)] if "-" in text else []
    if "GPU-" in text:
        found += [(m.start() + 4, m.end()) for m in _GPU_UUID.finditer(text)]
    return _disjoint([(start, end) for start, end in found if identifies(text[start:end])])


_MAC = re.compile(r"([:-])(?<=[0-9a-fA-F]{2}[:-])[0-9a-fA-F]{2}(?:\1[0-9a-fA-F]{2}){4}(?![0-9a-fA-F:-])")


def macs(text: str) -> Spans:
    """Ethernet addresses. A PCI address has only one colon before its dot and never fits."""
    for m in _MAC.finditer(text):
        start = m.start() - 2
        if start == 0 or not (text[start - 1].isalnum() or text[start - 1] in ":-"):
            yield start, m.end()


_QUAD = re.compile(r"\.(?<=\d\.)\d{1,3}\.\d{1,3}\.\d{1,3}(?![\w.+~-]|\.\d)|\.(?<=\d\.)\d{1,3}\.\d{1,3}\.\d{1,3}(?=\.(?:\s|$))")
_VERSION_BEFORE = re.compile(
    r"(?:[<>=!~]=|[<>~^@]|[\w+~.-]|\b(?:version|ver|release|rocm|hip|hsa|driver|amdgpu|firmware|kernel|python|torch|library|adrenalin)"
    r"\b[\w\s]{0,12}[\"')]*\s*[:=]?\s*[\"'(]?v?)$",
    re.I,
)
_PRIVATE = ("192.168.", "169.254.", *(f"172.{n}." for n in range(16, 32)))


def ips(text: str) -> Spans:
    """Addresses of machines. Four numbers after a version's word or operator, or with leading zeros, are a version: 6.3.0.1."""
    return _disjoint([*_ipv4(text), *_ipv6(text)])


def _ipv4(text: str) -> Spans:
    for m in _QUAD.finditer(text):
        start = m.start()
        while start and text[start - 1].isdigit():
            start -= 1
        value = text[start : m.end()]
        if _is_ipv4(value) and not (text[max(0, start - 1) : start] or " ").isalnum():
            before = text[max(0, start - 40) : start].rsplit("\n", 1)[-1]
            private = value.startswith(_PRIVATE) and not before.endswith("==")
            if private or not _VERSION_BEFORE.search(before):
                yield start, m.end()


def _is_ipv4(value: str) -> bool:
    parts = value.split(".")
    plain = all(p == str(int(p)) and int(p) < 256 for p in parts)
    return plain and parts[0] not in ("0", "127", "255")


_DOUBLE_COLON = re.compile(r"::|:[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}:[0-9a-fA-F]{1,4}:")


def _ipv6(text: str) -> Spans:
    done = 0
    for m in _DOUBLE_COLON.finditer(text):
        if m.start() < done:
            continue
        start, end = m.span()
        while start and text[start - 1] in _HEX + ":":
            start -= 1
        while end < len(text) and text[end] in _HEX + ":":
            end += 1
        done = end
        if text[start:end].endswith(":") and not text[start:end].endswith("::"):
            end -= 1
        if _is_ipv6(text[start:end], text[max(0, start - 1) : start], text[end : end + 1]):
            yield start, end


def _is_ipv6(value: str, before: str, after: str) -> bool:
    """A written IPv6 address, and no piece of C++ (`c10::d`, `a::b`) or a time: it has a group of four digits or many colons."""
    if before.isalnum() or before == "_" or after.isalnum() or after == "_" or not any(c.isdigit() for c in value):
        return False
    if value.count(":") < 3 and not re.match(r"[0-9a-fA-F]{4}:", value):
        return False
    try:
        return not ipaddress.IPv6Address(value).is_loopback
    except ValueError:
        return False


_EMAIL = re.compile(r"@(?<=[\w.+-]@)[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(?![\w@/])")


def emails(text: str) -> Spans:
    """Mail addresses; the login `git@` of a forge is nobody's."""
    for m in _EMAIL.finditer(text):
        start = m.start()
        while start and (text[start - 1].isalnum() or text[start - 1] in "._+-"):
            start -= 1
        if text[start : m.start()] not in ("git", ""):
            yield start, m.end()


def homes(text: str) -> Spans:
    """The names of home folders, for those that were not learnt (see `Redactor`: it keeps a bounded number of names)."""
    yield from (m.span(1) for m in _HOMES.finditer(text) if m[1].casefold() not in COMMON)


FINDERS: tuple[tuple[str, Callable[[str], Spans]], ...] = (
    ("user", homes),
    ("token", tokens),
    ("uuid", uuids),
    ("mac", macs),
    ("ip", ips),
    ("email", emails),
)
