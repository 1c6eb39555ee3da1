"""Logins and what is theirs, known by where they stand: prompts, tables of processes, journals, git, hubs, Windows."""

from __future__ import annotations

import re

from rocm_doctor.redaction.folders import NAME
from rocm_doctor.redaction.rules import Pattern, Rule

HOST = r"[A-Za-z0-9][\w.-]{0,250}"


_HIVES = frozenset((
    "ACPI", "AUTHORITY", "BTH", "BUILTIN", "DISPLAY", "HDAUDIO", "HID", "HKCR", "HKCU", "HKLM", "HKU", "HTREE", "NT", "PCI", "PNP", "ROOT",
    "SCSI", "SOFTWARE", "STORAGE", "SWD", "SYSTEM", "UEFI", "USB",
))  # fmt: skip


def _login(match: re.Match[str]) -> bool:
    """No address of a forge (`git@github.com:ROCm/x.git #`), no number behind the sign."""
    user, host = match["user"], match["host"]
    return user != "git" and not user.endswith(".git") and any(map(str.isalpha, host))


PROMPTS = (
    Rule(("@",), Pattern(rf"\[(?P<user>{NAME})@(?P<host>{HOST})(?:[ :][^\]\n]{{0,200}})?\] ?[$#%>]"), "line", accept=_login),
    Rule(
        ("@",),
        Pattern(
            rf"(?<![\w.@/:+-])(?P<user>{NAME})@(?P<host>{HOST})"
            r"(?:(?::|[ ]{1,2}[~/])[^\n]{0,200}?[$#%❯](?:\s|$)|(?:: ?| )[~/][^\s>]{0,120}>|(?: [\w./~-]{1,80})? [%$❯➜»](?:\s|$)"
            r"| MINGW\d\d|:~|[ ]~\S{0,80}\s*$|\s*$|: Permission denied|'s password)"
        ),
        "line",
        accept=_login,
    ),
    Rule(("㉿",), Pattern(rf"(?P<user>{NAME})㉿(?P<host>{HOST})"), "line"),
    Rule((" in ~", " in /", " in 🌐"), Pattern(rf"^(?P<user>{NAME}) in (?:🌐 ?)?(?P<host>{HOST}) in [~/]"), "line"),
    Rule(
        (":~ ", ":~#", ":~$"),
        Pattern(rf"^(?P<host>{HOST}):~\S{{0,80}} (?P<user>{NAME})[$#%](?:\s|$)|^(?P<host2>{HOST}):~ ?[#$>]"),
        "line",
    ),
)

