"""Names by their place in known formats: prompts, paths, listings, logs of systems, clusters and clouds, labels of hardware."""

from __future__ import annotations

import re

from rocm_doctor.redaction.known import load_known
from rocm_doctor.redaction.rules import Pattern, RedactionRule
from rocm_doctor.redaction.vocabulary import field_words

NAME = r"[A-Za-z_][\w.+-]{0,63}"
HOST = r"[A-Za-z0-9][\w.-]{0,250}"
_LIST = r"[\w.-]+(?:\[[\d,-]+\])?(?:,[\w.-]+(?:\[[\d,-]+\])?){0,200}"
_INITIALS = r"(?:(?P<of_a>[a-z])/(?=(?P=of_a)))?(?:(?P<of_b>[a-z]{2})/(?=(?P=of_b)))?"
"""Folders of initials between: /home/j/jr/jroe."""


def _is_login(match: re.Match[str]) -> bool:
    """No address of a forge (`git@github.com:ROCm/x.git #`), no number behind the sign."""
    return match["user"] != "git" and not match["user"].endswith(".git") and any(map(str.isalpha, match["host"]))


def _is_private(match: re.Match[str]) -> bool:
    return match["account"].casefold() not in load_known().public_owners


def _is_hostlike(match: re.Match[str]) -> bool:
    name = next(v for v in match.groupdict().values() if v)
    return any(c.isdigit() or c in ".-" for c in name) or name.casefold() not in field_words()


def _has_digit(match: re.Match[str]) -> bool:
    return any(map(str.isdigit, match["serial"]))


PROMPTS = (
    RedactionRule(("@",), Pattern(rf"\[(?P<user>{NAME})@(?P<host>{HOST})(?:[ :][^\]\n]{{0,200}})?\] ?[$#%>]"), "line", accept=_is_login),
    RedactionRule(("@",), Pattern(rf"(?<![\w.@/:+-])(?P<user>{NAME})@(?P<host>{HOST})" r"(?:(?::|[ ]{1,2}[~/])[^\n]{0,200}?[$#%❯](?:\s|$)|(?:: ?| )[~/][^\s>]{0,120}>|(?: [\w./~-]{1,80})? [%$❯➜»](?:\s|$)" r"| MINGW\d\d|:~|[ ]~\S{0,80}\s*$|\s*$|: Permission denied|'s password)"), "line", accept=_is_login),
    RedactionRule((" in ~", " in /", " in \U0001f310"), Pattern(rf"^(?P<user>{NAME}) (?:in|at) (?:\U0001f310 ?)?(?P<host>{HOST}) in [~/]"), "line"),
    RedactionRule(("㉿",), Pattern(rf"(?P<user>{NAME})㉿(?P<host>{HOST})"), "line"),
)  # fmt: skip

