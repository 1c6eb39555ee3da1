"""Persons by their own names and numbers: authors, signatures, labels of forms, titles, chats, telephones."""

from __future__ import annotations

import re
from collections.abc import Callable

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.known import words
from rocm_doctor.redaction.rules import Pattern, Rule

_WORDS = r"[^\s<>\"'()@,:;|/\\][^\n<>\"'()@,:;|/\\]{0,58}[^\s<>\"'()@,:;|/\\]"
_FULL = r"[^\W\d_][\w'\u2019.-]{0,40}(?: [^\W\d_][\w'\u2019.-]{0,40}){0,4}"
"""A name of up to five words in any script."""
CAPITAL = r"[^\W\d_a-z][^\W\d_]{2,30}(?:-[^\W\d_]{2,30})?"
_CLOSINGS = (
    "regards", "cheers", "thanks", "thank you", "sincerely", "best wishes", "best", "yours", "gr\u00fc\u00dfe", "gruss", "gru\u00df", "mfg",
    "dank", "cordialement", "merci", "salutations", "saludos", "gracias", "atentamente", "abra\u00e7os", "obrigado", "obrigada",
    "atenciosamente", "grazie", "saluti", "pozdrawiam", "dzi\u0119kuj\u0119", "groet", "groeten", "h\u00e4lsningar", "hilsen", "terveisin",
    "s pozdravem", "sayg\u0131lar\u0131mla", "te\u015fekk\u00fcrler", "\u0441 \u0443\u0432\u0430\u0436\u0435\u043d\u0438\u0435\u043c", "\u0441\u043f\u0430\u0441\u0438\u0431\u043e", "\u8c22\u8c22", "\u656c\u4e0a", "\u4ee5\u4e0a",
)  # fmt: skip
_LABELS = (
    "requester", "requested by", "assignee", "assigned to", "submitter", "submitted by", "reported by", "caller", "contact person", "responsible",
    "supervisor", "technician", "ansprechpartner", "bearbeiter", "melder", "verfasser", "autor", "auteur", "auteure", "autore", "demandeur",
    "solicitante", "\u0430\u0432\u0442\u043e\u0440", "\u4f5c\u6210\u8005", "\u6c0f\u540d", "\u62c5\u5f53\u8005", "\u62c5\u5f53", "\u59d3\u540d", "\u4f5c\u8005", "\u62a5\u544a\u4eba", "\uc791\uc131\uc790", "\uc774\ub984", "\ub2f4\ub2f9\uc790",
)  # fmt: skip
_TITLES = ("prof.", "prof ", "professor ", "dr.", "herr ", "frau ", "mme ", "admin ", "colleague ", "sysadmin ", "supervisor ")


