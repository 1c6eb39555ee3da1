r"""What gives a person or a machine away in a text, as finders of spans. Each is quick on megabytes of log.

Patterns start at a rare literal (`:`, `.`, `-`, a key word) and look back from there: the regex engine then skips to that
character instead of trying every position, which makes the difference between 0.3 and 5 seconds for 10 MB.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rocm_doctor.redaction import addresses
from rocm_doctor.redaction.addresses import Spans, disjoint, identifies

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

PSEUDONYM = re.compile(r"<(?:user|host|home|email|token|uuid|serial|ip|mac|container)[- ]\d+>")
ENDS = r"(?![A-Za-z0-9_.-])"
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
_BUILT_BY = re.compile(r"Linux version \S+ \(([\w.-]+)@([\w.-]+)\)")
_SYSLOG = re.compile(r":(?<=[A-Z][a-z]{2} [ \d]\d \d\d:)\d\d:\d\d ([A-Za-z0-9][\w.-]*) [\w./-]+(?:\[\d+\])?:")
_NAMED = (
    ("host", ("hostname", "computername"), re.compile(r"(?i:hostname|computername)[\"']?\s*[:=]\s*[\"']?([\w.-]+)")),
    ("host", ("host name", "node name"), re.compile(r"(?i:host name|node name)[\"']?\s*:\s*[\"']?([\w.-]+)")),
    ("user", ("user=", "username=", "logname="), re.compile(r"(?i:user|username|logname)=[\"']?([\w.-]+)")),
    ("user", ("uid=",), re.compile(r"uid=\d+\(([\w.-]+)\)")),
    ("user", ("logged in as",), re.compile(r"(?i:logged in as):? [\"']?([\w.@+-]+)")),
    ("user", ("logged in as",), re.compile(r"(?i:logged in as):? [\"']?[\w.@+-]+[\"']? \(([\w.-]+)\)")),
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
    for built in _BUILT_BY.finditer(text):
        yield "user", built[1]
        yield "host", built[2]
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
    r"(?i:TOKEN|SECRET|PASSW(?:OR)?D|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)(?:_(?:ID|KEY|VALUE))*[\"']?"
    r"(?:\s*[:=]\s*|\s+is:?\s+|\s+)[\"']?"
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
    return disjoint(found)


def _looks_secret(match: re.Match[str]) -> bool:
    """A value after a secret's key: mixed letters and digits, or any value at all of a password that is assigned."""
    between = match.group()[: match.start(1) - match.start()]
    value, assigned = match[1], re.search(r"[:=]", between)
    if PSEUDONYM.search(value):
        return False
    if not assigned and between.split()[-1].casefold() == "is":  # "the password is required" is no secret
        return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    if assigned and match.group()[:5].casefold() == "passw":
        return True
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return mixed and len(value) >= (8 if assigned else 20) and not re.search(r"[/\\.]", value[:4])


_CONTAINER_WORDS = ("docker", "libpod", "containerd", "crio", "containers", "kubepods", "lxc")
_CONTAINER = re.compile(r"[\w./:-]{0,200}?[/:-]([0-9a-f]{64})(?![0-9a-f])")
_CGROUP = re.compile(r"^\d{1,3}:[\w=,.-]{0,80}:/[^\n]{0,400}$", re.M)
_SEGMENT = re.compile(r"(?<=[/:_.-])[0-9a-f]{24,64}(?![0-9a-z])")


def containers(text: str) -> Spans:
    """The ids of containers in control groups and mount paths. The digest of an image (`@sha256:...`) is public and stays."""
    found = (m for at in _at(_CONTAINER_WORDS, lower(text)) if (m := _CONTAINER.match(text, at)))
    spans = [m.span(1) for m in found if not text.endswith("sha256:", 0, m.start(1))]
    if ":/" in text:
        spans += [m.span() for line in _CGROUP.finditer(text) for m in _SEGMENT.finditer(text, *line.span())]
    return disjoint(spans)


def homes(text: str) -> Spans:
    """The names of home folders, for those that were not learnt (see `Redactor`: it keeps a bounded number of names)."""
    yield from (m.span(1) for m in _HOMES.finditer(text) if m[1].casefold() not in COMMON)


FINDERS: tuple[tuple[str, Callable[[str], Spans]], ...] = (
    ("user", homes),
    ("token", tokens),
    ("container", containers),
    ("uuid", addresses.uuids),
    ("mac", addresses.macs),
    ("ip", addresses.ips),
    ("email", addresses.emails),
)
