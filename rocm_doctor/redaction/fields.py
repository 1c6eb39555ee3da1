"""Values named by the field, option or column before them: `SLURM_JOB_ACCOUNT=`, `--rdzv-endpoint`, the USER of `ps`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.addresses import identifies
from rocm_doctor.redaction.known import load_known
from rocm_doctor.redaction.rules import Found, Pattern, Rule, end_of_line

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


def field_rules() -> Iterator[Rule]:
    """A rule for each kind of field: shouted names (environment variables) prove themselves, others may hold a common word."""
    for kind, names in load_known().fields.items():
        options = tuple(n for n in names if n.startswith("--"))
        plain = tuple(n for n in names if not n.startswith("--"))
        value = _VALUES[kind]
        shouted = "|".join(re.escape(n.upper()) for n in sorted(plain, key=len, reverse=True) if " " not in n)
        spoken = "|".join(re.escape(n) for n in sorted(plain, key=len, reverse=True))
        yield Rule(plain, Pattern(rf"(?<![A-Za-z0-9])(?:{shouted})[\"']?=[\"']?{value}"))
        yield Rule(
            plain,
            Pattern(rf"(?<![A-Za-z0-9])(?i:{spoken})(?P<of_sign>{_ASSIGNED}){value}"),
            certain=False,
            accept=_is_field,
        )
        if options:
            yield Rule(
                options,
                Pattern(rf"(?i:{'|'.join(map(re.escape, sorted(options, key=len, reverse=True)))})[ =]{{1,2}}[\"']?{value}"),
                accept=lambda m: (
                    " pip" not in (before := m.string[max(0, m.start() - 200) : m.start()].rsplit("\n", 1)[-1])
                    and not before.startswith("pip")
                ),
            )
    yield Rule(
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


_COLUMNS = {
    "USER": "user", "USERNAME": "user", "OWNER": "user", "ACCOUNT": "account", "NODELIST": "host", "NODELIST(REASON)": "host", "NODE": "host",
    "HOSTNAMES": "host", "HOSTNAME": "host", "NAMESPACE": "account", "FROM": "host", "SERIAL": "serial",
}  # fmt: skip
_HEADERS = regex(
    r"^[ \t]{0,60}(?:USER|PID|JOBID|SESSION|PARTITION|NAMESPACE|NAME|NODELIST|HOSTNAMES|ACCOUNT|ID|UID|F S UID)[ \t][^\n]{3,260}$",
    re.M | re.I,
)
_CELL = regex(r"\S+(?: \(\w{1,8} ago\))?")
_VALUE = regex(r"[A-Za-z0-9_][\w.@+,\[\]-]*")
_NO_ROW = regex(r"[\[$#>\u279c\u276f]|\S{1,80}[$#%] ")
"""How a log goes on behind a table, and a prompt."""
_MOST_ROWS = 5_000


def find_columns(text: str) -> Iterator[Found]:
    """Users, hosts and accounts in the columns of ps, top, w, squeue, sinfo, sacct and kubectl."""
    for header in _HEADERS.finditer(text):
        names = header.group().upper().split()
        kinds = {n: _COLUMNS[name] for n, name in enumerate(names) if name in _COLUMNS}
        numbers = [n for n, name in enumerate(names) if name in ("PID", "JOBID", "UID", "TTY")]
        end = header.end()
        for _ in range(_MOST_ROWS if kinds and len(names) > 2 else 0):
            stop = end_of_line(text, end + 1)
            cells = list(_CELL.finditer(text, end + 1, min(stop, end + 400)))
            if len(cells) <= max(kinds) or _NO_ROW.match(text, end + 1) or _HEADERS.match(text, end + 1):
                break
            if any(cells[n][0].isalpha() for n in numbers if n < len(cells)):
                break
            for n, kind in kinds.items():
                if _VALUE.fullmatch(cells[n][0]) and (kind != "serial" or identifies(cells[n][0])):
                    yield Found(*cells[n].span(), kind, certain=kind != "account")
            end = stop