FORMATS = (
    # Where a tool prints the machine that it runs on.
    RedactionRule(
        ("nccl", "rccl"),
        Pattern(rf"(?<![\w.-])(?P<host>{HOST}):\d{{1,8}}:\d{{1,8}} \[\d{{0,3}}\]"),
        "line",
    ),
    RedactionRule(("] ***", "] mca", "] pml", "] pmix", "] [[", "] [ ", "] signal", "] failing", "] parser", "] ucx", ":0]", " ucx "), Pattern(rf"\[(?P<host>{HOST}):\d{{2,8}}(?: ?:\d+){{0,2}}\]"), "line", accept=lambda m: "_" not in m["host"] and _is_hostlike(m)),
    RedactionRule(("linux ",), Pattern(rf"(?<!\w )Linux (?P<host>{HOST}) (?=\d+\.\d+\.\d\S*(?: #\d|(?<=-\S)))"), accept=lambda m: m["host"].casefold() not in ("version", "kernel")),
    RedactionRule(("linux version",), Pattern(rf"Linux version \S+ \((?P<user>{NAME})@(?P<host>{HOST})\)")),
    RedactionRule(("hostname", "uname -n", "echo $host", "echo %computername%"), Pattern(rf"(?:hostname(?: -[fsA])?|uname -n|echo \S+)[ \t]*\r?\n(?P<host>{HOST})[ \t]*\r?(?:\n|$)", re.I)),
    RedactionRule(("hostname set to <", "hostname to <"), Pattern(rf"hostname (?:set )?to <(?P<host>{HOST})>", re.I)),
    RedactionRule(("hostname", "computername", "host name", "machine name"), Pattern(rf"(?i:hostname|computername|(?:host|machine) name)[\"']?[ \t]{{0,24}}[:=][ \t]{{0,24}}[\"']?(?P<host>{HOST})"), certain=False),
    RedactionRule(("svc_", "usr_", "acct_", "project_", "proj_", "prj_", "grp_", "team_", "tenant_"), Pattern(r"(?<![\w.-])(?P<account>(?:svc_\w+|(?:usr|acct|project|proj|prj|grp|team|tenant)_[A-Za-z0-9]*\d{2}\w*))(?![\w(])"), remember=False),
    RedactionRule(("ssh ", "scp ", "rsync ", "sftp ", "mosh ", "ssh-copy-id ", "sshfs ", "ssh://"), Pattern(rf"(?:\w+|ssh-copy-id)(?: |://)(?:[^\n|;&@]{{0,200}}?[\s/'\"])??(?P<user>{NAME})@(?P<host>{HOST})")),
    RedactionRule(("whoami", "logname", "id -un", "echo $user", "echo ${user}", "echo %username%"), Pattern(rf"(?:whoami|logname|id -un|echo \S+)[ \t]*\r?\n(?:(?P<host>[\w-]{{1,40}})\\)?(?P<user>{NAME}(?: {NAME})?)[ \t]*\r?(?:\n|$)", re.I)),
    RedactionRule(("uid=", "gid="), Pattern(r"(?:uid=\d+\((?P<user>[^)\n<]{1,64})\))?\s?(?:gid=\d+\((?P<group>[^)\n<]{1,64})\))?(?:\s?groups=(?P<groups>\d+\([^)\n<]{1,60}\)(?:,\d+\([^)\n<]{1,60}\)){0,100}))?")),
    RedactionRule(("groups", "joined: "), Pattern(r"(?:(?<![^\n])(?:groups|joined): |groups(?: [\w.-]{1,40})?[ \t]*\r?\n(?:[\w.-]{1,40} : )?)(?P<groups>[a-z_][\w.-]*(?: [a-z_][\w.-]*){0,60})[ \t]*\r?(?:\n|$)"), certain=False, accept=lambda m: not load_known().groups.isdisjoint(m["groups"].split())),
    RedactionRule((":x:",), Pattern(r"^(?P<group>[\w-]{1,40}):x:\d+:(?P<users>[\w,.-]{1,400})$"), "line"),
    RedactionRule(("rw-", "rwx", "r-x", "r--", "--x", "---"), Pattern(r"(?<!\S)[dlcbsp-][rwxsStT-]{9}[.+@]?\s+\d{1,6}\s+(?P<user>[^\s<>]{1,64})\s+(?P<group>[^\s<>]{1,64})\s"), "line"),
    RedactionRule(("accepted ", "session", "user ", "failed password"), Pattern(rf"(?:accepted \S{{1,30}} for|sessions? (?:\S{{1,12}} )?(?:opened |closed )?(?:for|of) user|(?<!--)user|failed password for(?: invalid user)?)\s(?P<user>{NAME})" r"(?=\(uid|\.\s|\.$| from|\s*$| logged| by)", re.I), certain=False),
    RedactionRule(("connection '", "network '", "network \"", "ssid '", 'ssid "'), Pattern(r"(?:connection|network|ssid)(?: name)? ?['\"](?P<network>[^'\"\n]{3,32})['\"](?=[^\n]{0,80}(?:security|secrets|wi-?fi|wireless))", re.I)),
    RedactionRule(("\\\\",), Pattern(r"(?<![^\s\"'`(=,])\\{2,4}(?!wsl)(?P<host>[A-Za-z][\w.-]{1,60})\\{1,2}(?P<bucket>[A-Za-z][\w.$-]{1,60})")),
    RedactionRule(("for user '", 'for user "'), Pattern(r"for user ['\"](?P<user>[^'\"\s@]{2,60})['\"](?:@['\"](?P<host>[A-Za-z][\w.-]*))?")),
    RedactionRule(("userid=",), Pattern(r"UserId=[^\s()=]{1,64}\((?P<serial>\d{4,})\)")),
    RedactionRule((" : tty=", " : pwd="), Pattern(rf"(?P<user>{NAME}) : (?:TTY|PWD)="), "line"),
    RedactionRule(("password for ", "sudoers"), Pattern(rf"password for (?P<user>{NAME})(?=[:\s]|$)|(?P<user2>{NAME}) is not in the sudoers"), "line", certain=False),
    RedactionRule((" member of ",), Pattern(rf"^\s*(?P<user>{NAME}) is (?:not )?(?:a )?member of"), "line"),
    RedactionRule(("logged in ", "authenticated as", "login as", "signed in as", "hi "), Pattern(rf"(?:logged in (?:to \S{{1,60}} )?(?:as|account):?|authenticated as|log(?:ged)? ?in as:?|signed in as:?|to \S+ account) [\"']?(?P<user>{NAME})(?:@[\w.-]+)?[\"']?" rf"(?: \((?P<account>[\w.-]{{1,60}})\))?|hi (?P<user2>[\w-]{{2,40}})! you", re.I), certain=False),
    RedactionRule(("user ", "user\t"), Pattern(r"^[ \t]*User[ \t]+(?P<user>[A-Za-z][\w.@+-]{1,60})[ \t]*$"), "line"),
    RedactionRule(("pscredential", "-username ", "-credential ", "/user:", "cmdkey ", "/ru ", "get-credential "), Pattern(r"(?:PSCredential[^\n'\"]{0,20}['\"]|(?:-(?:UserName|Credential)|Get-Credential(?: -\w+)?|/RU)[ :=]{1,2}['\"]?|/user:['\"]?)" r"(?:(?P<host>[A-Za-z][\w.-]{1,40})\\)?(?P<user>[A-Za-z_][\w.@+-]{1,60})(?![\w(\\])", re.I), accept=lambda m: m["user"].casefold() not in ("new-object", "get-credential")),
    RedactionRule(("git@",), Pattern(rf"git@(?P<host>{HOST})[:/](?:\d+/)?(?P<account>[\w.-]{{1,60}})/(?P<account2>[\w.-]{{1,80}}?)(?=\.git|[\s\"'/#)]|$)"), accept=_is_private),
    RedactionRule(("(fetch)", "(push)"), Pattern(r"[/:](?P<account>[\w.-]{1,60})/(?P<account2>[\w.-]{1,80}?)(?:\.git)?\s\((?:fetch|push)\)"), "line", accept=_is_private),
    RedactionRule(("@github.com/", "@gitlab.com/", "@bitbucket.org/", "repository: "), Pattern(r"(?:@[\w.]+/|repository: )(?P<account>[\w.-]{1,60})/(?P<account2>[\w.-]{1,80}?)(?=\.git|[\s\"'/#)]|$)"), accept=_is_private),
    RedactionRule(("s-1-5-21-",), Pattern(r"(?P<serial>S-1-5-21-\d{4,12}-\d{4,12}-\d{4,12}(?:-\d{1,8})?)", re.I)),
    RedactionRule(("host: ",), Pattern(rf"Host: (?P<host>{HOST}) Kernel:"), "line"),
    RedactionRule(("[0", "[1", "[2"), Pattern(r"(?<![\w.-])(?P<hosts>[a-z][\w-]{1,40}\[\d{2,}(?:[,-]\d{2,}){1,40}\])(?!\w)"), "line"),
    RedactionRule((", system id: ",), Pattern(r"^\s+on (?P<host>\S{2,80}) (?P<token>[\w-]{8,40}), system ID: (?P<serial>[rs]_\w{12})"), "line"),
    RedactionRule(("fatal: [", "ok: [", "changed: [", "failed: [", "skipping: [", "unreachable: ["), Pattern(r"\w+: \[(?P<host>[A-Za-z][\w.-]{1,250})\](?=:|$|\s)")),
    RedactionRule((": task", ": tasks"), Pattern(rf"(?P<host>{HOST}): tasks? \d"), "line", certain=False),
    RedactionRule(("connect to ", "connecting to ", "connected to ", "connection to ", "connect back to ", "reach ", "resolve ", "listening on ", "bind to ", "endpoint ", "address ", "lookup ", "peer ", "server at ", "head at ", "getaddrinfo", "host ", "hosts ", "ping ", "added '", "mount ", "store on "), Pattern(r"(?:(?:connect(?:ed|ing|ion)?(?: back)? to|reach|resolve|listening on|bind to|endpoint|address|lookup|peer|server at|head at|store on) (?:host(?:name)? )?['\"`(\[]?(?P<host>[A-Za-z][\w.-]{1,250})['\"`\])]?(?::\d{2,5}|, (?:port )?\d{2,5}| port \d{2,5})" r"|(?:resolve|lookup) (?:host(?:name)?:? )?['\"`]?(?P<host2>[A-Za-z](?=[A-Za-z_]{0,99}[\d.-])[\w.-]{1,250})" r"|getaddrinfo[^\n:]{0,40}[('\"](?P<host3>[A-Za-z][\w.-]*)|hosts? ['\"]?(?P<host4>[A-Za-z](?=[A-Za-z_]{0,99}[\d.-])[\w.-]{1,250})['\"]?(?: port| is|:|,|\.?\s*$)|ping (?P<host5>[A-Za-z](?=[A-Za-z_]{0,99}[\d-])[\w.-]{1,250})" r"|added '\[?(?P<host6>[A-Za-z][\w.-]*)|connection to (?P<host7>[A-Za-z][\w.-]*) (?:closed|refused|timed|lost|reset|port))", re.I), certain=False, accept=_is_hostlike),
    RedactionRule((" slots=",), Pattern(rf"^(?P<host>{HOST}) slots="), "line"),
    RedactionRule(("serial", "serienn", "serienum", "serienr", "srie", "s\u00e9rie", "de serie", "di serie", "seryjn", "\u0441\u0435\u0440\u0438\u0439\u043d", "sarjanum", "s\u00e9riov", "v\u00fdrobn", "sorozatsz", "seri no", "nomor seri", "s\u1ed1 seri", "\u03c3\u03b5\u03b9\u03c1\u03b9\u03b1\u03ba", "\u30b7\u30ea\u30a2\u30eb", "\u5e8f\u5217\u53f7", "\u5e8f\u865f", "\uc77c\ub828\ubc88\ud638", "\u0627\u0644\u062a\u0633\u0644\u0633\u0644\u064a", "\u05e1\u05d9\u05d3\u05d5\u05e8\u05d9", "\u0938\u0940\u0930\u093f\u092f\u0932"), Pattern(r"(?!(?i:serial(?: ?(?:number|no))?)[\"']?\s*[:=])[^\W\d_ ]{3,14}(?: no| seri| serie)?[^\n\d]{0,40}?[^\w.](?P<serial>(?=[A-Z_-]{0,8}\d)[A-Z0-9][A-Z0-9_-]{6,24})(?![\w.:]|-[a-z])"), accept=lambda m: sum(map(str.isdigit, m["serial"])) > 4),
    RedactionRule(("guid",), Pattern(r"guid[\"']?[ \t:=]{1,24}[\"']?(?P<serial>(?:0x)?(?:[0-9a-f]{4}[: ]?){3}[0-9a-f]{4})(?![\w:-])", re.I)),
    RedactionRule(("pdsh ", "mpirun ", "mpiexec ", "srun ", "salloc ", "sbatch ", "clush ", "parallel-ssh "), Pattern(rf"\w+ [^\n]{{0,200}}?(?:-w|-H|--?hosts?|--nodelist|--exclude|-x(?! \w+=))[ =](?P<hosts>{_LIST})")),
    RedactionRule(("srun ", "salloc ", "sbatch ", "#sbatch "), Pattern(r"\w+ (?:[^\n]{0,200}? )??-A[ =]?(?P<account>[A-Za-z][\w.-]{1,40})")),
    RedactionRule(("ip-",), Pattern(r"(?<![\w-])(?P<host>ip-\d{1,3}(?:-\d{1,3}){3}(?:\.[\w.-]+\w)?)")),
    RedactionRule(("desktop-", "laptop-", "win-"), Pattern(r"(?<![A-Za-z0-9])(?P<host>(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{6,12})(?![A-Za-z0-9])")),
    RedactionRule((".blob.core.windows.net/",), Pattern(r"\.blob\.core\.windows\.net/(?P<bucket>[a-z0-9][a-z0-9-]{2,62})(?![\w-])")),
    RedactionRule(("kubectl ", "oc ", "k9s ", "helm "), Pattern(r"\w+[^\n]{0,120}?\s(?:-n|--namespace)[ =](?P<account>[\w-]{2,63})")),
    RedactionRule(("arn:aws",), Pattern(r"arn:aws[\w-]*:[\w-]*:[\w-]*:(?P<account>\d{12})(?::(?:user|role|assumed-role)/(?P<user>[\w.@/-]{1,100}))?(?::{2,3}(?P<bucket>[\w.-]{3,63}))?")),
    RedactionRule(("arn:aws:s3:::",), Pattern(r"arn:aws:s3:::(?P<bucket>[\w.-]{3,63})")),
    RedactionRule(("mapper/",), Pattern(r"mapper/(?:(?:fedora|rl|cs|rhel|centos|almalinux|ol)_(?P<host>\w+)(?=-)|(?P<host2>\w+(?:--\w+)*)--vg-)")),
    RedactionRule(("-vg/",), Pattern(r"/dev/(?P<host>[\w-]+)-vg/"), "line"),
    RedactionRule(("by-id/", "ata-", "nvme-"), Pattern(r"(?:by-id/(?:[a-z0-9]+-)|(?<![A-Za-z0-9-])(?:ata|nvme)-)[\w.:+-]*?_(?P<serial>[A-Za-z0-9-]{6,40}?)(?:-part\d+|-lun-\d+|_\d+)*(?![\w-])"), accept=_has_digit),
    RedactionRule(("wwn-0x", "nvme-eui.", "nvme-nvme.", "wwn:", "lu wwn", "eui64", "eui-64", "nguid", "wwid"), Pattern(r"(?:wwn-0x|nvme-eui\.|nvme-nvme\.|(?:wwn|lu wwn device id|eui-?64|nguid|wwid)\s{0,4}[:= ]\s{0,40}(?:0x|eui\.|naa\.)?)(?P<serial>[0-9a-f](?:[0-9a-f]| (?=[0-9a-f])){13,34})", re.I)),
    RedactionRule(("sn:", "sn=", "sn#", "sn ", "sn\t", "s/n"), Pattern(r"(?<![A-Za-z0-9_])(?:SN|S/N)\s?[:=#]\s{0,4}(?P<serial>[A-Z0-9][A-Z0-9-]{5,30})(?![\w])"), accept=_has_digit),
    RedactionRule(("serial",), Pattern(r"serial(?:number)?[ \t]*\r?\n(?:[ \t-]*\r?\n){0,2}[ \t]*(?P<serial>[A-Z0-9][A-Z0-9-]{5,30})[ \t]*\r?(?:\n|$)", re.I), accept=_has_digit),
    RedactionRule(("service tag", "product id", "produkt-id", "id de produit", "id du produit", "id del producto", "id prodotto", "product key", "servicetag", "device id:", "imei", "asset tag", "system id"), Pattern(r"[\w -]+?\s{0,20}[:=]\s{0,48}(?P<serial>\d{5}-\d{5}-\d{5}-[A-Z]{5}|\d{5}-\d{3}-\d{7}-\d{5}|\d{5}-\d{5}-\d{5}-[A-Z0-9]{5}|[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}|[A-Z0-9]{7}(?![\w.])|\d{15}(?!\d)|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12})", re.I), accept=_has_digit),
    RedactionRule(("/home", "/users", "/user/", "/people/", "/nethome", "/userhome"), Pattern(rf"(?i:/(?:homes?|users|homedirs?|people|nethome|userhome)\d{{0,3}})/{_INITIALS}(?P<user>{NAME})(?!(?<=/[a-z])/<|(?<=/[a-z][a-z])/<)")),
    RedactionRule((":\\users\\", ":\\\\users\\\\", ":/users/"), Pattern(r":[\\/]{1,2}users[\\/]{1,2}(?P<user>[^\\/:*?\"<>|\r\n]{1,60}(?=[\\/>])|[\w.-]{1,60})", re.I)),
)  # fmt: skip
