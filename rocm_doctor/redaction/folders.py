"""Names in paths: home folders, and the folders of people and groups on scratch and project file systems."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.known import words
from rocm_doctor.redaction.rules import Found, Pattern, Rule

NAME = r"[A-Za-z_][\w.+-]{0,63}"
_INITIALS = r"(?:(?P<of_a>[a-z])/(?=(?P=of_a)))?(?:(?P<of_b>[a-z]{2})/(?=(?P=of_b)))?"
"""Folders of initials between: /home/j/jr/jroe."""
_PATH = regex(
    r"/(?<![\w.~/-]/)(?:mnt|srv|net|nfs|Volumes|volumes|run/media|media|ceph|lustre\w{0,8}|pfs|gpfs\w{0,8}|cfs|lfs\d{0,3}|beegfs|cephfs|weka|vast|fsx|raid\d?|data\d{0,3}|work\d{0,3}|u"
    r"|storage\d{0,3}|g?scratch\w{0,8}|projects?|staff|students|vol\d?|export)/((?:[\w.+-]{1,64}/){1,5}(?:[\w+-]{1,64}(?=[\s\"',;)]|$))?|[\w.+-]{1,64}$)",
    re.M,
)
_FOLDER = regex(r"[A-Za-z_][\w.+-]*(?=/|\Z)|[A-Za-z_][\w+-]*$", re.M)
_LEVELS = frozenset((
    "client", "clients", "customer", "customers", "data", "disk", "group", "groups", "home", "homes", "lab", "labs", "nvme", "people", "plgrid", "pr", "projappl", "project",
    "kunden", "ml", "org", "orgs", "projects", "raid", "scratch", "share", "shared", "ssd", "staff", "storage", "students", "team", "teams", "tenant", "tenants", "user", "users",
    "work",
))  # fmt: skip
"""Folders below which those of people and groups follow."""
_INITIALS_FIRST = regex(r"([a-z])/(?=\1)(?:(\1[a-z])/(?=\2))?")
_GROUP = regex(r"(?i:project|proj|prj|grp|group|team|lab|labs|dept|ag|u|p|pr)[-_]\w[\w-]{1,40}")


def _is_nobody(name: str) -> bool:
    """Whether a folder's name is made of words of the field, as those of models, data and disks are."""
    pieces = _pieces(name)
    return not pieces or any(p in words() or p.rstrip("s") in words() for p in pieces)


def _all_words(name: str) -> bool:
    return set(_pieces(name)) <= words() and not any(map(str.isdigit, name))


def _pieces(name: str) -> list[str]:
    return [p for p in re.split(r"[\W\d_]+", name.casefold()) if len(p) > 2]


_KEYS = r"(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|config|known_hosts|authorized_keys2?|environment|rc|agent)(?:\.pub|\.old|\.d)?(?![\w.-])"
"""Files in `.ssh` that everyone has."""


FOLDERS = (
    Rule((".ssh/", ".ssh\\"), Pattern(rf"\.ssh[\\/](?!{_KEYS})(?P<account>[A-Za-z0-9][\w.-]{{2,60}})")),
    Rule(
        ("/home", "/users", "/user/", "/people/", "/nethome", "/userhome"),
        Pattern(
            rf"(?i:/(?:homes?|users|homedirs?|people|nethome|userhome)\d{{0,3}})/{_INITIALS}(?P<user>{NAME})(?!(?<=/[a-z])/<|(?<=/[a-z][a-z])/<)"
        ),
    ),
    Rule(("/home/", "/users/"), Pattern(rf"/(?:home|users)/{NAME} (?P<user>{NAME})(?=/)", re.I), sure=False),
    Rule(("/user/",), Pattern(rf"(?<!/home)/user/{_INITIALS}(?P<user>{NAME})(?=/)"), sure=False),
    Rule(("/mnt/c/users/",), Pattern(r"/mnt/c/Users/(?P<user>[^/\n:\"']{2,40})(?=/)", re.I)),
    Rule(
        (":\\users\\", ":\\\\users\\\\", ":/users/"),
        Pattern(r":[\\/]{1,2}users[\\/]{1,2}(?P<user>[^\\/:*?\"<>|\r\n]{1,60}(?=[\\/>])|[\w.-]{1,60})", re.I),
    ),
    Rule((":\\",), Pattern(r"(?<=[D-Zd-z]):\\{1,2}(?P<user>[A-Za-z][\w.-]{2,30})\\(?=[\w.-])"), sure=False, accept=lambda m: m["user"].islower() and not _is_nobody(m["user"])),
)  # fmt: skip


def on_shared_disks(text: str, low: str) -> Iterator[Found]:
    """The folders of people and groups in paths such as `/scratch/NAME` and `/lustre/work/GROUP/NAME`, up to a folder of software."""
    for path in _PATH.finditer(low) if "/" in low else ():
        initials = _INITIALS_FIRST.match(low, path.start(1))
        for folder in _FOLDER.finditer(text, initials.end() if initials else path.start(1), path.end(1)):
            group = _GROUP.fullmatch(folder[0]) is not None and not _all_words(folder[0])
            if group or not _is_nobody(folder[0]):
                yield Found(*folder.span(), "user", sure=False)
            elif folder[0].casefold().rstrip("0123456789") not in _LEVELS:
                break
