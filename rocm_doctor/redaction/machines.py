"""Machines and where they are, known by where they stand: journals, NCCL lines, rendezvous, Slurm, Kubernetes, disks, buckets."""

from __future__ import annotations

import re

from rocm_doctor.redaction.folders import NAME
from rocm_doctor.redaction.known import is_public, words
from rocm_doctor.redaction.people import HOST
from rocm_doctor.redaction.rules import Pattern, Rule

_LIST = r"[\w.-]+(?:\[[\d,-]+\])?(?:,[\w.-]+(?:\[[\d,-]+\])?){0,200}"
_INTERNAL = (
    ".local", ".lan", ".internal", ".corp", ".cluster", ".localdomain", ".intranet", ".home.arpa", ".home", ".private", ".fritz.box", ".ts.net",
    ".svc", ".test", ".edu", ".ac.uk", ".gov", ".hpc.", ".uni-", ".tu-", ".mgmt", ".infra",
)  # fmt: skip
_BUCKETS = frozenset((
    "abfs", "abfss", "adl", "az", "b2", "cos", "gcs", "gs", "minio", "obs", "oss", "r2", "s3", "s3a", "s3n", "swift", "wasb", "wasbs",
))  # fmt: skip
_LOCAL_SCHEMES = frozenset((
    "about", "app", "blob", "chrome", "container", "data", "docker", "docker-archive", "file", "hf", "jar", "oci", "ollama", "package",
    "vscode-remote",
))  # fmt: skip
_SERVICES = frozenset((
    "airflow", "argocd", "artifactory", "auth", "bastion", "build", "cache", "ci", "clearml", "confluence", "db", "devpi", "files", "git",
    "gitea", "gitlab", "grafana", "harbor", "hub", "internal", "intranet", "jenkins", "jira", "jump", "jupyter", "kibana", "ldap", "login",
    "mail", "metrics", "minio", "mirror", "mlflow", "monitoring", "nas", "nexus", "portal", "prometheus", "proxy", "pypi", "redis",
    "registry", "repo", "smtp", "sonar", "sql", "sso", "staging", "vault", "vpn", "wiki",
))  # fmt: skip


def _network_name(match: re.Match[str]) -> bool:
    """A name of hosts and not of Python: `threading.local()`, `from werkzeug.local import`, a file."""
    text, name = match.string, match.group().casefold()
    labels = name.split(".")
    before = text[max(0, match.start() - 8) : match.start()]
    if text[match.end() : match.end() + 1] == "(" or before.endswith(("from ", "import ")):
        return False
    return labels[0] != "" and "_" not in name and not set(labels[:-1]) <= words() and not is_public(name)


def _scheme(match: re.Match[str]) -> str:
    found = re.search(r"[A-Za-z][\w+-]*$", match.string[max(0, match.start() - 16) : match.start()])
    return found[0].casefold() if found else ""


def _in_url(match: re.Match[str]) -> bool:
    """Whether the host of a URL is that of someone's network: no dot, a port, a login, or another scheme than the web's."""
    scheme, host = _scheme(match), match["host"].casefold()
    if not scheme or scheme in _BUCKETS | _LOCAL_SCHEMES or is_public(host) or "_" in host or host.split(".")[0] == "www":
        return False
    web = scheme in ("http", "https", "git+https", "git+http")
    if host in words():
        return bool(match["of_login"])
    return (
        not web or "." not in host or bool(match["of_login"] or match["of_port"]) or bool(_SERVICES & set(host.split(".")[:-2]))
    )


def _hostlike(match: re.Match[str]) -> bool:
    name = next(v for v in match.groupdict().values() if v)
    return any(c.isdigit() or c in ".-" for c in name) or name.casefold() not in words()


_URL = r"://(?:(?P<of_login>[^\s/@<>\"']{1,300})@)?(?P<KIND>[A-Za-z0-9](?:[\w.-]{0,250}\w)?)(?P<of_port>:\d{2,5})?"

