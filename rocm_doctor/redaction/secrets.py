"""Tokens and keys: by the shapes that services publish, by the names before them, in URLs and headers, between PEM lines."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.known import TokenShape, load_known
from rocm_doctor.redaction.rules import Pattern, RedactedPlace, RedactionRule
from rocm_doctor.redaction.secret_names import SECRET_NAME
from rocm_doctor.redaction.vocabulary import field_words

_KEYED = Pattern(
    r"(?P<of_name>[A-Za-z0-9_-]{2,40})"
    r"(?P<of_between>[\"'`\])]{0,2}(?:[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,4}|[ \t]{1,4}is:?[ \t]{1,4}|[ \t]{1,3}|(?=$))(?:[rbf]?[\"'`(\[]{1,2})?)"
    r"(?i:bearer |basic |token )?(?P<token>[^\s\"'`<>,;$&|()\[\]{}]{4,200})",
)
_KEY_WORDS = (
    "token", "secret", "passw", "passphrase", "pwd", "api_key", "api-key", "apikey", "api key", "accesskey", "access_key", "access-key",
    "privatekey", "private_key", "private-key", "credential", "auth", "signature", "sig=", "key=", "key:", "key\"", "_key", "-key", "cookie", "_pat",
    "_pass", "key is", "psk", "passcode", "wandb login", "encryption", "license_key", "otp", "pin=", "_auth", "webhook", "dsn",
    "key ", "preshared", "session_id", "sessionid",
)  # fmt: skip
_STRONG = regex(
    r"secret|passw(?:or)?d|passphrase|passcode|api_?key|access_?key|private_?key|credential|auth_?token|pre_?shared_?key|_psk|^psk$|^pwd$|webhook_?url|_dsn$|(?:^|_)pass$",
    re.I,
)
_TOKENS = regex(
    r"(?:^|[_-])(?:access|auth|api|bearer|refresh|hf|hub|hugging|github|gitlab|gh|wandb|bot|slack|session|csrf|id|secret|login|personal|deploy|registry|pypi|npm|jupyter)?[_-]?token$",
    re.I,
)
_MODELS_OWN = regex(
    r"^(?:pad|eos|bos|unk|sep|cls|mask|image|video|audio|next|prompt|new|max|min|num|n|stop|start|end|im|special|per|mean|total|vision|add|use|return|skip|trust)[_-]|^tokeni[sz]",
    re.I,
)
_HARMLESS = regex(
    r"[*.\u2022xX#_-]+|(?:true|false|none|null|nil|yes|no|on|off|str|int|optional|required|redacted|hidden|removed|censored|undefined|unset|empty|changeme)"
    r"|(?:your|my|the|some|insert|enter|put|paste|example|dummy|fake|placeholder|xxx|<).*|(?:os|self|args|config|cfg|settings|env|secrets|kwargs|torch|np|process)\..*"
    r"|%.*%?|[/~.][\w./:-]*|[a-z_][\w.]*\.(?:py|json|ya?ml|txt|env|pem|key)|https?://.*|-{1,2}[a-z].*|\d{1,11}|0x[0-9a-f]+|\d+(?:\.\d+)+\S*|[\W_]+",
    re.I,
)


def is_random(value: str) -> bool:
    """Whether a value looks drawn at random: long, of mixed letters and digits, not made of words, numbers or a path."""
    if len(value) < 16 or value.startswith(("0x", "/", "./", "~")) or re.search(r"\.{2}|://", value):
        return False
    pieces = [p for p in re.split(r"[\W_]+", value) if p]
    if not pieces or all(
        p.isdigit() or (p.isalpha() and (p.islower() or p.istitle() or p.isupper())) or len(p) <= 5 for p in pieces
    ):
        return False
    if value.isalpha() and 4 * sum(a.islower() != b.islower() for a, b in pairwise(value)) < len(value):
        return False  # CamelCase
    hexadecimal = re.fullmatch(r"[0-9a-fA-F]+", value) is not None
    return _entropy(value) >= (2.6 if hexadecimal else 3.1) and max(map(len, pieces)) >= 8


def _entropy(value: str) -> float:
    counts = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts)


def _is_secret(match: re.Match[str]) -> bool:
    """Whether what follows a key-like name is a secret: by the name's strength, the sign between, and the value's looks."""
    between, value = match["of_between"], match["token"].rstrip(".:!?")
    assigned, is_told = ":" in between or "=" in between, " is" in between
    if value.casefold() in field_words():
        return False
    text, begin = match.string, match.start()
    while begin > max(0, match.start() - 40) and (text[begin - 1].isalnum() or text[begin - 1] in "_-"):
        begin -= 1
    name = text[begin : match.start()] + match["of_name"]
    option, bare = name.startswith("--"), name.strip("-_").replace("-", "_")
    if _MODELS_OWN.match(bare) or _HARMLESS.fullmatch(value):
        return False
    shouted = bare.isupper()
    if _STRONG.search(bare) or _TOKENS.search(bare) or (shouted and SECRET_NAME.search(bare)):
        if assigned and (shouted or option or between.rstrip()[-1:] in "\"'`" or "passw" in bare.casefold()):
            return True
        if assigned or option:
            return any(not c.isalpha() for c in value) or len(value) >= 12
        if is_told and "passw" in bare.casefold():
            return True
        mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
        if "passw" in bare.casefold() and between.rstrip(" ")[-1:] in ("'", '"') and not value.isalpha():
            return True
        drawn = len(value) >= 8 and not value.islower() and not value.isupper()
        return mixed and (is_told or len(value) >= 20 or is_random(value) or ("passw" in bare.casefold() and drawn))
    return (assigned or is_told or len(value) >= 32) and _KEY_LIKE.search(bare) is not None and is_random(value)


_KEY_LIKE = regex(r"key|auth|sig|cookie|token|pass|pwd|pin|otp|credential|session|encryption|webhook", re.I)


def _shape(shape: TokenShape) -> RedactionRule:
    """A rule for a shape. At the end of a text fewer letters suffice: quotes in a report are cut to a length."""
    if shape.pattern:
        pattern = (
            shape.pattern
            if "(?P<" in shape.pattern
            else re.sub(r"\((?!\?)", "(?P<token>", shape.pattern, count=1)
            if _has_group(shape.pattern)
            else rf"(?P<token>{shape.pattern})"
        )
        return RedactionRule(shape.hints, Pattern(pattern))
    prefixes = "|".join(re.escape(p) for p in sorted(shape.prefixes, key=len, reverse=True))
    pattern = rf"(?<![A-Za-z0-9])(?P<token>(?:{prefixes})(?P<of_body>[{shape.letters}]{{{shape.least},}}={{0,2}}|[{shape.letters}]{{4,}}\Z))"
    return RedactionRule(tuple(p.lower() for p in shape.prefixes), Pattern(pattern), accept=_is_mixed, whole=True)


def _has_group(pattern: str) -> bool:
    return re.search(r"(?<!\\)\((?!\?)", pattern) is not None


def _is_mixed(match: re.Match[str]) -> bool:
    """No words joined by hyphens: `sk-learn-compatible-estimators` is not a key."""
    body = match["of_body"]
    return (
        any(map(str.isdigit, body))
        or (
            not body.islower()
            and not body.isupper()
            and not all(p.istitle() or p.islower() for p in re.split(r"[\W_]+", body) if p)
        )
        or (body.isalpha() and len(body) >= 30)
    )


_SCHEMES = frozenset(["bearer", "basic", "digest", "negotiate", "apikey", "aws4-hmac-sha256"])
_PARAMETERS = (
    "sig", "signature", "x-amz-signature", "x-amz-credential", "x-amz-security-token", "x-goog-signature", "x-goog-credential",
    "x-oss-signature", "ossaccesskeyid", "awsaccesskeyid", "googleaccessid", "access_token", "auth_token", "token", "api_key", "api-key",
    "apikey", "key", "code", "secret", "client_secret", "policy", "key-pair-id", "auth", "password", "pwd", "pass", "sessionid", "session",
    "refresh_token", "private_token",
)  # fmt: skip
_QUERY = tuple(mark + name + "=" for mark in "?&;" for name in _PARAMETERS)
_RULES = (
    RedactionRule(("akia", "asia"), Pattern(r"A[KS]IA[A-Z0-9]{16}[\s/:,;\"']{1,4}(?P<token>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])")),
    RedactionRule(("proxy",), Pattern(r"proxy[\"']?[=:]\s{0,2}[\"']?(?P<token>[^\s:@/\"'<>]{1,60}:[^\s@/\"'<>]{1,200})@(?P<host>[\w.-]{1,200}\w)", re.I)),
    RedactionRule(("docker login", "podman login", "registry login"), Pattern(r"login\s[^\n|;]{0,300}?\s(?P<host>[\w-]+(?:\.[\w-]+)+(?::\d+)?)\s*$"), "line"),
    RedactionRule(_KEY_WORDS, _KEYED, accept=_is_secret),
    RedactionRule(("cookie",), Pattern(r"(?:set-)?cookie[\"']?:\s{0,4}[\"']?(?P<token>[^\n\"'<>]{6,2000})", re.I)),
    RedactionRule(("authorization", "x-api-key", "x-auth-token", "proxy-authorization"), Pattern(r"[\w-]+[\"']?\s{0,2}[:=]\s{0,4}[\"']?(?:(?:bearer|basic|token|apikey|digest|aws4-hmac-sha256)\s)?(?P<token>[^\s\"'<>,;]{6,4000})", re.I), accept=lambda m: not _HARMLESS.fullmatch(m["token"]) and m["token"].casefold() not in _SCHEMES),
    RedactionRule(("bearer ", "basic "), Pattern(r"(?:bearer|basic) (?P<token>[\w.~+/=-]{8,4000})", re.I), accept=lambda m: any(map(str.isdigit, m["token"])) or m["token"].endswith("=")),
    RedactionRule(("://",), Pattern(r"://(?P<token>[^\s/@:<>\"']{0,200}:[^\s/@<>\"']{1,300}|[^\s/@:<>\"']{20,300})@")),
    RedactionRule(_QUERY, Pattern(r"[?&;](?:amp;)?[\w-]+=(?P<token>[^\s&\"'<>#`)\]]{6,2000})"), accept=lambda m: not _HARMLESS.fullmatch(m["token"])),
    RedactionRule(("login", "sshpass", "curl ", "wget "), Pattern(r"(?:login|sshpass|curl|wget)[^\n|;]{0,200}?\s(?:-p|--password|-u|--user|--http-password)[ =]?[\"']?(?P<user>[^\s\"':/<>]{1,60}):(?P<token>[^\s\"'<>]{3,200})"), "line"),
    RedactionRule(("login", "sshpass"), Pattern(r"(?:login|sshpass)[^\n|;]{0,200}?\s(?:-p|--password)[ =]?[\"']?(?P<token>[^\s\"'<>$-][^\s\"'<>]{3,200})"), "line"),
    RedactionRule(("ipmitool ", "ipmi-", "ipmiutil ", "racadm ", "redfishtool ", "smcipmitool ", "ldapsearch ", "mysql ", "smbclient ", "ftp "), Pattern(r"(?:(?:smc)?ipmi\w+|ipmi-\w+|racadm|redfishtool|ldapsearch|mysql|smbclient|lftp)[^\n|;]{0,200}?\s-(?:[Ppw] ?|-password[ =])(?P<of_q>[\"']?)(?P<token>(?![-0-9$]+(?:\s|$))[^\s\"'<>$-][^\s\"'<>]{2,80})"), "line"),
    RedactionRule(("mysql", "mariadb"), Pattern(r"(?:mysql\w*|mariadb)[^\n|;]{0,200}?\s-p(?P<token>[^\s\"'<>$-][^\s\"'<>]{2,200})(?:[^\n|;]{0,100}?\s-h ?(?P<host>[A-Za-z][\w.-]{1,200}))?"), "line"),
    RedactionRule(("login", "kinit ", "mysql ", "psql "), Pattern(r"(?:login|kinit|mysql|psql)[^\n|;]{0,200}?\s(?:-u|--username|-U)[ =]?[\"']?(?P<user>[A-Za-z][^\s\"'<>:]{1,60})"), "line"),
)  # fmt: skip


def secret_rules() -> Iterator[RedactionRule]:
    """A rule for each published shape, and those for headers, URLs, logins and keys by their names."""
    yield from map(_shape, load_known().tokens)
    yield from _RULES


_BEGIN = regex(r"-----BEGIN [A-Z0-9 ]{0,60}(?:PRIVATE KEY|CERTIFICATE|PGP MESSAGE)(?: BLOCK)?-----")
_BODY_LINE = regex(r"(?:\\r|\\n|[\s>|#*\"',+]|[A-Za-z-]{3,20}: [^\n]{1,80}\n){0,80}[A-Za-z0-9+/=]{8,}(?=\\|\s|[\"',-]|$)")
_LONGEST_KEY = 20_000


def private_keys(text: str) -> Iterator[RedactedPlace]:
    """The body of each PEM block, to its end line; where that was cut off, as many lines as hold base64."""
    begin = _BEGIN.search(text) if "-----BEGIN" in text else None
    while begin:
        following = _BEGIN.search(text, begin.end())
        limit = min(following.start() if following else len(text), begin.end() + _LONGEST_KEY)
        end = text.find("-----END", begin.end(), limit)
        if end < 0:
            end = begin.end()
            while line := _BODY_LINE.match(text, end, limit):
                end = line.end()
        if text[begin.end() : end].strip() and "<token-" not in text[begin.end() : end]:
            yield RedactedPlace(begin.end(), end, "token")
        begin = following
