"""Names, numbers and passwords in sentences, letters, chats and forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.rules import Pattern, RedactionRule
from rocm_doctor.redaction.vocabulary import field_words, is_known


def _any(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_WORDS = r"[^\s<>\"'()@,:;|/\\][^\n<>\"'()@,:;|/\\]{0,58}[^\s<>\"'()@,:;|/\\]"
_FULL = r"[^\W\d_][\w'\u2019.-]{0,40}(?: [^\W\d_][\w'\u2019.-]{0,40}){0,4}"
"""A name of up to five words in any script."""
_CLOSINGS = (
    "regards", "cheers", "thanks", "thank you", "sincerely", "best wishes", "best", "yours", "gr\u00fc\u00dfe", "gruss", "gru\u00df", "mfg",
    "dank", "cordialement", "merci", "salutations", "saludos", "gracias", "atentamente", "abra\u00e7os", "obrigado", "obrigada",
    "atenciosamente", "grazie", "saluti", "pozdrawiam", "dzi\u0119kuj\u0119", "groet", "groeten", "h\u00e4lsningar", "hilsen", "terveisin",
    "s pozdravem", "sayg\u0131lar\u0131mla", "te\u015fekk\u00fcrler", "\u0441 \u0443\u0432\u0430\u0436\u0435\u043d\u0438\u0435\u043c", "\u0441\u043f\u0430\u0441\u0438\u0431\u043e", "\u8c22\u8c22", "\u656c\u4e0a", "\u4ee5\u4e0a",
)  # fmt: skip
_HAN = r"[\u3400-\u9fff]"
_DOUBLE = (
    "\u6b27\u9633", "\u53f8\u9a6c", "\u4e0a\u5b98", "\u8bf8\u845b", "\u4e1c\u65b9", "\u7687\u752b", "\u5c09\u8fdf", "\u516c\u5b59",
    "\u6155\u5bb9", "\u4ee4\u72d0", "\u53f8\u5f92", "\u5b87\u6587", "\u957f\u5b59", "\u590f\u4faf", "\u7aef\u6728", "\u767e\u91cc",
)  # fmt: skip
_ROADS = ("\u8def", "\u8857", "\u5927\u9053", "\u5df7", "\u80e1\u540c")
_BODIES = (
    "\u516c\u53f8", "\u79d1\u6280", "\u96c6\u56e2", "\u533b\u9662", "\u5927\u5b66", "\u5b66\u9662", "\u7814\u7a76\u9662", "\u7814\u7a76\u6240", "\u5b9e\u9a8c\u5ba4", "\u94f6\u884c",
    "\u5927\u5b78", "\u682a\u5f0f\u4f1a\u793e", "\u75c5\u9662", "\u7814\u7a76\u5ba4", "\u9280\u884c", "\uc8fc\uc2dd\ud68c\uc0ac", "\ub300\ud559\uad50", "\uc5f0\uad6c\uc18c", "\ubcd1\uc6d0",
)  # fmt: skip
_LEAD = regex(r".*[\u6211\u5728\u662f\u7684\u4e3a\u7ed9\u548c\u4e0e\u6765\u81ea\u4eec]")
_NUMBERED = (
    "customer", "patient", "employee", "client", "member", "account", "contract", "license", "licence", "passport", "ssn", "imei", "meid", "iccid", "orcid", "tax id", "vat",
    "insurance", "policy", "student", "matrikelnr", "matriculation", "personnel", "staff", "badge", "asset", "invoice", "kundennummer", "personalnummer", "cost center", "cost centre",
    "\u5b66\u751f\u756a\u53f7", "\u5b66\u7c4d\u756a\u53f7", "\u793e\u54e1\u756a\u53f7", "\u4f1a\u54e1\u756a\u53f7", "\u5b66\u53f7", "\u5de5\u53f7", "\u8eab\u4efd\u8bc1", "\ud559\ubc88", "\uc0ac\ubc88", "matricola", "matr\u00edcula", "legajo", "n\u00b0 \u00e9tudiant",
)  # fmt: skip
_SIGN = r"(?:(?:exclamation|question) (?:mark|point)|dash|hyphen|underscore|dot|dollar(?: sign)?|at sign|hash(?:tag)?|star|asterisk|slash|ampersand|percent|plus sign|all (?:lower|upper) ?case|capital)"
_SPELLED = rf"(?:[a-z0-9]+,? ){{1,6}}?{_SIGN}(?!\w)(?:,? (?!and I|all |it |with )[a-z0-9]+){{0,4}}"


def _names(match: re.Match[str], *kinds: str) -> list[str]:
    return [name for kind, name in match.groupdict().items() if name and kind.startswith(kinds)]


def _is_named(match: re.Match[str]) -> bool:
    """True if the first and the last word of `user` begin with a capital, or are of a script without case; words between them may
    be anything (`van`, `de la`)."""
    words = match["user"].split()
    return all(w[0] != w[0].lower() or w[0].lower() == w[0].upper() or (0 < n < len(words) - 1) for n, w in enumerate(words))


def _is_own(match: re.Match[str]) -> bool:
    """Whether what people name themselves, a machine or a login, is not called after the field."""
    parts = (part for name in _names(match, "user", "host", "account") for part in re.split(r"[\W_\d]+", name))
    return any(not is_known(part, joined=True) and len(part) > 2 for part in parts)


def _has_digits(kind: str, least: int, most: int = 15) -> Callable[[re.Match[str]], bool]:
    return lambda match: least <= sum(map(str.isdigit, match[kind])) <= most


def _has_name(match: re.Match[str]) -> bool:
    """Whether a name comes before the word for what it is: `a company` alone is none."""
    return len(match["account"]) > 4 or not _LEAD.match(match["account"])


def _is_login(match: re.Match[str]) -> bool:
    """Whether a name and what is behind it are a login: no numbers of a version, no address of memory."""
    value, user = match["token"] or match["token2"], match["user"] or match["user2"]
    return not value.replace(".", "").isdigit() and user.casefold() not in field_words() and not value.startswith(("0x", "$"))


PROSE = (
    RedactionRule(("author", "committer", "commit:", "-by:", "from:", "to:", "cc:", "maintainer", "reporter", "van:", "von:", "an:", "aan:", "de:"), Pattern(rf"(?:\w{{0,12}}-by|author|commit(?:ter)?|from|to|cc|maintainer|reporter|v[ao]n|aa?n|de):?\s{{1,4}}(?P<user>{_WORDS}) <(?=[^\s<>@]{{1,64}}@|email)", re.I), certain=False),
    RedactionRule(_CLOSINGS, Pattern(rf"(?i:(?:{_any(_CLOSINGS)})(?: mille| a lot| in advance| again| much| bardzo| vielmals| d'avance[^\n]{{0,20}})?)[,.! ]{{0,3}}(?:[ \t]*\r?(?:\n[ \t>]*){{1,3}}(?:(?:--?|\u2014|\u2013) ?(?:\r?\n[ \t>]*)?)?|, )" rf"(?P<user>{_FULL})[ \t]*(?:[,(|/][^\n]{{0,60}})?\r?(?:\n|$)"), certain=False, accept=_is_named),
    RedactionRule(("department", "abteilung", "institute:", "faculty:", "service :"), Pattern(r"(?:department|abteilung|institute|faculty|service)\s?:\s{1,8}(?P<account>[^\s|:][^\n|:]{2,60}?)\s*(?:\||\r?\n|$)", re.I), certain=False),
    RedactionRule(("+", " 00"), Pattern(r"(?<![\w+.])(?:\+|00(?=[1-9]))(?P<phone>\d{1,3}(?:[ ./\u00a0\u202f-]{0,2}\(\d{1,4}\))?(?:[ ./\u00a0\u202f-]{1,2}\d{1,8}){2,7}|[1-9]\d{8,13})(?![\w]|\.\d)"), accept=_has_digits("phone", 9)),
    RedactionRule(("phone", "mobile", "my number", "mijn nummer", "meine nummer", "mon num\u00e9ro", "mi n\u00famero", "il mio numero", "meu n\u00famero", "tel:", "tel.", "tel ", "t\u00e9l", "telef", "call me", "whatsapp", "fax", "durchwahl", "\u96fb\u8a71", "\u7535\u8bdd", "\u624b\u673a", "\u643a\u5e2f", "\uc804\ud654", "\u0442\u0435\u043b"), Pattern(r"[^\W\d_][\w .]{0,32}?[.:\uff1a ]{1,4}(?P<phone>\+?[\d(][\d ().-]{6,18}\d)", re.I), accept=_has_digits("phone", 8)),
    RedactionRule(_DOUBLE, Pattern(rf"(?P<user>(?:{_any(_DOUBLE)}){_HAN}{{1,2}})")),
    RedactionRule(_ROADS, Pattern(rf"(?P<place>{_HAN}{{2,8}}(?:{_any(_ROADS)})\d{{1,5}}[\u53f7\u5f04\u680b\u5ba4\u5e62\u697c\d-]*)"), "line"),
    RedactionRule((":0", ":1", ":2", ":3", ":4", ":5"), Pattern(r"^(?P<user>[^\W\d][^\s:]{1,30}(?: [^\W\d][^\s:]{1,30})?)(?: {1,3}\d{4}[/.-]\d\d?[/.-]\d\d?)? {1,3}\d{1,2}:\d\d(?::\d\d)?(?: [AP]M)?\s*$"), "line", certain=False),
    RedactionRule(_BODIES, Pattern(rf"(?P<account>{_HAN}{{2,12}}?(?:{_any(_BODIES)})|(?:\u682a\u5f0f\u4f1a\u793e|\uc8fc\uc2dd\ud68c\uc0ac) ?[^\s,.\u3001\u3002]{{2,12}})"), "line", accept=_has_name),
    RedactionRule(_NUMBERED, Pattern(rf"(?<![^\W_])(?i:{_any(_NUMBERED)})[ _-]{{0,2}}(?i:number|no|nr|id|key|code)?\.?(?: is)?[ \t]?[:=#\uff1a]?[ \t]{{0,8}}[\"']?(?P<serial>(?=[A-Z0-9-]*\d)[A-Z0-9](?:[A-Z0-9]|-(?=[A-Z0-9])){{3,30}})(?![\w.:])")),
    RedactionRule(("pin", "passcode", "meeting id", "meeting-id", "conference id", "konferenz", "access code", "zugangscode", "code d'acc", "codice", "kod "), Pattern(r"(?<![\w-])(?:(?:conference |meeting |host |moderator )?pin(?:-?code)?|passcode|(?:meeting|conference|konferenz)[ -]id|access code|zugangscode|code d'acc\u00e8s|codice(?: di accesso)?)" r"[ \t]{0,3}[:#=]?[ \t]{1,3}#?(?P<token>\d{2,4}(?:[ -]?\d{2,4}){1,3}\d?)#?(?![\w.:-])", re.I)),
    RedactionRule(("#",), Pattern(r"(?<![\w.#])(?P<user>[A-Za-z][\w.]{2,31}#\d{4})(?!\w)"), "line"),
    RedactionRule((" wrote:", "-by: "), Pattern(r", (?P<user>[A-Za-z][\w.-]{2,30}(?: [A-Za-z][\w.-]{1,30}){0,2}) wrote:|[A-Z][a-z-]+-by: (?P<user2>[A-Za-z][\w.-]{2,30})\s*$"), "line"),
    RedactionRule(("acct=", "ip=:", " process "), Pattern(r"acct=[\"']?(?P<user>[\w.@-]{2,60})|ip=[\w.]*:[\w.]*:[\w.]*:[\w.]*:(?P<host>[A-Za-z][\w.-]{1,60})|(?<=Process information: process )(?P<account>[\w.+-]{3,16}) pid", re.I), "line", accept=_is_own),
    RedactionRule(("floor", "flat ", "apartment ", "apt ", "suite ", "plot ", "tower "), Pattern(r"(?<![\w-])(?P<place>\d{1,2}(?:st|nd|rd|th) floor(?:, [A-Z][\w .'-]{1,40}){0,3}|(?:flat|apartment|apt\.?|suite|plot|tower) (?:no\.? ?)?\d{1,4}[a-z]?,?(?: [a-z]{3,15}){1,2}?(?= (?:wharf|quay|street|road|close|court|house|lane|row|mews|yard|gardens|drive|place|avenue|way)) \w+)", re.I), "line"),
    RedactionRule(("password ", "passphrase ", "passcode ", "pw "), Pattern(r"(?<!\w)(?:password|passphrase|passcode|pw) (?:is|was) [^\n\"]{0,60}\"(?P<token>[^\"\n<>]{4,60})\"", re.I)),
    RedactionRule(("password", "passphrase", "passcode", "called ", "named ", "log in as ", "login is "), Pattern(rf"(?:(?:password|passphrase|passcode) (?:is|was|:) (?P<token>{_SPELLED})|(?:called|named|log in as|login is) (?P<host>{_SPELLED}))", re.I)),
    RedactionRule(("\u3067\u3059", "\u3068\u7533", "\u3068\u8a00", "\u3068\u3044"), Pattern(r"(?P<user>[\u3400-\u9fff]{1,4}[ \u3000][\u3040-\u30ff\u3400-\u9fff]{1,4}?) ?(?=\u3067\u3059|\u3067\u3054|\u3068(?:\u7533|\u8a00|\u3044\u3044))"), "line"),
    RedactionRule(("login", "log in ", "logon", "auth is ", "credential", "creds", "sign in ", "user ", "user:", "username ", "username:", "account "), Pattern(r"(?<![^\W_])(?:(?:log ?-?ins?|logon|auth|credentials?|creds|sign in)(?: (?:for|to|on|of)[^\n.:]{1,40}?)?(?: is| are| as| with|:|=)? ?[\"'`]?(?P<user>[A-Za-z][\w.@-]{1,40})[\"'`]? ?(?:/|\||:) ?[\"'`]?(?P<token>(?=[^\s/]*[\d!@#$%^&*?+])[^\s\"'`<>,;()/]{4,60}(?<![.!?]))|(?:user(?:name)?|account|login)(?: is|:)? [\"'`(]?(?P<user2>[A-Za-z][\w.@-]{1,40})[\"'`]?(?:,? (?:and |with )?(?:password|pass|pw|pwd|passwort|kennwort)(?: is)?:?|(?= /)) ?(?:/ )?[\"'`]?(?P<token2>(?=[^\s/]*[\d!@#$%^&*?+])[^\s\"'`<>,;()/]{4,60}(?<![.!?])))", re.I), accept=_is_login),
    RedactionRule(("ext.", "extension", "\u5185\u7dda", "\u5206\u673a", "\ub0b4\uc120", "durchwahl", "tst.", "wew.", "klapka", "toestel", "anknytning", "mell\u00e9k", "interne ", "lokaltelefon"), Pattern(r"(?<!\w)(?:ext\.?|extension|\u5185\u7dda|\u5206\u673a|\ub0b4\uc120|durchwahl|tst\.|wew\.|klapka|toestel|anknytning|mell\u00e9k|interne|lokaltelefon)[^\n\d]{0,16}(?P<phone>(?:(?:tst|ext|nr|no)\. ?)?\d{2,4}-?\d{2,5})(?![\w.])", re.I)),
    RedactionRule(("call ", "phone", "reach ", "my number", "text me", "mobile", "cell", "ring ", "dial ", "tlf", "sms ", "anrufen", "appelez"), Pattern(r"(?<![^\W_])(?:call|(?:tele)?phone|reach|my number|text me|mobile|cell|ring|dial|tlf|sms|anrufen|appelez)[^\n\d+]{0,24}(?P<phone>\+?\d{3}[ .-]\d{4}|\+?\d[\d .-]{6,16}\d)(?![\w.:-])", re.I), accept=lambda m: 7 <= sum(map(str.isdigit, m["phone"])) <= 13 and "." not in m["phone"]),
    RedactionRule(("ticket", "case ", "incident", "jira", "order", "po ", "rma", "inventory", "request", "reference", "quote", "booking"), Pattern(r"(?<![\w-])(?i:ticket|case|incident|jira|order|po|rma|inventory|request|reference|quote|booking)(?i:[ _-]?(?:no|nr|number|id|ref))?\.?:? ?#?:? ?(?P<serial>[A-Z]{1,8}-?\d{3,12}(?:-\d+)?|\d{5,12}|\d{2,5}-\d{3,8})(?![\w.:])"), accept=lambda m: not m["serial"].startswith(("CVE", "SWDEV", "ROCM", "MI", "RX", "HIP", "GPU"))),
    RedactionRule(("today at ", "yesterday at ", "\u2014 today", "\u2014 yesterday", "\u2014 ", "\u2013 ", "- today", "- yesterday", "- heute", "- gestern"), Pattern(r"^[>*_ ]*(?P<user>[^\s*\u2014\u2013<>|][^\n*\u2014\u2013<>|]{1,40}?)[*_]* [\u2014\u2013-] (?:(?:today|yesterday|heute|gestern|hier|hoy|ayer|oggi|ieri|hoje|ontem)\b|\d{1,4}[./-]\d{1,2}[./-]\d{1,4})[^\n\d]{0,6}\d{1,2}:\d\d", re.I), "line"),
    RedactionRule(("\"real_name\"", "\"screen_name\""), Pattern(r"\"(?:real_name|screen_name)\": ?\"(?P<user>[^\"\n]{2,60})\"(?:, ?\"name\": ?\"(?P<user2>[^\"\n]{2,40})\")?|\"name\": ?\"(?P<user3>[^\"\n]{2,40})\"(?=[^\n{}]{0,200}\"real_name\")"), "line"),
    RedactionRule(("qq", "\u5fae\u4fe1", "wechat", "weixin", "wx:", "line id", "kakao", "icq", "telegram id"), Pattern(r"(?<![^\W_])(?:qq(?:\u7fa4|\u53f7)?|\u5fae\u4fe1\u53f7?|wechat|weixin|wx|line id|kakao(?:talk)?(?: id)?|icq|telegram id)[:\uff1a# ]{1,3}(?:(?P<phone>\d{5,12})(?!\w)|(?P<user>[A-Za-z0-9][\w-]{4,30}))", re.I)),
    RedactionRule(("chat-id", "chat_id", "chatid", "chat=", "chat:", "chat "), Pattern(r"chat(?:[-_]?id)?[\"']?[ =:]{1,3}[\"']?(?P<phone>-?\d{8,15})(?!\w)", re.I)),
    RedactionRule(("anydesk", "teamviewer", "rustdesk", "meeting id", "meeting-id", "webex", "zoom id", "zoom:"), Pattern(r"(?:anydesk|teamviewer|rustdesk|meeting.id|webex|zoom(?: id)?)\W{0,3}(?:id|adresse|address)?\W{0,4}(?P<phone>\d[\d ]{7,14}\d)(?:[^\n]{0,12}?(?:passcode|password|pw|pass|code)\W{1,4}(?P<token>\w{4,20}))?", re.I)),
    RedactionRule((":: ",), Pattern(r"^[A-Za-z][\w;.-]{0,60}:: (?P<token>[A-Za-z0-9+/]{4,}={0,2})(?=\s|$)", re.M), "line"),
)  # fmt: skip