ITSELF = (
    Rule(
        ("nccl", "rccl"),
        Pattern(rf"(?<![\w.-])(?P<host>{HOST}):\d{{1,8}}:\d{{1,8}} \[\d{{0,3}}\]"),
        "line",
    ),
    Rule(("] ***", "] mca", "] pml", "] pmix", "] [[", "] [ ", "] signal", "] failing", "] parser", "] ucx", ":0]", " ucx "), Pattern(rf"\[(?P<host>{HOST}):\d{{2,8}}(?: ?:\d+){{0,2}}\]"), "line", accept=lambda m: "_" not in m["host"] and _hostlike(m)),
    Rule(("linux ",), Pattern(rf"(?<!\w )Linux (?P<host>{HOST}) (?=\d+\.\d+\.\d+\S*(?: #\d|-\S+))"), accept=lambda m: m["host"].casefold() not in ("version", "kernel")),
    Rule(("linux version",), Pattern(rf"Linux version \S+ \((?P<user>{NAME})@(?P<host>{HOST})\)")),
    Rule(("hostname", "uname -n", "echo $host", "echo %computername%"), Pattern(rf"(?:hostname(?: -[fsA])?|uname -n|echo \S+)[ \t]*\r?\n(?P<host>{HOST})[ \t]*\r?(?:\n|$)", re.I)),
    Rule(("hostname set to <", "hostname to <"), Pattern(rf"hostname (?:set )?to <(?P<host>{HOST})>", re.I)),
    Rule(("hostname", "computername", "host name", "machine name"), Pattern(rf"(?i:hostname|computername|(?:host|machine) name)[\"']?[ \t]{{0,24}}[:=][ \t]{{0,24}}[\"']?(?P<host>{HOST})"), sure=False),
)  # fmt: skip