PEOPLE = (
    Rule(
        ("svc_", "usr_", "acct_", "project_", "proj_", "prj_", "grp_", "team_", "tenant_"),
        Pattern(
            r"(?<![\w.-])(?P<account>(?:svc_\w+|(?:usr|acct|project|proj|prj|grp|team|tenant)_[A-Za-z0-9]*\d{2}\w*))(?![\w(])"
        ),
        learn=False,
    ),
    Rule(("torchinductor_",), Pattern(rf"torchinductor_(?P<user>{NAME})"), sure=False),
    Rule(("/media/", "/mail/"), Pattern(rf"/(?:media|mail)/(?P<user>{NAME})(?=/)"), sure=False),
    Rule(("~",), Pattern(r"~(?P<user>[a-z][\w-]{2,32})/"), sure=False),
    Rule(
        ("ssh ", "scp ", "rsync ", "sftp ", "mosh ", "ssh-copy-id ", "sshfs ", "ssh://"),
        Pattern(rf"(?:\w+|ssh-copy-id)(?: |://)(?:[^\n|;&@]{{0,200}}?[\s/'\"])??(?P<user>{NAME})@(?P<host>{HOST})"),
    ),
    Rule(("ssh ",), Pattern(r"ssh (?:-\S{1,40} (?:\S{1,60} )?){0,4}(?P<host>[A-Za-z][\w.-]*\d[\w.-]*)(?:\s|$)"), sure=False),
    Rule(
        ("whoami", "logname", "id -un", "echo $user", "echo ${user}", "echo %username%"),
        Pattern(
            rf"(?:whoami|logname|id -un|echo \S+)[ \t]*\r?\n(?:(?P<host>[\w-]{{1,40}})\\)?(?P<user>{NAME}(?: {NAME})?)[ \t]*\r?(?:\n|$)",
            re.I,
        ),
    ),
    Rule(
        ("uid=", "gid="),
        Pattern(
            r"(?:uid=\d+\((?P<user>[^)\n<]{1,64})\))?\s?(?:gid=\d+\((?P<group>[^)\n<]{1,64})\))?(?:\s?groups=(?P<groups>\d+\([^)\n<]{1,60}\)(?:,\d+\([^)\n<]{1,60}\)){0,100}))?"
        ),
    ),
    Rule(
        ("groups",),
        Pattern(
            r"groups(?: [\w.-]{1,40})?[ \t]*\r?\n(?:[\w.-]{1,40} : )?(?P<groups>[a-z_][\w.-]*(?: [a-z_][\w.-]*){1,60})[ \t]*\r?(?:\n|$)"
        ),
    ),
    Rule(
        (" : ",), Pattern(r"^(?P<user>[a-z_][\w.-]*) : (?P<groups>[a-z_][\w.-]*(?: [a-z_][\w.-]*){1,60})\s*$"), "line", sure=False
    ),
    Rule((":x:",), Pattern(r"^(?P<user>[a-z_][\w.-]*):x:\d+:\d+:(?P<user2>[^:\n]{0,60}?),{0,4}:"), "line", sure=False),
    Rule((":x:",), Pattern(r"^(?P<group>[\w-]{1,40}):x:\d+:(?P<users>[\w,.-]{1,400})$"), "line"),
    Rule(
        ("rw-", "rwx", "r-x", "r--", "--x", "---"),
        Pattern(r"(?<!\S)[dlcbsp-][rwxsStT-]{9}[.+@]?\s+\d{1,6}\s+(?P<user>[^\s<>]{1,64})\s+(?P<group>[^\s<>]{1,64})\s"),
        "line",
    ),
    Rule(("uid: (", "gid: ("), Pattern(r"[UG]id: \(\s*\d+/\s*(?P<user>[^\s()<>]{1,64})\)", re.I), learn=False),
    Rule(("user:", "group:"), Pattern(rf"(?:user:(?P<user>{NAME})|group:(?P<group>{NAME})):[r-][w-][x-]")),
    Rule(("pts/", "tty", " :0 "), Pattern(rf"^(?P<user>{NAME})\s+(?:pts/\d+|tty\d+|:0)\s"), "line"),
    Rule((" f....", " .c...", " ..r.", " f.c.", " m...", "....m"), Pattern(rf"\s(?P<user>{NAME})\s+\d+ [Fcerfm.]{{5}}"), "line"),
    Rule(
        ("accepted ", "session", " user ", "failed password"),
        Pattern(
            rf"(?:accepted \S{{1,30}} for|sessions? (?:\S{{1,12}} )?(?:opened |closed )?(?:for|of) user|user|failed password for(?: invalid user)?)\s(?P<user>{NAME})"
            r"(?=\(uid|\.\s|\.$| from|\s*$| logged| by)",
            re.I,
        ),
        sure=False,
    ),
    Rule((" user ",), Pattern(rf" user (?P<user>{NAME})(?=\(uid|\.?\s*$| from \d| by |\.\n)", re.M), sure=False),
    Rule(
        ("for user '", 'for user "'),
        Pattern(r"for user ['\"](?P<user>[^'\"\s@]{2,60})['\"](?:@['\"](?P<host>[A-Za-z][\w.-]*))?"),
    ),
    Rule(
        ("userid=", "groupid="),
        Pattern(r"UserId=(?P<user>[^\s()=]{1,64})\(|GroupId=(?P<account>[^\s()=]{1,64})\("),
        learn=False,
    ),
    Rule(("userid=",), Pattern(r"UserId=[^\s()=]{1,64}\((?P<serial>\d{4,})\)")),
    Rule(("group=",), Pattern(r"^Group=(?P<group>[A-Za-z_][\w.-]{1,40})\s*$", re.M), "line"),
    Rule(
        (" rl", " sl", " ss", " s ", " r ", " d ", " z "),
        Pattern(rf"^(?P<user>{NAME})\s+\d+\s+\d+\.\d\s+\d+\.\d\s+\d+\s+\d+\s"),
        "line",
    ),
    Rule(("(uid=",), Pattern(rf"\b(?P<user>{NAME})\(uid="), "line"),
    Rule((" : tty=", " : pwd="), Pattern(rf"(?P<user>{NAME}) : (?:TTY|PWD)="), "line"),
    Rule((") cmd",), Pattern(rf"\((?P<user>{NAME})\) CMD"), "line"),
    Rule(
        ("password for ", "sudoers"),
        Pattern(rf"password for (?P<user>{NAME})(?=[:\s]|$)|(?P<user2>{NAME}) is not in the sudoers"),
        "line",
        sure=False,
    ),
    Rule(("[sudo",), Pattern(rf"\[sudo[^\]\n]{{0,20}}\] [^\n:]{{0,30}}?(?P<user>{NAME})\s?:")),
    Rule(
        ("usermod ", "gpasswd ", "adduser "),
        Pattern(
            rf"(?:usermod|gpasswd) (?:-\S+ ){{0,2}}-\w*[gGa] (?:[\w,]+ )(?P<user>{NAME})(?![\w$])|gpasswd -\w+ (?P<user2>{NAME}) |adduser (?P<user3>{NAME}) "
        ),
        sure=False,
    ),
    Rule(("sudo -u ", "su - ", "su -l ", "runuser -u "), Pattern(rf"(?:sudo -u|su -l?|runuser -u) (?P<user>{NAME})")),
    Rule(("chown ",), Pattern(rf"chown (?:-\S+ ){{0,2}}(?P<user>{NAME})?(?::(?P<group>{NAME}))? "), sure=False),
    Rule((" member of ", " a member of "), Pattern(rf"^\s*(?P<user>{NAME}) is (?:not )?(?:a )?member of"), "line"),
    Rule(
        ("logged in ", "authenticated as", "login as", "signed in as", "hi "),
        Pattern(
            rf"(?:logged in (?:to \S{{1,60}} )?(?:as|account):?|authenticated as|log(?:ged)? ?in as:?|signed in as:?|to \S+ account) [\"']?(?P<user>{NAME})(?:@[\w.-]+)?[\"']?"
            rf"(?: \((?P<account>[\w.-]{{1,60}})\))?|hi (?P<user2>[\w-]{{2,40}})! you",
            re.I,
        ),
        sure=False,
    ),
    Rule(("user ", "user\t"), Pattern(r"^[ \t]*User[ \t]+(?P<user>[A-Za-z][\w.@+-]{1,60})[ \t]*$"), "line"),
    Rule(
        ("pscredential", "-username ", "-credential ", "/user:", "cmdkey ", "/ru ", "get-credential "),
        Pattern(
            r"(?:PSCredential[^\n'\"]{0,20}['\"]|(?:-(?:UserName|Credential)|Get-Credential(?: -\w+)?|/RU)[ :=]{1,2}['\"]?|/user:['\"]?)"
            r"(?:(?P<host>[A-Za-z][\w.-]{1,40})\\)?(?P<user>[A-Za-z_][\w.@+-]{1,60})(?![\w(\\])",
            re.I,
        ),
        accept=lambda m: m["user"].casefold() not in ("new-object", "get-credential"),
    ),
    Rule(("orgs:",), Pattern(r"orgs:\s{1,4}(?P<accounts>[\w,.-]{1,200})")),
    Rule(
        ("git@",),
        Pattern(
            rf"git@(?P<host>{HOST})[:/](?:\d+/)?(?P<account>[\w.-]{{1,60}})/(?P<account2>[\w.-]{{1,80}}?)(?=\.git|[\s\"'/#)]|$)"
        ),
        accept=lambda m: not _public_owner(m),
    ),
    Rule(("git@",), Pattern(rf"git@(?P<host>{HOST})")),
    Rule(
        ("(fetch)", "(push)"),
        Pattern(r"[/:](?P<account>[\w.-]{1,60})/(?P<account2>[\w.-]{1,80}?)(?:\.git)?\s\((?:fetch|push)\)"),
        "line",
        accept=lambda m: not _public_owner(m),
    ),
    Rule(
        ("to github.com", "to gitlab.com", "from github.com", "from gitlab.com", "to https://git", "from https://git"),
        Pattern(
            r"(?:to|from) (?:https://)?git(?:hub|lab)\.com[:/](?P<account>[\w.-]{1,60})/(?P<account2>[\w.-]{1,80}?)(?=\.git|\s|$)",
            re.I,
        ),
        accept=lambda m: not _public_owner(m),
    ),
    Rule(
        ("hf.co/", "huggingface.co/"),
        Pattern(r"\w+\.co/(?:datasets/|spaces/|api/models/|api/datasets/)?(?P<account>[\w.-]{1,60})/(?=[\w.-])"),
        learn=False,
        accept=lambda m: not _public_owner(m),
    ),
    Rule(
        ("wandb.ai/", "comet.com/", "dagshub.com/", "kaggle.com/", "app.neptune.ai/", "hub.docker.com/u/", "hub.docker.com/r/"),
        Pattern(r"[\w.]+/(?:u/|r/|o/|code/)?(?P<account>[\w.-]{2,60})(?:/(?P<account2>[\w.-]{2,80}))?"),
        accept=lambda m: not _public_owner(m),
        sure=False,
    ),
    Rule(
        ("@github.com/", "@gitlab.com/", "@bitbucket.org/", "repository: "),
        Pattern(r"(?:@[\w.]+/|repository: )(?P<account>[\w.-]{1,60})/(?P<account2>[\w.-]{1,80}?)(?=\.git|[\s\"'/#)]|$)"),
        accept=lambda m: not _public_owner(m),
    ),
    Rule(
        ("push_to_hub", "hub_model_id", "hub-model-id", "repo_id", "repo-id"),
        Pattern(r"[\w-]+\W{1,6}(?P<account>[\w.-]{1,60})/[\w.-]", re.I),
        accept=lambda m: not _public_owner(m),
    ),
    Rule(("onedrive - ",), Pattern(r"OneDrive - (?P<account>[^\\/\n<>\"']{2,60})(?=[\\/])", re.I)),
    Rule(
        ("\\\\",),
        Pattern(r"(?<![\w:\\.$)}%\]])\\\\(?P<host>[A-Za-z][\w-]{1,30})(?=\\[\w$])"),
        "line",
        sure=False,
        accept=lambda m: m["host"] not in _HIVES,
    ),
    Rule(("s-1-5-21-",), Pattern(r"(?P<serial>S-1-5-21-\d{4,12}-\d{4,12}-\d{4,12}(?:-\d{1,8})?)", re.I)),
    Rule(
        ("\\",),
        Pattern(r"(?<![\w\\/:.%])(?P<host>[A-Z][A-Z0-9-]{2,14})\\(?P<user>[A-Za-z][\w.-]{1,30})(?![\\\w])"),
        "line",
        sure=False,
        accept=lambda m: m["host"] not in _HIVES,
    ),
    Rule(
        ("card", "visa", "iban"),
        Pattern(r"(?i:card|visa|iban)[^\n\d]{0,20}(?P<token>(?:[A-Z]{2}\d\d ?)?\d{4}(?:[ -]?\d{4}){2,5}(?:[ -]?\d{1,3})?)(?!\d)"),
        accept=lambda m: _checks(m["token"]),
    ),
)


def _public_owner(match: re.Match[str]) -> bool:
    from rocm_doctor.redaction.known import known

    return match["account"].casefold() in known().public_owners


def _checks(number: str) -> bool:
    """Luhn's checksum of a payment card; an account number with a country's letters needs none."""
    digits = [int(c) for c in number if c.isdigit()]
    doubled = [d if n % 2 == 0 else d * 2 - 9 * (d > 4) for n, d in enumerate(reversed(digits))]

    return number[:2].isalpha() or (len(digits) in (15, 16) and sum(doubled) % 10 == 0)
