"""Persons by their own names and numbers: authors, signatures, labels of forms, titles, chats, telephones."""

from __future__ import annotations

import re
from collections.abc import Callable

from rocm_doctor.redaction.known import words
from rocm_doctor.redaction.rules import Pattern, Rule

_WORDS = r"[^\s<>\"'()@,:;|/\\][^\n<>\"'()@,:;|/\\]{0,58}[^\s<>\"'()@,:;|/\\]"
_FULL = r"[^\W\d_][\w'\u2019.-]{0,40}(?: [^\W\d_][\w'\u2019.-]{0,40}){0,4}"
"""A name of up to five words in any script."""
_CAPITAL = r"[^\W\d_a-z][^\W\d_]{2,30}(?:-[^\W\d_]{2,30})?"
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
            rf"(?P<user>{_FULL})[ \t]*(?:,[^\n]{{0,60}})?\r?(?:\n|$)"
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
    Rule(("** \u2014 ", "** - "), Pattern(r"\*\*(?P<user>[\w.]{2,32})\*\* [\u2014-] (?:Today|Yesterday|\d)"), "line"),
    Rule((" am]", " pm]", "0]", "1]", "2]", "3]", "4]", "5]", "6]", "7]", "8]", "9]"), Pattern(r"^\[\d{1,2}:\d\d(?::\d\d)?(?: [AaPp][Mm])?\] <?(?P<user>[A-Za-z][\w.]{1,31}(?:#\d{4})?)>?:? "), "line", sure=False),
    Rule(("#",), Pattern(r"(?<![\w.#])(?P<user>[A-Za-z][\w.]{2,31}#\d{4})(?!\w)"), "line"),
    Rule(
        (" am ", " is ", "soy ", "llamo ", "ich bin ", "hei\u00dfe ", "hier ist ", "je suis ", "m'appelle ", "mi chiamo "),
        Pattern(rf"(?:[Tt]his is|\bI am|[Mm]y name is|[Ss]oy|[Mm]e llamo|[Ii]ch bin|hei\u00dfe|[Hh]ier ist|[Jj]e suis|m'appelle|[Mm]i chiamo) (?P<user>{_CAPITAL} {_CAPITAL})(?= (?:from|of|at|in|and|del?|des?|du|von|vom|aus|dell[ao]|und|et|y|e)\b|[,.!(\n]|$)", re.M),
        "line",
        sure=False,
        accept=_unusual,
    ),
    Rule(
        (" from ", " of ", " at ", " von ", " aus ", " del ", " de "),
        Pattern(rf"(?:[Tt]his is|I am|[Mm]y name is|[Ss]oy|[Ii]ch bin|[Jj]e suis) {_CAPITAL} {_CAPITAL} \w+ (?P<account>{_CAPITAL}(?: {_CAPITAL}){{0,2}})"),
        "line",
        accept=lambda m: not set(m["account"].casefold().split()) & words(),
    ),
    Rule(("@",), Pattern(r"@(?P<user>[\w.-]{2,40}) (?:on|in|auf|sur|en) (?:slack|mattermost|discord|teams|matrix|telegram|mastodon)\b", re.I)),
    Rule(("@",), Pattern(rf"\((?P<user>{_CAPITAL} {_CAPITAL}), ?[\w.+-]+@|@[\w.-]+ \((?P<user2>{_CAPITAL} {_CAPITAL})\)"), "line", sure=False),
    Rule((" am", " pm"), Pattern(rf"^(?P<user>{_CAPITAL} {_CAPITAL}) {{1,3}}\d{{1,2}}:\d\d [AP]M\s*$"), "line", sure=False),
    Rule(
        ("my account", "my user", "my login", "mi usuario", "mein benutzer", "mon compte"),
        Pattern(r"(?:my|mi|mein|mon) [a-z]{4,12}(?: ?name)?(?: (?:there|here|on \w+))? (?:is|es|ist|est):? [\"'`]?(?P<user>[A-Za-z_][\w.-]{2,40})", re.I),
        sure=False,
    ),
    Rule(
        (" gmbh", " sas", " sarl", " s.r.l", " b.v.", " e.v."),
        Pattern(rf"(?P<account>{_CAPITAL}(?: {_CAPITAL}){{0,3}} (?:GmbH|SAS|SARL|S\.r\.l\.|B\.V\.|e\.V\.))"),
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
        Pattern(r"(?<![\w+.])(?:\+|00)(?P<phone>\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{2,4}(?:[ .-]\d{2,5}){1,4})(?![\w.])"),
        accept=_digits(9),
    ),
    Rule(
        ("phone", "mobile", "tel:", "tel.", "tel ", "t\u00e9l", "telef", "call me", "whatsapp", "fax", "durchwahl", "\u96fb\u8a71", "\u7535\u8bdd", "\u624b\u673a", "\u643a\u5e2f", "\uc804\ud654", "\u0442\u0435\u043b"),
        Pattern(r"[^\W\d_][\w .]{0,20}?[.:\uff1a ]{1,4}(?P<phone>\+?[\d(][\d ().-]{6,18}\d)", re.I),
        accept=_digits(8),
    ),
    Rule(("\u3055\u3093", "\u69d8", "\u6c0f", "\ub2d8", "\u5148\u751f"), Pattern(r"(?<![\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])(?P<user>[\u3400-\u9fff]{2,4}|[\uac00-\ud7a3]{2,4}) ?(?:\u3055\u3093|\u69d8|\u6c0f|\ub2d8|\u5148\u751f)"), "line"),
    Rule(("chat-id", "chat_id", "chatid"), Pattern(r"chat[-_]?id[\"']?[ =:]{1,3}[\"']?(?P<phone>-?\d{8,15})", re.I)),
    Rule(("(at)", "[at]", " at)", "(\u00e4t)"), Pattern(r"(?P<email>[\w.+-]{1,60} ?[(\[] ?(?:at|\u00e4t) ?[)\]] ?[\w-]{1,60}(?: ?(?:\.|[(\[] ?dot ?[)\]]) ?[\w-]{1,60}){1,4})", re.I), "line"),
)  # fmt: skip
