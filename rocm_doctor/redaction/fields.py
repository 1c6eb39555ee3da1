"""Values named by the field or option before them: `SLURM_JOB_ACCOUNT=`, `--rdzv-endpoint`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.known import load_known
from rocm_doctor.redaction.rules import Pattern, RedactionRule

_VALUES = {
    "user": r"(?P<user>[A-Za-z_][\w.+-]{0,63})(?![\w.+\[\\/-])(?!\((?!\d))",
    "host": r"\\{0,4}(?P<hosts>[A-Za-z][\w.-]*(?:\[[\d,-]+\])?(?:,[A-Za-z][\w.-]*(?:\[[\d,-]+\])?){0,300})(?![\w(/\\])",
    "account": r"(?P<account>[A-Za-z0-9][\w.-]{1,80})(?![\w(/])",
    "bucket": r"(?P<bucket>[A-Za-z0-9][\w.-]{2,80})(?![\w(])",
    "network": r"(?P<network>[^\s\"'<>][^\n\"'<>]{0,31})",
}
_ASSIGNED = r"[\"'\]]{0,2}[ \t]{0,24}(?::=|=>|[:=])[ \t]{0,48}[\"'\[(]{0,2}"
_FULL_NAMES = (
    "registered owner", "registered organization", "full name", "real name", "owner name", "user name", "account name", "gecos", "registrierter benutzer",
    "registrierte organisation", "propri\u00e9taire enregistr\u00e9", "propietario registrado", "proprietario registrato",
)  # fmt: skip

_SWITCH = regex(r"(?:^|[^\w.])(?:pip[\d.]{0,6}|systemctl|journalctl|systemd-run|flatpak)\s[^|;&]*$")
"""Programs whose `--user` takes no value: `pip install --user torch`, `systemctl --user show-environment`."""


def field_rules() -> Iterator[RedactionRule]:
    """A rule for each kind of field: shouted names (environment variables) prove themselves, others may hold a common word."""
    for kind, names in load_known().fields.items():
        options = tuple(n for n in names if n.startswith("--"))
        plain = tuple(n for n in names if not n.startswith("--"))
        value = _VALUES[kind]
        shouted = "|".join(re.escape(n.upper()) for n in sorted(plain, key=len, reverse=True) if " " not in n)
        spoken = "|".join(re.escape(n) for n in sorted(plain, key=len, reverse=True))
        yield RedactionRule(plain, Pattern(rf"(?<![A-Za-z0-9])(?:{shouted})[\"']?=[\"']?{value}"))
        yield RedactionRule(
            plain,
            Pattern(rf"(?<![A-Za-z0-9])(?i:{spoken})(?P<of_sign>{_ASSIGNED}){value}"),
            certain=False,
            accept=_is_field,
        )
        if options:
            yield RedactionRule(
                options,
                Pattern(rf"(?i:{'|'.join(map(re.escape, sorted(options, key=len, reverse=True)))})[ =]{{1,2}}[\"']?{value}"),
                accept=lambda match: (
                    not _SWITCH.search(match.string[max(0, match.start() - 200) : match.start()].rsplit("\n", 1)[-1])
                ),
            )
    yield RedactionRule(
        _FULL_NAMES,
        Pattern(
            rf"(?i:{'|'.join(_FULL_NAMES)})[ \t]{{0,24}}[:=][ \t]{{0,48}}(?P<user>[^\s\"<>:\\][^\n\"<>:\\]{{1,60}}[^\s\"<>:\\])[ \t]*\r?(?:\n|$)"
        ),
    )


def _is_field(match: re.Match[str]) -> bool:
    """No chat (`user: hello there`), no code (`host: str`), no compiler's triplet."""
    sign, text, end = match["of_sign"], match.string, match.end()
    if "linux-gnu" in match.group():
        return False
    if "=" in sign or sign[0] in "\"'":
        return True
    behind = text[end : end + 4].partition("\n")[0]
    return not behind.strip(" \t\"'`,;)]}") or behind.lstrip(" \t\"'`")[:1] in ("\r", ",", "(", ":")