MACHINES = (
    Rule(("://",), Pattern(_URL.replace("KIND", "host")), accept=_in_url),
    Rule(("://",), Pattern(_URL.replace("KIND", "bucket")), accept=lambda m: _scheme(m) in _BUCKETS),
    *ITSELF,
    Rule(("node:",), Pattern(rf"^\s*Node:\s{{1,24}}(?P<host>{HOST})(?=/\d)"), "line"),
    Rule(("host\":", "host\" :", "host = ", "host: \"", "host='", "host=\""), Pattern(r"(?<![\w-])host[\"']?\s{0,2}[:=]\s{0,2}[\"'](?P<host>[A-Za-z][\w.-]{1,250})[\"']", re.I), "line", sure=False),
    Rule((":/",), Pattern(r"^(?P<host>[A-Za-z][\w-]*(?:\.[\w-]+)*):/\S* (?:on /|\s*[\d.]+[KMGTP]?\s)|(?:mount(?:ing)?|rsync|scp)[^\n]{0,100}\s(?P<host2>[A-Za-z][\w-]*(?:\.[\w-]+)*):/[\w~]"), "line", sure=False),
    Rule(("host ",), Pattern(r"(?<![^\n])Host (?P<hosts>[A-Za-z][\w.-]*(?: [A-Za-z][\w.-]*){0,5})[ \t]*\r?\n[ \t]+[A-Z]\w+ ")),
    Rule(("slurm",), Pattern(r"slurm\w{1,12}\[(?P<host>[A-Za-z][\w.-]{1,80})\]:")),
    Rule(("@ ",), Pattern(r"^100\.\d{1,3}\.\d{1,3}\.\d{1,3}\s+(?P<host>[A-Za-z][\w-]{0,62})\s+(?P<user>[\w.-]{1,60})@\s"), "line"),
    Rule((" -l ", " -r "), Pattern(r" -[LR] ?(?:[\w.]+:)?\d{2,5}:(?P<host>[A-Za-z][\w.-]{1,250}):\d{2,5}", re.I), sure=False),
    Rule(("clusters/",), Pattern(r"clusters/(?P<host>[A-Za-z][\w-]{2,60})/code/")),
    Rule((", system id: ",), Pattern(r"^\s+on (?P<host>\S{2,80}) (?P<token>[\w-]{8,40}), system ID: (?P<serial>[rs]_\w{12})"), "line"),
    Rule(("running on ",), Pattern(r"Running on \S{1,200} via (?P<host>[A-Za-z][\w.-]{1,200}?)(?=\.\.\.|\s|$)", re.I)),
    Rule(("connection '", "ssid '", "wifi connect "), Pattern(r"(?:connection|ssid|wifi connect) (?P<of_quote>['\"])(?P<network>[^'\"\n<>]{2,40})(?P=of_quote)", re.I), sure=False),
    Rule(("endpoint = ",), Pattern(r"endpoint = (?P<host>[A-Za-z][\w.-]{1,250}):\d{2,5}", re.I)),
    Rule(("name: ",), Pattern(r"^\s*(?:pod )?name:\s{1,24}(?P<account>[a-z0-9][a-z0-9.-]{1,80}-[bcdfghjklmnpqrstvwxz2456789]{5,10}(?:-[bcdfghjklmnpqrstvwxz2456789]{5})?)\s*$", re.I), "line", accept=lambda m: any(map(str.isdigit, m["account"].rsplit("-", 1)[1]))),
    Rule(("\"name\": \"/",), Pattern(r"\"name\": \"/(?P<container>[\w.-]{3,60})\"", re.I)),
    Rule((" eui.",), Pattern(r"^[a-z]\w{2,12}\s+(?P<serial>[A-Z0-9]{8,24})\s+eui\.(?P<serial2>[0-9a-f]{16,32})(?!\w)"), "line"),
    Rule((" aka ", " called ", " named "), Pattern(r"(?:\.\d{1,3}|(?:server|machine|node|host|box|workstation|cluster)s?,?) (?:is )?(?:aka|called|named) [\"'`]?(?P<host>[A-Za-z][\w-]{2,40}(?:\.[\w-]+){0,4})"), "line", sure=False),
    Rule(("servers, ", "servers: ", "machines, ", "machines: ", "nodes, ", "nodes: ", "hosts, ", "boxes, ", "workstations, "), Pattern(r"\w+[,:] (?P<host>[a-z][\w-]{2,40}) and (?P<host2>[a-z][\w-]{2,40})[,.\s]"), accept=lambda m: not {m["host"], m["host2"]} & words()),
    Rule((" via ", " through ", " over "), Pattern(r" (?:via|through|over) (?P<host>[a-z][\w-]{0,62}(?:\.[a-z][\w-]{0,62}){2,5})(?![\w(])"), sure=False, accept=lambda m: not is_public(m["host"])),
    Rule((" infra ", " ad-hoc "), Pattern(r"(?:[0-9A-F]{2}:){5}[0-9A-F]{2}\s{2,}(?P<network>\S[^\n]{0,31}?)\s{2,}(?:Infra|Ad-Hoc)"), "line"),
    Rule(("resourcegroups/", "resource-group ", "--resource-group"), Pattern(r"(?:resourcegroups/|(?:--)?resource-group[ =])(?P<account>[\w.-]{3,90})", re.I)),
    Rule(("nfs mount: ",), Pattern(r"nfs mount: (?P<host>[A-Za-z][\w.-]*):/")),
    Rule(("//",), Pattern(r"^//(?P<host>[A-Za-z][\w-]{1,30})/(?P<account>[^\s/]+)\S* +(?:[\d.]+[KMGTP]?\s|/)"), "line", sure=False),
    Rule(("mount \\\\",), Pattern(r"mount \\\\(?P<host>[A-Za-z][\w.-]{1,60})\\")),
    Rule(("search ", "domain "), Pattern(r"^(?:search|domain) (?P<hosts>[a-z][\w-]*(?:\.[\w-]+)+(?: [a-z][\w-]*(?:\.[\w-]+)+){0,5})\s*$"), "line", accept=lambda m: not is_public(m["hosts"])),
    Rule(("fatal: [", "ok: [", "changed: [", "failed: [", "skipping: [", "unreachable: ["), Pattern(r"\w+: \[(?P<host>[A-Za-z][\w.-]{1,250})\](?=:|$|\s)")),
    Rule(("runner name", "runner group"), Pattern(r"runner (?:group )?name: ['\"]?(?P<host>[A-Za-z][\w.-]{2,80})", re.I)),
    Rule(("[core]",), Pattern(r"\[core\][^\[]{0,200}?\nproject = (?P<account>[a-z][\w-]{4,40})")),
    Rule((".iam.gserviceaccount",), Pattern(r"(?:@|%40)(?P<account>[a-z][\w-]{4,40})\.iam\.gserviceaccount"), "line"),
    Rule(("root=1-",), Pattern(r"Root=1-(?P<serial>[0-9a-f]{8}-[0-9a-f]{24})")),
    Rule(("(id: ",), Pattern(r"\(ID: (?P<serial>[0-9a-f]{32,64})(?![0-9a-f])")),
    Rule(("keyring:persistent:",), Pattern(r"KEYRING:persistent:(?P<serial>\d{3,10})"), learn=False),
    Rule(("\"id\"",), Pattern(r"\"Id\":\s?\"(?P<container>[0-9a-f]{64})\"", re.I)),
    Rule(("runpod",), Pattern(r"runpod pod (?P<container>[A-Za-z0-9]{10,20})(?![\w-])")),
    Rule(("127.0.1.1", "::1 "), Pattern(r"(?:127\.0\.1\.1|::1)[ \t]+(?P<hosts>[\w. \t-]{2,200})"), sure=False),
    Rule(("\n    description: ",), Pattern(rf"(?P<host>{HOST})\s*$"), "above"),
    Rule((" kernel: ", "host: "), Pattern(rf"Host: (?P<host>{HOST}) Kernel:"), "line"),
    Rule(("session_manager=",), Pattern(rf"session_manager=local/(?P<host>{HOST}):", re.I)),
    Rule(("display=",), Pattern(r"display=(?P<host>[A-Za-z][\w.-]*):\d", re.I)),
    Rule((" (10.", " (192.168.", " (172."), Pattern(r"(?<![\w.-])(?P<host>[A-Za-z][\w.-]{1,250}) \((?:10|192\.168|172)\."), "line", sure=False),
    Rule((": task", ": tasks"), Pattern(rf"(?P<host>{HOST}): tasks? \d"), "line", sure=False),
    Rule((" on ", "nodes ", "node "), Pattern(rf"(?:STEP|JOB|Step|Job|StepId=|JobId=)[^\n]{{0,60}} ON (?P<hosts>{_LIST}) |[Nn]odes? (?P<hosts2>{_LIST}) (?:is|are) (?:still )?(?:not )?(?:ready|not responding|down)|[Nn]ode failure on (?P<hosts3>{_LIST})"), "line"),
    Rule(("]:",), Pattern(r"\[(?P<host>[A-Za-z][\w.-]{1,250})\]:\d{2,5}"), "line", sure=False),
    Rule(("host ",), Pattern(rf"host {{2,}}: (?P<host>{HOST})")),
    Rule(
        ("connect to ", "connecting to ", "connected to ", "connection to ", "connect back to ", "reach ", "resolve ", "listening on ", "bind to ", "endpoint ", "address ", "lookup ", "peer ", "server at ", "head at ", "getaddrinfo", "host ", "hosts ", "ping ", "added '", "mount ", "store on "),
        Pattern(
            r"(?:(?:connect(?:ed|ing|ion)?(?: back)? to|reach|resolve|listening on|bind to|endpoint|address|lookup|peer|server at|head at|store on) (?:host(?:name)? )?['\"`(\[]?(?P<host>[A-Za-z][\w.-]{1,250})['\"`\])]?(?::\d{2,5}|, (?:port )?\d{2,5}| port \d{2,5})"
            r"|(?:resolve|lookup) (?:host(?:name)?:? )?['\"`]?(?P<host2>[A-Za-z](?=[A-Za-z_]{0,99}[\d.-])[\w.-]{1,250})"
            r"|getaddrinfo[^\n:]{0,40}[('\"](?P<host3>[A-Za-z][\w.-]*)|hosts? ['\"]?(?P<host4>[A-Za-z](?=[A-Za-z_]{0,99}[\d.-])[\w.-]{1,250})['\"]?(?: port| is|:|,|\.?\s*$)|ping (?P<host5>[A-Za-z](?=[A-Za-z_]{0,99}[\d-])[\w.-]{1,250})"
            r"|added '\[?(?P<host6>[A-Za-z][\w.-]*)|connection to (?P<host7>[A-Za-z][\w.-]*) (?:closed|refused|timed|lost|reset|port))",
            re.I,
        ),
        sure=False,
        accept=_hostlike,
    ),
    Rule((": [20", ": [rank", ": [info", ": [warn", ": [error", ": w1", ": e1", ": i1"), Pattern(r"^(?P<host>[A-Za-z](?=[A-Za-z_]{0,99}[\d.-])[\w.-]{1,250}): +\[?(?:20\d\d-|rank|INFO|WARN|ERROR|[WEI]\d{4} )"), "line", sure=False),
    Rule((" slots=",), Pattern(rf"^(?P<host>{HOST}) slots="), "line"),
    Rule(
        ("serial", "serienn", "serienum", "serienr", "srie", "s\u00e9rie", "de serie", "di serie", "seryjn", "\u0441\u0435\u0440\u0438\u0439\u043d", "sarjanum", "s\u00e9riov", "v\u00fdrobn", "sorozatsz", "seri no", "nomor seri", "s\u1ed1 seri", "\u03c3\u03b5\u03b9\u03c1\u03b9\u03b1\u03ba", "\u30b7\u30ea\u30a2\u30eb", "\u5e8f\u5217\u53f7", "\u5e8f\u865f", "\uc77c\ub828\ubc88\ud638", "\u0627\u0644\u062a\u0633\u0644\u0633\u0644\u064a", "\u05e1\u05d9\u05d3\u05d5\u05e8\u05d9", "\u0938\u0940\u0930\u093f\u092f\u0932"),
        Pattern(r"(?!(?i:serial(?: ?(?:number|no))?)[\"']?\s*[:=])[^\W\d_ ]{3,14}(?: no| seri| serie)?[^\n\d]{0,40}?[^\w.](?P<serial>(?=[A-Z_-]{0,8}\d)[A-Z0-9][A-Z0-9_-]{6,24})(?![\w.:]|-[a-z])"),
        accept=lambda m: sum(map(str.isdigit, m["serial"])) > 4,
    ),
    Rule(("guid",), Pattern(r"guid[\"']?[ \t:=]{1,24}[\"']?(?P<serial>(?:0x)?(?:[0-9a-f]{4}[: ]?){3}[0-9a-f]{4})(?![\w:-])", re.I)),
    Rule(("pdsh ", "mpirun ", "mpiexec ", "srun ", "salloc ", "sbatch ", "clush ", "parallel-ssh "), Pattern(rf"\w+ [^\n]{{0,200}}?(?:-w|-H|--?hosts?|--nodelist|--exclude|-x(?! \w+=))[ =](?P<hosts>{_LIST})")),
    Rule(("srun ", "salloc ", "sbatch ", "#sbatch "), Pattern(r"\w+ (?:[^\n]{0,200}? )??-A[ =]?(?P<account>[A-Za-z][\w.-]{1,40})")),
    Rule(("ip-",), Pattern(r"(?<![\w-])(?P<host>ip-\d{1,3}(?:-\d{1,3}){3}(?:\.[\w.-]+\w)?)")),
    Rule(("ec2-",), Pattern(r"(?<![\w-])ec2-(?P<ip>\d{1,3}(?:-\d{1,3}){3})(?![\d-])")),
    Rule(("i-0",), Pattern(r"(?<![\w-])(?P<host>i-0[0-9a-f]{8,16})(?![\w-])")),
    Rule(("desktop-", "laptop-", "win-"), Pattern(r"(?<![A-Za-z0-9])(?P<host>(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{6,12})(?![A-Za-z0-9])")),
    Rule(("macbook", "thinkpad", "-mbp", "-imac", "-laptop", "-desktop", "-workstation"), Pattern(r"(?P<host>[\w]+(?:-[\w]+)*-(?:macbook|thinkpad|mbp|imac|laptop|desktop|workstation)[\w.-]*|macbook-\w+-\w[\w.-]*)", re.I), "word", sure=False, accept=lambda m: not set(m["host"].casefold().replace(".", "-").split("-")) <= words() | {"pro", "air", "mbp", "imac", "macbook"}),
    Rule(_INTERNAL, Pattern(r"(?P<host>[A-Za-z0-9][\w-]*(?:\.[\w-]+)*\.(?:local|lan|internal|corp|cluster|localdomain|intranet|home\.arpa|home|private|fritz\.box|ts\.net|test|edu|ac\.uk|gov|mgmt|infra|svc(?:\.cluster\.local)?)|[A-Za-z0-9][\w-]*(?:\.[\w-]+)*\.(?:hpc|uni-[\w-]+|tu-[\w-]+)(?:\.[\w-]+)*)\.?"), "word", accept=_network_name),
    Rule((".blob.core.windows.net/",), Pattern(r"\.blob\.core\.windows\.net/(?P<bucket>[a-z0-9][a-z0-9-]{2,62})(?![\w-])")),
    Rule((".s3.", ".s3-", ".blob.core.", ".dfs.core.", ".file.core.", ".r2.cloud", ".storage.googleapis"), Pattern(r"(?P<bucket>[\w.-]+?)\.(?:s3|blob|dfs|file|r2|storage)[.-][\w.-]+"), "word"),
    Rule(("s3.amazonaws.com/", "storage.googleapis.com/", "storage.cloud.google.com/"), Pattern(r"[\w.]+/(?P<bucket>[\w.-]{3,63})(?=/)")),
    Rule((".s3-website", "s3."), Pattern(r"s3[.-][a-z0-9-]{6,20}\.amazonaws\.com/(?P<bucket>[\w.-]{3,63})(?=/)")),
    Rule(("@",), Pattern(r"(?P<bucket>[\w-]{3,63})@(?P<bucket2>[\w-]{3,24})\.(?:dfs|blob)\.core\."), "line"),
    Rule(("pod/", "pods/", "namespaces/", "deployment", "job.batch/", "statefulset", "node/", "nodes/"), Pattern(r"(?<![\w/])(?:pods?|namespaces?|deployments?(?:\.apps)?|job\.batch|statefulset(?:\.apps)?|nodes?)/(?P<account>[a-z0-9][\w.-]{2,100})"), accept=lambda m: any(c.isdigit() or c == "-" for c in m["account"])),
    Rule(("kubectl ", "oc ", "k9s ", "helm "), Pattern(r"\w+[^\n]{0,120}?\s(?:-n|--namespace)[ =](?P<account>[\w-]{2,63})")),
    Rule(("kubectl ", "oc "), Pattern(r"\w+ (?:-n \S+ )?(?:exec|logs|describe pods?|cp|delete pods?|get pods?|attach)(?: -{1,2}\S+)* (?P<account>[a-z0-9][\w.-]*-[\w.-]+)")),
    Rule(("system:serviceaccount:",), Pattern(r"system:serviceaccount:(?P<account>[\w-]+):(?P<account2>[\w-]+)")),
    Rule(("arn:aws",), Pattern(r"arn:aws[\w-]*:[\w-]*:[\w-]*:(?P<account>\d{12})(?::(?:user|role|assumed-role)/(?P<user>[\w.@/-]{1,100}))?(?::{2,3}(?P<bucket>[\w.-]{3,63}))?")),
    Rule(("arn:aws:s3:::",), Pattern(r"arn:aws:s3:::(?P<bucket>[\w.-]{3,63})")),
    Rule((".dkr.ecr",), Pattern(r"(?P<account>\d{12})\.dkr\.ecr[\w.-]*"), "word"),
    Rule(("api.",), Pattern(r"api\.(?!github)[\w.-]{1,80}/(?:[\w.-]{1,60}/){0,4}?[a-z][a-z_-]{2,30}s/(?P<serial>\d{6,20})(?![\w.])")),
    Rule(("projects/",), Pattern(r"projects/(?P<account>[a-z][\w-]{4,40})/(?:locations|zones|global|instances|regions|secrets|buckets|subscriptions|topics)")),
    Rule(("docker pull ", "docker push ", "podman pull ", "podman push ", "docker login ", "image: "), Pattern(r"(?:\w+ \w+|[Ii]mage:)\s{1,16}[\"']?(?P<host>[A-Za-z][\w-]*(?:\.[\w-]+)+(?::\d+)?)(?=/|\s|$)"), accept=lambda m: not is_public(m["host"].split(":")[0].casefold())),
    Rule(("essid:", "ssid:", "ssid=", "ssid "), Pattern(r"(?<![A-Za-z])e?ssid[:= ]{1,3}\"(?P<network>[^\"\n<>]{1,32})\"|(?<![A-Za-z])e?ssid\s?[:=]\s{0,8}(?P<network2>[^\s\"<>:][^\n\"<>]{0,31})", re.I), learn=False),
    Rule(("mapper/",), Pattern(r"mapper/(?:(?:fedora|rl|cs|rhel|centos|almalinux|ol)_(?P<host>\w+)(?=-)|(?P<host2>\w+(?:--\w+)*)--vg-)")),
    Rule(("-vg/",), Pattern(r"/dev/(?P<host>[\w-]+)-vg/"), "line"),
    Rule(("by-id/", "ata-", "nvme-"), Pattern(r"(?:by-id/(?:[a-z0-9]+-)|(?<![A-Za-z0-9-])(?:ata|nvme)-)[\w.:+-]*?_(?P<serial>[A-Za-z0-9-]{6,40}?)(?:-part\d+|-lun-\d+|_\d+)*(?![\w-])"), accept=lambda m: any(map(str.isdigit, m["serial"]))),
    Rule(("wwn-0x", "nvme-eui.", "nvme-nvme.", "wwn:", "lu wwn", "eui64", "eui-64", "nguid", "wwid"), Pattern(r"(?:wwn-0x|nvme-eui\.|nvme-nvme\.|(?:wwn|lu wwn device id|eui-?64|nguid|wwid)\s{0,4}[:= ]\s{0,40}(?:0x|eui\.|naa\.)?)(?P<serial>[0-9a-f](?:[0-9a-f]| (?=[0-9a-f])){13,34})", re.I)),
    Rule(("guid", "port_gid"), Pattern(r"guid[\"']?\s{0,4}[:= ]\s{0,8}(?P<serial>0x[0-9a-f]{16}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4})(?![0-9a-f:])", re.I)),
    Rule(("sn:", "sn=", "sn#", "sn ", "sn\t", "s/n"), Pattern(r"(?<![A-Za-z0-9_])(?:SN|S/N)\s?[:=#]\s{0,4}(?P<serial>[A-Z0-9][A-Z0-9-]{5,30})(?![\w])"), accept=lambda m: any(map(str.isdigit, m["serial"]))),
    Rule(("serialnumber", "identifyingnumber", "serial"), Pattern(r"(?:serialnumber|identifyingnumber|serial)[ \t]*\r?\n(?:[ \t-]*\r?\n){0,2}[ \t]*(?P<serial>[A-Z0-9][A-Z0-9-]{5,30})[ \t]*\r?(?:\n|$)", re.I), accept=lambda m: any(map(str.isdigit, m["serial"]))),
    Rule(("service tag", "product id", "produkt-id", "id de produit", "id du produit", "id del producto", "id prodotto", "product key", "servicetag", "device id:", "imei", "asset tag", "system id"), Pattern(r"[\w -]+?\s{0,20}[:=]\s{0,48}(?P<serial>\d{5}-\d{5}-\d{5}-[A-Z]{5}|\d{5}-\d{3}-\d{7}-\d{5}|\d{5}-\d{5}-\d{5}-[A-Z0-9]{5}|[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}|[A-Z0-9]{7}(?![\w.])|\d{15}(?!\d)|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12})", re.I), accept=lambda m: any(map(str.isdigit, m["serial"]))),
    Rule(("enx", "wlx"), Pattern(r"(?<![A-Za-z0-9])(?:enx|wlx)(?P<mac>[0-9a-f]{12})(?![0-9a-f])")),
    Rule(("docker ", "podman ", "nerdctl "), Pattern(r"\w+ (?:exec|logs|inspect|start|stop|rm|attach|kill|cp|commit|restart)(?: -{1,2}[\w=-]+)* (?P<container>[0-9a-f]{12})(?![0-9a-f])")),
    Rule(("hostname", "container"), Pattern(r"(?:hostname|container(?: id)?)\W{1,4}(?P<container>[0-9a-f]{12})(?![0-9a-f])", re.I)),
)  # fmt: skip