def _any(words: tuple[str, ...]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


def _named(match: re.Match[str]) -> bool:
    """Whether each word of it is written as a name is: with a capital where its script has any, or as a particle between two."""
    words = match["user"].split()
    return all(w[0] != w[0].lower() or w[0].lower() == w[0].upper() or (0 < n < len(words) - 1) for n, w in enumerate(words))


def _unusual(match: re.Match[str]) -> bool:
    """Whether no word of a name is one of the language or of the field, as those of products are."""
    return not set(match["user"].casefold().split()) & words()


def _digits(least: int) -> Callable[[re.Match[str]], bool]:
    return lambda match: least <= sum(map(str.isdigit, match["phone"])) <= 15


_HAN = r"[\u3400-\u9fff]"
_HONORIFICS = ("\u3055\u3093", "\u69d8", "\u6c0f", "\ub2d8", "\uc528", "\u5148\u751f", "\u8001\u5e08", "\u5e08\u5144")
_INTRODUCTIONS = (
    "\u6211\u662f", "\u6211\u53eb", "\u672c\u4eba", "\u59d3\u540d", "\u8054\u7cfb", "\u8054\u7cfb\u4eba", "\u8d1f\u8d23\u4eba", "\u7ba1\u7406\u5458", "\u540c\u4e8b",
    "\u5bfc\u5e08", "\u8bf7\u627e", "\u611f\u8c22", "\u8c22\u8c22", "\u4f5c\u8005", "\u79c1\u306f", "\u540d\u524d\u306f", "\u62c5\u5f53\u306f",
)  # fmt: skip
"""What stands before a name in Chinese and Japanese: `I am`, `my name is`, `contact`, `in charge`, `administrator`, `thanks`."""
_SURNAMES = (
    "\u738b\u674e\u5f20\u5218\u9648\u6768\u8d75\u9ec4\u5468\u5434\u5f90\u5b59\u80e1\u6731\u9ad8\u6797\u4f55\u90ed\u9a6c\u7f57\u6881\u5b8b\u90d1\u8c22\u97e9\u5510\u51af\u4e8e\u8463\u8427\u7a0b\u66f9\u8881\u9093"
    "\u8bb8\u5085\u6c88\u66fe\u5f6d\u5415\u82cf\u5362\u848b\u8521\u8d3e\u4e01\u9b4f\u859b\u53f6\u960e\u4f59\u6f58\u675c\u6234\u590f\u949f\u6c6a\u7530\u4efb\u59dc\u8303\u65b9\u77f3\u59da\u8c2d\u5ed6\u90b9\u718a"
    "\u91d1\u9646\u90dd\u5b54\u767d\u5d14\u5eb7\u6bdb\u90b1\u79e6\u6c5f\u53f2\u987e\u4faf\u90b5\u5b5f\u9f99\u4e07\u6bb5\u96f7\u94b1\u6c64\u5c39\u9ece\u6613\u5e38\u6b66\u4e54\u8d3a\u8d56\u9f9a\u6587\u6b27\u8bf8"
    "\u53f8\u4e0a\u4f50\u9234\u9ad8\u4f0a\u6e21\u5c71\u4e2d\u5c0f\u5409\u52a0\u6728\u658e\u6e05\u68ee\u6c60\u6a4b\u962a\u5ca1\u5f8c\u524d\u9577\u8fd1\u677e\u7af9\u5ddd\u6751"
)
"""First characters of the commonest surnames of China and Japan."""
_DOUBLE = (
    "\u6b27\u9633", "\u53f8\u9a6c", "\u4e0a\u5b98", "\u8bf8\u845b", "\u4e1c\u65b9", "\u7687\u752b", "\u5c09\u8fdf", "\u516c\u5b59",
    "\u6155\u5bb9", "\u4ee4\u72d0", "\u53f8\u5f92", "\u5b87\u6587", "\u957f\u5b59", "\u590f\u4faf", "\u7aef\u6728", "\u767e\u91cc",
)  # fmt: skip
"""Surnames of two characters."""
_ROADS = ("\u8def", "\u8857", "\u5927\u9053", "\u5df7", "\u80e1\u540c")
_AFTER_NAME = r"[\s,.;:!?()\uff0c\u3002\u3001\uff1b\uff01\uff08\uff09@<]|\u7684|\u5728|\u6765\u81ea|\u8001\u5e08|\u3067\u3059|\u3068\u7533|$"
_BODIES = (
    "\u516c\u53f8", "\u79d1\u6280", "\u96c6\u56e2", "\u533b\u9662", "\u5927\u5b66", "\u5b66\u9662", "\u7814\u7a76\u9662", "\u7814\u7a76\u6240", "\u5b9e\u9a8c\u5ba4", "\u94f6\u884c",
    "\u5927\u5b78", "\u682a\u5f0f\u4f1a\u793e", "\u75c5\u9662", "\u7814\u7a76\u5ba4", "\u9280\u884c", "\uc8fc\uc2dd\ud68c\uc0ac", "\ub300\ud559\uad50", "\uc5f0\uad6c\uc18c", "\ubcd1\uc6d0",
)  # fmt: skip
"""What companies, hospitals, universities and laboratories are called."""
_LEAD = regex(r".*[\u6211\u5728\u662f\u7684\u4e3a\u7ed9\u548c\u4e0e\u6765\u81ea\u4eec]")


def _has_name(match: re.Match[str]) -> bool:
    """Whether a name comes before the word for what it is: `a company` alone is none."""
    return len(match["account"]) > 4 or not _LEAD.match(match["account"])


_NUMBERED = (
    "customer", "patient", "employee", "client", "member", "account", "contract", "license", "licence", "passport", "ssn", "imei", "meid", "iccid", "orcid", "tax id", "vat",
    "insurance", "policy", "student", "matrikelnr", "matriculation", "personnel", "staff", "badge", "asset", "invoice", "kundennummer", "personalnummer", "cost center", "cost centre",
    "\u5b66\u751f\u756a\u53f7", "\u5b66\u7c4d\u756a\u53f7", "\u793e\u54e1\u756a\u53f7", "\u4f1a\u54e1\u756a\u53f7", "\u5b66\u53f7", "\u5de5\u53f7", "\u8eab\u4efd\u8bc1", "\ud559\ubc88", "\uc0ac\ubc88", "matricola", "matr\u00edcula", "legajo", "n\u00b0 \u00e9tudiant",
)  # fmt: skip
"""What numbers are given to."""
_AT_ALL = frozenset((
    "all", "channel", "dataclass", "everyone", "everybody", "here", "maintainers", "override", "param", "property", "return",
    "staticmethod", "team", "torch", "triton", "world",
))  # fmt: skip


def _mentioned(match: re.Match[str]) -> bool:
    """Whether a sign and a word mention somebody: no decorator on a line of its own, nothing that everybody is."""
    line = match.string[match.string.rfind("\n", 0, match.start()) + 1 :].partition("\n")[0]
    return match["user"].casefold() not in _AT_ALL and line.strip() != match.group().strip()


PERSONS = (
    Rule(
        ("author", "committer", "commit:", "-by:", "from:", "to:", "cc:", "maintainer", "reporter", "van:", "von:", "an:", "aan:", "de:"),
        Pattern(
            rf"(?:\w{{0,12}}-by|author|commit(?:ter)?|from|to|cc|maintainer|reporter|v[ao]n|aa?n|de):?\s{{1,4}}(?P<user>{_WORDS}) <(?=[^\s<>@]{{1,64}}@|email)",
            re.I,
        ),
        sure=False,
    ),
    Rule(
        ("user.name", "[user]"),
        Pattern(r"user\.name[ =]{1,3}[\"']?(?P<user>[^\"'\n<>]{2,60})|\[user\]\s{0,20}name\s?=\s?(?P<user2>[^\n<>]{2,60})"),
    ),
    Rule(("wrote:", "schrieb", "a \u00e9crit"), Pattern(rf", (?P<user>{_FULL})(?: <[^>\n]{{0,80}}>)? (?:wrote:|schrieb|a \u00e9crit)"), "line", sure=False, accept=_named),
    Rule(
        _CLOSINGS,
        Pattern(
            rf"(?i:(?:{_any(_CLOSINGS)})(?: mille| a lot| in advance| again| much| bardzo| vielmals| d'avance[^\n]{{0,20}})?)[,.! ]{{0,3}}(?:[ \t]*\r?(?:\n[ \t>]*){{1,3}}(?:(?:--?|\u2014|\u2013) ?(?:\r?\n[ \t>]*)?)?|, )"
            rf"(?P<user>{_FULL})[ \t]*(?:[,(|/][^\n]{{0,60}})?\r?(?:\n|$)"
        ),
        sure=False,
        accept=_named,
    ),
    Rule(("\n-- \n", "\n--\n", "\n\u2014 ", "\n\u2013 "), Pattern(rf"\n(?:-- ?\n|[\u2014\u2013] )(?P<user>{_FULL})[ \t]*(?:,[^\n]{{0,60}})?\r?(?:\n|$)"), sure=False, accept=_named),
    Rule(("\ub4dc\ub9bc", "\uc62c\ub9bc"), Pattern(r"(?P<user>[\uac00-\ud7a3]{2,4}) (?:\ub4dc\ub9bc|\uc62c\ub9bc)"), "line"),
    Rule(
        _LABELS,
        Pattern(rf"(?i:(?<![^\W_])(?:{_any(_LABELS)}))(?: ?[:\uff1a=]\s{{0,8}}|\s)(?P<user>{_FULL})(?=\s*(?:[|,;(<\uff08]|\r?\n|$|\ub4dc\ub9bc|\uc62c\ub9bc))"),
        sure=False,
        accept=_named,
    ),
    Rule(_TITLES, Pattern(rf"(?i:{_any(_TITLES)}) ?(?P<user>[A-Z\u00c0-\u00de][\w'\u2019-]{{2,30}}(?: [A-Z\u00c0-\u00de][\w'\u2019-]{{2,30}})?)"), sure=False),
    Rule(
        (" am ", " is ", "soy ", "llamo ", "ich bin ", "hei\u00dfe ", "hier ist ", "je suis ", "m'appelle ", "mi chiamo "),
        Pattern(rf"(?:[Tt]his is|\bI am|[Mm]y name is|[Ss]oy|[Mm]e llamo|[Ii]ch bin|hei\u00dfe|[Hh]ier ist|[Jj]e suis|m'appelle|[Mm]i chiamo) (?P<user>{CAPITAL} {CAPITAL})(?= (?:from|of|at|in|and|del?|des?|du|von|vom|aus|dell[ao]|und|et|y|e)\b|[,.!(\n]|$)", re.M),
        "line",
        sure=False,
        accept=_unusual,
    ),
    Rule(
        (" from ", " of ", " at ", " von ", " aus ", " del ", " de "),
        Pattern(rf"(?:[Tt]his is|I am|[Mm]y name is|[Ss]oy|[Ii]ch bin|[Jj]e suis) {CAPITAL} {CAPITAL} \w+ (?P<account>{CAPITAL}(?: {CAPITAL}){{0,2}})"),
        "line",
        accept=lambda m: not set(m["account"].casefold().split()) & words(),
    ),
    Rule(("@",), Pattern(rf"\((?P<user>{CAPITAL} {CAPITAL}), ?[\w.+-]+@|@[\w.-]+ \((?P<user2>{CAPITAL} {CAPITAL})\)"), "line", sure=False),
    Rule(
        ("my account", "my user", "my login", "mi usuario", "mein benutzer", "mon compte"),
        Pattern(r"(?:my|mi|mein|mon) [a-z]{4,12}(?: ?name)?(?: (?:there|here|on \w+))? (?:is|es|ist|est):? [\"'`]?(?P<user>[A-Za-z_][\w.-]{2,40})", re.I),
        sure=False,
    ),
    Rule(
        (" gmbh", " sas", " sarl", " s.r.l", " b.v.", " e.v."),
        Pattern(rf"(?P<account>{CAPITAL}(?: {CAPITAL}){{0,3}} (?:GmbH|SAS|SARL|S\.r\.l\.|B\.V\.|e\.V\.))"),
        "line",
        accept=lambda m: m["account"].split()[0].casefold() not in words(),
    ),
    Rule(
        ("department", "abteilung", "institute:", "faculty:", "service :"),
        Pattern(r"(?:department|abteilung|institute|faculty|service)\s?:\s{1,8}(?P<account>[^\s|:][^\n|:]{2,60}?)\s*(?:\||\r?\n|$)", re.I),
        sure=False,
    ),
    Rule(
        ("employee", "badge", "inventory", "inventar", "asset", "staff id", "personnel"),
        Pattern(r"(?:employee|badge|inventory|inventar|asset|staff|personnel)[ /\w.-]{0,20}\s?[:#=]\s{0,8}(?P<serial>[A-Z0-9][A-Z0-9-]{4,30})(?![\w-])", re.I),
        accept=lambda m: any(map(str.isdigit, m["serial"])),
    ),
    Rule(
        ("+", " 00"),
        Pattern(r"(?<![\w+.])(?:\+|00(?=[1-9]))(?P<phone>\d{1,3}(?:[ ./\u00a0\u202f-]{0,2}\(\d{1,4}\))?(?:[ ./\u00a0\u202f-]{1,2}\d{1,8}){2,7}|[1-9]\d{8,13})(?![\w]|\.\d)"),
        accept=_digits(9),
    ),
    Rule(
        ("phone", "mobile", "my number", "mijn nummer", "meine nummer", "mon num\u00e9ro", "mi n\u00famero", "il mio numero", "meu n\u00famero", "tel:", "tel.", "tel ", "t\u00e9l", "telef", "call me", "whatsapp", "fax", "durchwahl", "\u96fb\u8a71", "\u7535\u8bdd", "\u624b\u673a", "\u643a\u5e2f", "\uc804\ud654", "\u0442\u0435\u043b"),
        Pattern(r"[^\W\d_][\w .]{0,32}?[.:\uff1a ]{1,4}(?P<phone>\+?[\d(][\d ().-]{6,18}\d)", re.I),
        accept=_digits(8),
    ),
    Rule(_HONORIFICS, Pattern(rf"(?<!{_HAN})(?P<user>{_HAN}{{2,4}}|[\uac00-\ud7a3]{{2,4}}) ?(?:{_any(_HONORIFICS)})"), "line"),
    Rule(_INTRODUCTIONS, Pattern(rf"(?:{_any(_INTRODUCTIONS)})[:\uff1a ]{{0,2}}(?P<user>[{_SURNAMES}]{_HAN}{{1,3}}?)(?={_AFTER_NAME})"), sure=False),
    Rule(_DOUBLE, Pattern(rf"(?P<user>(?:{_any(_DOUBLE)}){_HAN}{{1,2}})")),
    Rule(_HONORIFICS, Pattern(rf"(?P<user>[{_SURNAMES}]{_HAN}{{1,2}})(?={_any(_HONORIFICS)})"), "line"),
    Rule(_ROADS, Pattern(rf"(?P<place>{_HAN}{{2,8}}(?:{_any(_ROADS)})\d{{1,5}}[\u53f7\u5f04\u680b\u5ba4\u5e62\u697c\d-]*)"), "line"),
    Rule((":0", ":1", ":2", ":3", ":4", ":5"), Pattern(r"^(?P<user>[^\W\d][^\s:]{1,30}(?: [^\W\d][^\s:]{1,30})?) {1,3}\d{1,2}:\d\d\s*$"), "line", sure=False),
    Rule(_BODIES, Pattern(rf"(?P<account>{_HAN}{{2,12}}?(?:{_any(_BODIES)})|(?:\u682a\u5f0f\u4f1a\u793e|\uc8fc\uc2dd\ud68c\uc0ac) ?[^\s,.\u3001\u3002]{{2,12}})"), "line", accept=_has_name),
    Rule(
        (" street", " st ", " st.", " st,", " rd ", " rd.", " rd,", " road", " ave ", " ave.", " ave,", " avenue", " lane", " drive", " court", " square", " boulevard", " blvd", " terrace", " way,"),
        Pattern(rf"(?<![\w.])(?P<place>\d{{1,5}}[A-Za-z]?(?: {CAPITAL}){{1,4}} (?:St|Street|Rd|Road|Ave|Avenue|Lane|Ln|Drive|Dr|Way|Court|Ct|Square|Place|Blvd|Boulevard|Terrace)\b\.?(?:,? (?:Apt|Suite|Unit|Floor|#)\.? ?\w+)?)"),
        "line",
    ),
    Rule(
        ("stra\u00dfe ", "strasse ", "str. ", "weg ", "gasse ", "allee ", "platz "),
        Pattern(r"(?<![\w.-])(?P<place>[A-Z\u00c0-\u00de][\w.-]*(?: ?[Ss]tra\u00dfe|strasse|str\.|weg|gasse|allee|platz|ring|damm|ufer) \d{1,4} ?[a-z]?(?:, \d{4,5} \w+)?)(?![\w.])"),
        "line",
    ),
    Rule(
        ("rue ", "avenue ", "boulevard ", "chemin ", "quai ", "calle ", "avenida ", "viale ", "rua ", "plaza ", "piazza ", "ulica ", "ul. "),
        Pattern(
            r"(?<![\w.])(?P<place>\d{1,4}(?: bis)?,? (?:rue|avenue|boulevard|chemin|quai) [^\n,;.(]{3,40}|(?:Calle|Avenida|Via|Viale|Rua|Plaza|Piazza|[Uu]lica|[Uu]l\.) [A-Z\u00c0-\u00de][^\n,\d;(]{2,40},? (?:n[\u00ba\u00b0.] ?)?\d{1,4})"
        ),
        "line",
    ),
    Rule(("herr ", "frau ", "monsieur ", "madame ", "se\u00f1or ", "se\u00f1ora ", "signor ", "mr ", "mr. ", "mrs ", "mrs. ", "ms. "), Pattern(r"(?<![^\W_])(?:herr|frau|monsieur|madame|se\u00f1ora?|signora?|mrs?\.?|ms\.) (?P<user>[^\W\d_]{3,30})", re.I), sure=False),
    Rule(
        _NUMBERED,
        Pattern(
            rf"(?<![^\W_])(?i:{_any(_NUMBERED)})[ _-]{{0,2}}(?i:number|no|nr|id|key|code)?\.?(?: is)?[ \t]?[:=#\uff1a]?[ \t]{{0,8}}[\"']?(?P<serial>(?=[A-Z0-9-]*\d)[A-Z0-9](?:[A-Z0-9]|-(?=[A-Z0-9])){{3,30}})(?![\w.:])"
        ),
    ),
    Rule((":: ",), Pattern(r"^[A-Za-z][\w;.-]{0,60}:: (?P<token>[A-Za-z0-9+/]{4,}={0,2})(?=\s|$)", re.M), "line"),
    Rule(
        (
            "pin",
            "passcode",
            "meeting id",
            "meeting-id",
            "conference id",
            "konferenz",
            "access code",
            "zugangscode",
            "code d'acc",
            "codice",
            "kod ",
        ),
        Pattern(
            r"(?<![\w-])(?:(?:conference |meeting |host |moderator )?pin(?:-?code)?|passcode|(?:meeting|conference|konferenz)[ -]id|access code|zugangscode|code d'acc\u00e8s|codice(?: di accesso)?)"
            r"[ \t]{0,3}[:#=]?[ \t]{1,3}#?(?P<token>\d{2,4}(?:[ -]?\d{2,4}){1,3}\d?)#?(?![\w.:-])",
            re.I,
        ),
    ),
    Rule(("born", "birth", "geboren", "dob"), Pattern(r"(?:born|birth\w*|geboren|dob)[ :]{1,3}(?:on |am )?(?P<serial>\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}-\d\d-\d\d)", re.I)),
    Rule(("@",), Pattern(r"(?<![\w@/.:=+-])@(?P<user>[A-Za-z][\w-]{2,38})(?![\w(@/.:=])(?=[ ,.!?)]|$)"), "line", accept=_mentioned),
    Rule(("(at)", "[at]", " at)", "(\u00e4t)"), Pattern(r"(?P<email>[\w.+-]{1,60} ?[(\[] ?(?:at|\u00e4t) ?[)\]] ?[\w-]{1,60}(?: ?(?:\.|[(\[] ?dot ?[)\]]) ?[\w-]{1,60}){1,4})", re.I), "line"),
)  # fmt: skip
