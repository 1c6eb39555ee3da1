"""Names and secrets in sentences: greetings, chats, what is said of a person or of a machine, passwords that are told."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.known import field_words, known, spoken_words, words
from rocm_doctor.redaction.rules import Found, Pattern, Rule
from rocm_doctor.redaction.vocabulary import is_known

_CAPITAL = r"[A-Z\u00c0-\u00de\u0410-\u042f][a-z\u00df-\u00ff\u0430-\u044f]{1,20}(?:[-'\u2019][A-Z][a-z]{1,20})?(?![A-Za-z])"
_PERSON = rf"(?:[A-Z]\. ?){{0,2}}{_CAPITAL}(?: (?:[A-Z]\. ?|van |de |von |da |di ){{0,2}}{_CAPITAL}){{0,2}}"
"""A name of up to three words, with initials: `J. Ford`, `Miles van Dyke`."""
_NO_PERSON = frozenset((
    "a", "admin", "admins", "advance", "again", "ai", "all", "amd", "and", "any", "anyone", "best", "bonjour", "both", "bug", "but", "can", "claude",
    "code", "community", "copilot", "could", "cuda", "day", "debian", "description", "developers", "devs", "docker", "does", "environment", "error", "even", "every",
    "everybody", "everyone", "expected", "fedora", "folks", "for", "friday", "friends", "from", "gemini", "github", "gmail", "google", "gpu", "guys", "have", "he",
    "hello", "hey", "hi", "how", "hugging", "i", "if", "intel", "in", "is", "it", "its", "just", "kernel", "linux", "llama", "lot", "maintainers", "many", "meta",
    "microsoft", "monday", "my", "navi", "no", "none", "not", "note", "nvidia", "ollama", "on", "one", "our", "please", "python", "pytorch", "qwen", "radeon", "regards", "reviewer",
    "rocm", "ryzen", "same", "saturday", "she", "sir", "slurm", "so", "sorry", "steps", "sunday", "support", "team", "thank", "thanks", "that", "the", "there", "they",
    "this", "thursday", "to", "torch", "triton", "tuesday", "ubuntu", "unknown", "unsloth", "user", "very", "vllm", "wednesday", "we", "what", "when", "where", "which",
    "who", "why", "windows", "with", "world", "yes", "you", "your",
))  # fmt: skip


def _is_person(match: re.Match[str]) -> bool:
    """Whether no word of a name is what one greets or thanks instead of a person."""
    return not any(word.casefold() in _NO_PERSON for name in _names(match, "user") for word in re.split(r"[\s.]+", name))


def _is_given(match: re.Match[str]) -> bool:
    """Whether a word in a sentence is a name more likely than anything else: it is common as one, or no word of the field."""
    first = match["user"].split()[0]
    return _is_person(match) and (
        first.casefold() in known().given_names | known().given_words or first.casefold() not in field_words()
    )


def _is_host(match: re.Match[str]) -> bool:
    """Whether a word where a machine is named is neither of the field nor one that a sentence goes on with. In a command any is."""
    before = match.string[max(0, match.start() - 200) : match.start()].rpartition("\n")[2].rstrip()
    typed = before[-1:] in ("$", "#", "`", "%") or " -J" in match.group()
    return _goes_on_without(match) and (typed or not any(name.casefold() in field_words() for name in _names(match, "host")))


def _goes_on_without(match: re.Match[str]) -> bool:
    return not any(name.casefold() in _THEN for name in _names(match, "host"))


def _names(match: re.Match[str], kinds: str | tuple[str, ...]) -> list[str]:
    return [name for kind, name in match.groupdict().items() if name and kind.startswith(kinds)]


_THEN = frozenset((
    "host", "hostname", "localhost", "machine", "node", "remote", "server", "user", "a", "all", "an", "and", "another", "any", "both", "each", "every", "from", "her", "his", "in", "into", "it", "its", "me", "my", "one", "or", "our", "out", "some", "that",
    "the", "their", "them", "these", "this", "those", "to", "was", "which", "with", "your",
))  # fmt: skip


def is_own(match: re.Match[str]) -> bool:
    """Whether what people name themselves, an environment, a branch, a container, is not called after the field."""
    names = _names(match, ("user", "host", "account", "container"))
    return any(
        not (part.isdigit() or is_known(part, joined=True)) and len(part) > 2
        for name in names
        for part in re.split(r"[\W_\d]+", name)
    )


def _is_common(word: str) -> bool:
    return word.casefold() in _NO_PERSON or word.casefold() in words()


def _is_word_alone(word: str) -> bool:
    return not is_known(word, joined=True) and word not in _THEN


_PASSWORD = (
    r"passwords?|pass(?:code|phrase|wort|word)?|passwd|pwd?|kennwort|mot de passe|mdp|contrase\u00f1a|clave|senha|wachtwoord|l\u00f6senord|adgangskode|passord|salasana|heslo"
    r"|jelsz\u00f3|parola|\u015fifre|has\u0142o|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|\u5bc6\u78bc|\u53e3\u4ee4|\u30d1\u30b9\u30ef\u30fc\u30c9|\ube44\ubc00\ubc88\ud638"
)
_PASSWORDS = (
    "pass", "pw", "kennwort", "mdp", "contrase\u00f1a", "clave", "senha", "wachtwoord", "l\u00f6senord", "adgangskode", "salasana", "heslo", "jelsz\u00f3", "parola", "\u015fifre",
    "has\u0142o", "\u043f\u0430\u0440\u043e\u043b\u044c", "\u5bc6\u7801", "\u5bc6\u78bc", "\u53e3\u4ee4", "\u30d1\u30b9\u30ef\u30fc\u30c9", "\ube44\ubc00\ubc88\ud638",
)  # fmt: skip
_IS = r"(?:[ \t]+(?:is|was|are|will be|ist|war|lautet|est|\u00e9|\u00e8|es|jest|\u00e4r|er|je)(?!\w):?|[ \t]*(?::|=|\uff1a|\u2014|\u2192|->)|[ \t]*(?:\u662f|\u4e3a|\u306f|\ub294|\uc740))"
_VALUE = r"(?:[\"'`\u201c\u00ab\u300c](?P<token>[^\"'`\u201d\u00bb\u300d\n<>]{3,60})(?=[\"'`\u201d\u00bb\u300d])|(?P<token2>[^\s\"'`<>(),;&\u3000-\u30ff]{3,60}(?<![.!?])))"
_SIGN = r"(?:(?:exclamation|question) (?:mark|point)|dash|hyphen|underscore|dot|dollar(?: sign)?|at sign|hash(?:tag)?|star|asterisk|slash|ampersand|percent|plus sign|all (?:lower|upper) ?case|capital)"
_SPELLED = rf"(?:[a-z0-9]+,? ){{1,6}}?{_SIGN}(?!\w)(?:,? (?!and I|all |it |with )[a-z0-9]+){{0,4}}"
"""What is dictated: `sunflower dash two`."""
_ACCOUNT = regex(
    r"\b(?:port|server|ssh|user|login|account|auth|admin|root|guest|ipmi|bmc|pw|sudo|wifi|vpn|the|my|our|is)\b[^\n]{0,20}\Z", re.I
)
_VERB = regex(r"pass(?![^\W_])", re.I)
_SETTING = regex(r"\w+=|\d{1,3}(?:\.\d+)*[a-z%]{0,3}$")
_NO_SECRET = frozenset((
    "a", "also", "always", "an", "asked", "auth", "authentication", "based", "blank", "case", "changed", "correct", "default", "disabled", "empty", "enabled", "entry", "expired", "fail",
    "failed", "fails", "fine", "for", "from", "good", "hashed", "here", "hidden", "ignored", "in", "incorrect", "insecure", "invalid", "it", "less", "login", "missing", "needed", "never", "no", "none",
    "not", "now", "null", "of", "ok", "old", "on", "only", "optional", "or", "our", "prompt", "protected", "rejected", "removed", "required", "reset", "right", "same", "saved", "secret",
    "secure", "set", "shared", "still", "stored", "that", "the", "there", "this", "through", "to", "too", "true", "unchanged", "unknown", "unset", "valid", "via", "visible", "weak", "with",
    "without", "wrong", "yes", "your",
))  # fmt: skip


def _is_told(match: re.Match[str]) -> bool:
    """Whether what a password is said to be is one: drawn, quoted, or a word that says nothing about a password."""
    quoted = match["token"] is not None
    if _VERB.match(match.group()) and not _ACCOUNT.search(match.string, max(0, match.start() - 40), match.start()):
        return False  # the verb
    value = (match["token"] or match["token2"]).strip(".,;:!?")
    if (
        value.casefold() in _NO_SECRET
        or _SETTING.match(value)
        or value.startswith(("<", "$", "{", "%", "*", "http", "/", "--"))
        or len(value) < 3
    ):
        return False
    ends = match.string[match.end() : match.end() + 1]
    return (
        quoted
        or not value.isalpha()
        or (value.casefold() not in words() and (not ends.strip() or ends in ".,;!)") and ends != " ")
    )


def _is_shared(match: re.Match[str]) -> bool:
    """Whether the end of an address is an id: of digits or of letters by turns, behind a host."""
    name = match["account"]
    mixed = any(map(str.isdigit, name)) or not (name.islower() or name.isupper())
    return mixed and "//" in match.string[max(0, match.start() - 100) : match.start() + 1].rsplit(maxsplit=1)[-1]


def _is_login(match: re.Match[str]) -> bool:
    """Whether a name and what is behind it are a login: no numbers of a version, no address of memory."""
    value, user = match["token"] or match["token2"], match["user"] or match["user2"]
    return not value.replace(".", "").isdigit() and user.casefold() not in _NO_SECRET and not value.startswith(("0x", "$"))


def _is_code(match: re.Match[str]) -> bool:
    """Whether a code has digits and is neither a size nor an error's."""
    value, said = match["token"], match.group().split()[0]
    if said == "code" and not _UNLOCKS.search(match.string, max(0, match.start() - 20), match.start() + 1):
        return False
    return sum(map(str.isdigit, value)) > 3 or (any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and len(value) > 5)


_KEYS = regex(r"key|token|secret|password|hf_|sk-", re.I)
_DAYS = frozenset(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
_UNLOCKS = regex(r"\b(?:door|access|pairing|pass|security|entry|2fa|verification|auth|unlock|alarm|gate|my|the login)\W*$", re.I)
_HI = ("hi ", "hello ", "hey ", "dear ", "hallo ", "lieber ", "liebe ", "bonjour ", "salut ", "hola ", "ciao ", "ol\u00e1 ", "moin ", "servus ", "hej ", "cze\u015b\u0107 ", "ahoj ", "merhaba ", "\u043f\u0440\u0438\u0432\u0435\u0442", "estimado ", "estimada ", "querida ", "querido ", "caro ", "cara ", "cher ", "ch\u00e8re ", "beste ", "geachte ", "morning ", "afternoon ")  # fmt: skip
_BYE = (
    "thanks",
    "cheers",
    "best",
    "regards",
    "thank you",
    "thx",
    "lg ",
    "vg ",
    "mfg",
    "gr\u00fc\u00dfe",
    "greetings",
    "yours",
    "saludo",
    "abrazo",
    "saluti",
    "pozdrawiam",
    "groeten",
    "bye",
    "salut",
    "greet",
)
_SAID = r"(?:said|says|told|asked|asks|thinks?|thought|suggested|suggests|wrote|mentioned|reported|reports|noticed|tried|confirmed|sees|saw|replied|answered|installed|set up|built|bought|maintains|owns|manages|from (?:IT|infra|ops|the|our|my|HR|support|sysadmins?))"
_WITH = r"(?:asked|ask|asking|told|tell|ping(?:ed|ing)?|talked to|talk to|spoke (?:to|with)|speak to|according to|thanks to|credit to|emailed|messaged|contact(?:ed)?|forwarded to|assigned to|handed to|met|called|bugged|as)"
_ROLE = r"(?:colleague|coworker|co-worker|boss|manager|admin|administrator|sysadmin|friend|supervisor|professor|advisor|adviser|teammate|student|intern|postdoc|PI|lead|mate|brother|wife|husband|assistant|Kollegin?|coll\u00e8gue|colega|collega)"

PROSE = (
    Rule(_HI, Pattern(rf"(?<![^\W_])(?i:{'|'.join(h.strip() for h in _HI)})(?: (?i:herr|frau|mr\.?|mrs\.?|ms\.?|dr\.?|prof\.?|again))?,? (?P<user>{_PERSON})(?:(?:,? (?:and|und|et|y|&) |, ?)(?P<user2>{_PERSON}))?(?=[ \t]*(?:[,!.:\u2014-]|\r?\n|$))"), accept=_is_person),
    Rule(_BYE, Pattern(rf"(?<![^\W_])(?i:thanks|thank you|thx|cheers|best|regards|lg|vg|mfg|gr\u00fc\u00dfe|greets|greetings|yours|saludos?|abrazo|saluti|pozdrawiam|groeten|bye|salutations)(?i: (?:a lot|again|so much|in advance|very much|regards|wishes|mille|bardzo|vielmals)){{0,2}}[,.!]? ?(?:(?:\r?\n[ \t>]*){{1,2}}(?:[~\u2014\u2013-]{{1,2}} ?)?|(?<=[,.!] )|(?<=[LVM][Gg] )|(?<=hes )from )(?P<user>{_PERSON}|[a-z]{{2,12}}(?=[ \t]*\Z))(?=[ \t]*(?:[,(|/]|\r?\n|$|\Z))"), accept=_is_person),
    Rule(("\n-", "\n~", "\n\u2014", "\n\u2013"), Pattern(rf"\n(?:[~\u2014\u2013] ?|--? ?\n?)(?P<user>{_PERSON})[ \t]*(?=\r?\n\s*\Z|\Z)"), accept=_is_person),
    Rule((" wrote", " writes", " schrieb", " scrive", " escribi\u00f3", " a \u00e9crit"), Pattern(rf"^(?:.*, )?(?P<user>{_PERSON}) (?:wrote|writes|schrieb|scrive|escribi\u00f3|a \u00e9crit)\b", re.M), "line", accept=_is_person),
    Rule(("-by:", "reporter:", "owner:", "contact:", "assignee:", "requester:", "author:", "first name:", "last name:", "full name:", "cc:", "cc ", "attn:", "attn ", "operator:", "student:", "customer:", "engineer:", "caller:", "by:"), Pattern(rf"(?<![\w.])(?i:\w+-by|reporter|owner|contact|assignee|requester|author|(?<=first )name|(?<=last )name|(?<=full )name|cc|attn|operator|student|engineer|caller|by):?[ \t]{{1,8}}@?(?P<user>{_PERSON})(?:, (?P<user2>{_PERSON}))?(?:,? and (?P<user3>{_PERSON}))?(?=\s*(?:[|,;(<]|$))", re.M), "line", accept=_is_person),
    Rule(("/cc ", "cc @", "cc: "), Pattern(r"(?<![\w-])cc:? @?(?P<user>[a-z][\w-]{2,38})(?:,? @?(?P<user2>[a-z][\w-]{2,38}))?\s*$", re.I), "line"),
    Rule((" said", " says", " told", " asked", " asks", " think", " thought", " suggest", " wrote", " mention", " report", " noticed", " tried", " confirmed", " sees", " saw", " replied", " answered", " installed", " set up", " built", " bought", " maintains", " owns", " manages", " from it", " from infra", " from ops", " from the ", " from our ", " from hr", " from support"), Pattern(rf"(?<![\w/.-])(?P<user>{_CAPITAL}(?: {_CAPITAL})?) {_SAID}\b"), "line", accept=_is_given),
    Rule(("ask", "told ", "tell ", "ping", "talk", "spoke ", "speak ", "according to ", "thanks to ", "credit to ", "mailed ", "messaged ", "contact", "forwarded ", "assigned ", "handed ", "met ", "called ", "bugged ", " as ", "\nas "), Pattern(rf"(?<![\w/.-])(?i:{_WITH}) (?P<user>{_CAPITAL}(?: {_CAPITAL})?)(?![\w/.-]*\w)"), "line", accept=_is_given),
    Rule(("colleague", "worker ", "boss ", "manager ", "admin", "friend ", "supervisor ", "professor ", "advis", "mate ", "student ", "intern ", "postdoc ", " pi ", "lead ", "brother ", "wife ", "husband ", "assistant ", "kolleg", "coll\u00e8gue ", "colega ", "collega "), Pattern(rf"(?<![\w-]){_ROLE},? (?P<user>{_PERSON})(?![\w/.-]*\w)"), "line", accept=_is_person),
    Rule(("\n<", "] <"), Pattern(r"(?:^|\n|\] |:\d\d )<[@+ ]?(?P<user>[a-z][\w-]{2,20})> (?=\w)"), accept=is_own),
    Rule((": i ", ": it ", ": same ", ": yes", ": no ", ": can ", ": you ", ": we ", ": did ", ": have ", ": try", ": ok", ": hm", ": lol", ": my ", ": hi", ": hey"), Pattern(r"^(?P<user>[a-z][\w.-]{2,20}): (?:I|it|same|yes|no|can|you|we|did|have|try|ok|hm+|lol|my|hi|hey)\b", re.M | re.I), "line", accept=lambda m: is_own(m) and m["user"].casefold() in spoken_words()),
    Rule((" am]", " pm]"), Pattern(r"^(?P<user>[A-Za-z][\w.-]{2,30}) \[\d{1,2}:\d\d(?: ?[AaPp][Mm])?\]"), "line"),
    Rule((" name is ", "i'm ", "i am ", "ich bin ", "appelle ", "llamo ", " soy ", "chiamo ", "hier ist ", "this is ", "je suis ", "nazywam "), Pattern(rf"(?:[Mm]y name is|I'm|I am|[Ii]ch bin|[Jj]e m['\u2019]appelle|[Mm]e llamo|[Ss]oy|[Mm]i chiamo|[Hh]ier ist|[Tt]his is|[Jj]e suis|[Nn]azywam si\u0119) (?P<user>{_CAPITAL}(?: {_CAPITAL})?)(?![\w/.-]*\w)"), "line", accept=_is_given),
    Rule(tuple(f" {name}" for name in sorted(known().given_names)), Pattern(rf"(?:(?<![\w-])(?:by|with|from|for|and|that|[Tt]hanks|[Tt]hank you)) (?P<user>{_CAPITAL})(?![\w/.-]*\w| [A-Z])"), "line", accept=lambda m: _is_person(m) and m["user"].casefold() in known().given_names),
    Rule((" is our ", " is my ", " is the ", "admin is ", "boss is ", "manager is ", "supervisor is ", "colleague is ", "contact is "), Pattern(rf"(?<![\w-])(?P<user>{_CAPITAL} {_CAPITAL}) is (?:our|my|the) (?:\w+ )?{_ROLE}\b|{_ROLE} is (?P<user2>{_PERSON})(?![\w/.-]*\w)"), "line", accept=_is_person),
    Rule(("employee ", "credit:", "credits:", "member ", "patient ", "mitarbeiter", "resident "), Pattern(rf"(?i:employee|credits?:|member|patient|mitarbeiter(?:in)?|resident):? (?P<user>{_PERSON})(?: \((?P<serial>[A-Z]{{0,3}}-?\d{{3,10}})\))?"), accept=_is_given),
    Rule((" lab", " group", " team"), Pattern(rf"(?<![\w-])(?:the|our|in|from|at) (?P<account>{_CAPITAL}) (?:lab|group|team)\b"), "line", accept=lambda m: m["account"].casefold() not in field_words()),
    Rule(("institute ", "department ", "centre ", "center ", "faculty ", "school ", "institut ", "chair "), Pattern(rf"(?i:institute|department|centre|center|faculty|school|institut|chair) (?:for|of|f\u00fcr|de|d') ?(?P<account>{_CAPITAL}(?: (?:and |und |et |of )?{_CAPITAL}){{0,4}})")),
    Rule(("org:", "organisation:", "organization:", "company:", "firma:", "empresa:", "soci\u00e9t\u00e9", "kunde:", "affiliation:", "subject:", "betreff:", "employer:"), Pattern(rf"^[ \t*-]*(?i:org(?:ani[sz]ation)?|company|firma|empresa|soci\u00e9t\u00e9|kunde|affiliation|subject|betreff|employer)\**:\** +(?P<account>{_CAPITAL}(?: {_CAPITAL}){{0,3}})", re.M), "line", accept=lambda m: not any(map(_is_common, m["account"].split()))),
    Rule(("\u8c22\u8c22", "\u611f\u8c22", "\u6b64\u81f4"), Pattern(r"(?:\u8c22\u8c22|\u611f\u8c22|\u6b64\u81f4)[\uff0c, \uff01!\u3002\n]{1,4}(?P<user>[\u3400-\u9fff]{2,4})(?=\s*(?:\n|\Z))")),
    Rule(("\u9858\u3044", "\u3054\u3056\u3044\u307e\u3059"), Pattern(r"(?:\u9858\u3044\S{0,4}\u3057\u307e\u3059|\u3054\u3056\u3044\u307e\u3059)[\u3002.!]?\n+(?P<user>[\u3040-\u30ff\u3400-\u9fff]{2,8})(?=\s*(?:\n|\Z))")),
    Rule(("\u3012", "\u90fd", "\u770c", "\u5e9c", "\u9053"), Pattern(r"\u3012 ?(?P<place>\d{3}-\d{4})|(?P<place2>[\u3400-\u9fff]{2,3}[\u90fd\u770c\u5e9c\u9053][\u3040-\u30ff\u3400-\u9fff]{2,14}\d{1,4}(?:-\d{1,4}){0,3})"), "line"),
    Rule(("node ", "ping ", "nfs server ", "run -h ", "set-hostname ", "--hostname ", "bucket ", "namespace ", "--account-name ", "partition ", "helm install ", "helm upgrade "), Pattern(r"(?:(?<![\w-])node|(?<!\w)ping(?: -\S+ \d+)?|nfs server|run -h|(?:set-|--)hostname|bucket|namespace|--account-name|partition|helm (?:install|upgrade))[ =](?P<host>[a-z][a-z-]{2,40}(?<!s)(?<!ed)(?<!ing))(?![\w(.=])", re.I), accept=is_own),
    Rule((".ngrok", ".trycloudflare", ".loca.lt", ".gradio.live", ".proxy.runpod", ".tmate.io", ".lhr.life", ".localhost.run", ".serveo", ".devtunnels.ms", ".app.github.dev", ".pinggy", ".bore.pub"), Pattern(r"(?P<host>(?:[\w-]+\.){1,5}(?:ngrok(?:-free)?\.(?:io|app|dev)|trycloudflare\.com|loca\.lt|gradio\.live|runpod\.net|tmate\.io|lhr\.life|localhost\.run|serveo\.net|devtunnels\.ms|github\.dev|pinggy\.\w+|bore\.pub))(?![\w-])"), "line"),
    Rule(("acct=", "ip=:", " process "), Pattern(r"acct=[\"']?(?P<user>[\w.@-]{2,60})|ip=[\w.]*:[\w.]*:[\w.]*:[\w.]*:(?P<host>[A-Za-z][\w.-]{1,60})|(?<=Process information: process )(?P<account>[\w.+-]{3,16}) pid", re.I), "line", accept=is_own),
    Rule(("sign=", "sign2="), Pattern(r"SIGN2?=[\"']?(?P<token>[0-9A-F][0-9A-F ]{10,300}[0-9A-F])")),
    Rule(("floor", "flat ", "apartment ", "apt ", "suite ", "plot ", "tower "), Pattern(r"(?<![\w-])(?P<place>\d{1,2}(?:st|nd|rd|th) floor(?:, [A-Z][\w .'-]{1,40}){0,3}|(?:flat|apartment|apt\.?|suite|plot|tower) (?:no\.? ?)?\d{1,4}[a-z]?,?(?: [a-z]{3,15}){1,2}?(?= (?:wharf|quay|street|road|close|court|house|lane|row|mews|yard|gardens|drive|place|avenue|way)) \w+)", re.I), "line"),
    Rule((" wharf", " quay", " close", " crescent", " gardens", " mews", " yard", " grove", " terrace"), Pattern(rf"(?<![\w.-])(?P<place>\d{{1,4}}[a-z]? {_CAPITAL}(?: {_CAPITAL})? (?:[Ww]harf|[Qq]uay|Close|Crescent|Gardens|Mews|Yard|Grove|Terrace))\b"), "line"),
    Rule(("received: from",), Pattern(r"received: from (?P<host>[\w.-]{2,200})[^\n]{0,200}? by (?P<host2>[\w.-]{2,200})", re.I)),
    Rule((" kernel:", " systemd["), Pattern(r"^(?P<host>[a-z][\w-]{2,40}) (?:kernel|systemd\[\d+\]): ", re.M), "line", accept=is_own),
    Rule((" has ", " had "), Pattern(r"(?:^|[.,;:(] )(?P<host>[a-z]{4,16}) (?:has|had) (?:\d|an? |two|four|eight|one|the same|ROCm|MI\d)", re.M), "line", accept=is_own),
    Rule((" on ", "\non "), Pattern(r"(?<![\w-])[Oo]n (?P<host>[A-Z][a-z]{3,16})(?=[,.)!?:;]| (?:it|the|I|we|and|everything|this|but|with|is|all|both)\b|$)", re.M), "line", accept=lambda m: is_own(m) and m["host"].casefold() not in _DAYS),
    Rule(("tested on ", "runs on ", "ran on ", "fails on ", "works on ", "hangs on ", "jobs on ", "crashes on ", "nodes "), Pattern(r"(?<![\w-])(?:on|nodes) (?P<host>[a-z]{3,16})(?:, (?P<host2>[a-z]{3,16}))?,? (?:and|or) (?:on )?(?P<host3>[a-z]{3,16})(?=[,.)!?:;]|$| (?:with|only|is|are|but|show|have)\b)", re.M), "line", accept=lambda m: all(_is_word_alone(v) for v in m.groupdict().values() if v)),
    Rule(("echo ",), Pattern(r"echo (?:-n )?[\"']?(?P<token>[^\"'\s|<>$]{4,80})[\"']? ?\| ?(?:sudo -\w*S|\w+ login|\S+ --password-stdin|passwd|openssl|gpg|kinit|su)\b")),
    Rule(("secret", "token=", "passwd=", "password=", "passphrase=", "api_key=", "apikey="), Pattern(r"(?<![\w-])[A-Z_]*(?:SECRET|TOKEN|PASSW(?:OR)?D|PASSPHRASE|API_?KEY)[A-Z_]*(?P<of_sign>=)(?P<of_q>[\"'])(?P<token>[^\"'\n<>$]{3,80})(?P=of_q)"), "line"),
    Rule(("passphrase:", "passphrase is", "passwort:", "password:"), Pattern(r"pass(?:phrase|wor[dt])(?::| is) (?P<token>[a-z]{3,12}(?:[ -][a-z]{3,12}){1,6})[ \t]*(?=\r?\n|\Z)"), accept=lambda m: _NO_SECRET.isdisjoint(m["token"].split())),
    Rule(("ending ", "ends ", "starting ", "starts ", "begins ", "beginning "), Pattern(r"(?:ending|ends|starting|starts|begins|beginning) (?:in|with) (?:\.\.\.)?[\"'`]?(?P<token>(?=\w*\d)(?=\w*[a-zA-Z])\w{4,12})(?![\w.])"), accept=lambda m: _KEYS.search(m.string, max(0, m.start() - 40), m.start()) is not None),
    Rule(
        ("password", "passphrase", "passcode", "called ", "named ", "log in as ", "login is "),
        Pattern(rf"(?:(?:password|passphrase|passcode) (?:is|was|:) (?P<token>{_SPELLED})|(?:called|named|log in as|login is) (?P<host>{_SPELLED}))", re.I),
    ),
    Rule(("\u3067\u3059", "\u3068\u7533", "\u3068\u8a00", "\u3068\u3044"), Pattern(r"(?P<user>[\u3400-\u9fff]{1,4}[ \u3000][\u3040-\u30ff\u3400-\u9fff]{1,4}?) ?(?=\u3067\u3059|\u3067\u3054|\u3068(?:\u7533|\u8a00|\u3044\u3044))"), "line"),
    Rule((" code ", " code: "), Pattern(r"(?:unlock|door|access|pairing|gate|alarm|security|entry) code:? (?P<token>\d{4,8})(?![\w.])", re.I), "line"),
    Rule(("ipmi", "bmc", "factory", "default", "web ui", "web-ui", "idrac", "ilo"), Pattern(r"(?<![\w/.])(?:ADMIN|admin|root|Administrator|guest)/(?P<token>(?=\w*[\dA-Z])(?=\w*[a-zA-Z])[\w!@#$%]{5,24})(?![\w/.])"), "line"),
    Rule(("chassis",), Pattern(r"chassis\W{1,3}(?P<serial>(?=[A-Z]*\d)[A-Z0-9]{8,20})(?!\w)", re.I)),
    Rule(("vorgang", "auftrag", "bestellung", "commande", "pedido", "matrikel", "zgloszenie", "dossier"), Pattern(r"(?:vorgangs?|auftrags?|bestell(?:ung|ungs)?|commande|pedido|matrikel|dossier)-?(?:nr|nummer|num\u00e9ro|n\u00ba|no)?\.?:? ?#?(?P<serial>\d{4,12}|\d{2,6}-\d{1,8})(?![\w.])", re.I)),
    Rule(("ssh ", "scp ", "rsync ", "sftp ", "mosh "), Pattern(r"(?:ssh|sftp|mosh)(?: -[46AaCfGgKkMNnqsTtVvXxYy]+| -[BbcDEeFIiLlmOopQRSWw] ?\S+)* (?:-J ?(?P<host>[A-Za-z][\w.-]*) )?(?P<host2>[a-z][\w-]*(?:\.[\w-]+)*)(?![\w.-])(?=[ \t]*(?:$|\r?\n|[`\"']|\d|-|nvidia-smi|rocm|amd-|uname|dmesg|python|cat |ls|bash|hostname|uptime|tail))"), accept=_is_host),
    Rule(("ssh ", "sshed ", "sshing "), Pattern(r"ssh(?:ed|ing)? (?:back )?(?:in ?to|to|on ?to|from) (?P<host>[A-Za-z][\w.-]{2,40})(?![\w(/])"), sure=False, accept=_is_host),
    Rule(("scp ", "rsync "), Pattern(r"(?:scp|rsync)[^\n|;`?]{0,200}?\s(?P<host>[A-Za-z][\w.-]*):(?=[\w~/.]|$)"), "line", accept=_goes_on_without),
    Rule((" login:",), Pattern(r"^(?P<host>[a-z][\w.-]{1,40}) login:", re.M), "line", accept=_goes_on_without),
    Rule(("welcome to ",), Pattern(r"Welcome to (?:the )?(?P<host>[a-z][\w-]{2,30})(?=[!.\s]*(?:\n|$))", re.I), accept=_is_host),
    Rule(("% ",), Pattern(r"^(?P<host>[a-z][\w.-]{1,40})% (?=[a-z./])", re.M), "line", accept=_goes_on_without),
    Rule(("host: ", "server: ", "node: ", "workstation: ", "cluster: "), Pattern(r"^[ \t*-]*(?:host|server|node|workstation|cluster)\**: \**[\"'`]?(?P<host>[A-Za-z][a-z-]{2,30})[\"'`]?\**[ \t]*(?=\r?\n|\Z|\(|,)", re.I | re.M), "line", sure=False, accept=_is_host),
    Rule(("node ", "server ", "machine ", "host ", "box ", "workstation ", "cluster ", "server, ", "machine, ", "node, ", "box, ", "desktop ", "laptop ", "rig "), Pattern(r"(?<![\w-])(?:node|server|machine|host|box|workstation|cluster|desktop|laptop|rig)s?,? (?:\((?P<host>[A-Za-z][a-z]{2,20})(?=\))|[\"'`\u201c\u201e](?P<host2>[A-Za-z][a-z]{2,20})(?=[\"'`\u201d])|(?:is )?(?:called|named) [\"'`]?(?P<host3>[A-Za-z][\w-]{2,30})|(?<=, )(?P<host4>[a-z]{3,16}),)", re.I), accept=lambda m: _is_host(m) and is_own(m)),
    Rule(("squeue ", "scancel ", "sacct ", "sreport ", "loginctl ", "crontab ", "pkill ", "pgrep "), Pattern(r"(?:squeue|scancel|sacct|sreport|loginctl|crontab|pkill|pgrep)[^\n|;]{0,80}? (?:-u|--user|-U)[ =]?(?P<user>[A-Za-z][\w.-]{1,40})(?![\w$(])")),
    Rule(("chown ", "chgrp "), Pattern(r"(?:chown|chgrp) (?:-\S+ ){0,2}(?P<user>[a-z][\w.-]{1,40})?(?::(?P<group>[a-z][\w.-]{1,40}))? (?=[\"']?(?:[/~$.]|\S+/))")),
    Rule(("user ",), Pattern(r"^User (?P<user>[a-z][\w.-]{1,40}) (?:may|is not|cannot)\b"), "line"),
    Rule(("activate ", "workon ", "create -n ", "remove -n ", "run -n ", "export -n "), Pattern(r"(?:activate|workon|\w+ -n) (?P<account>[A-Za-z][\w.-]{2,60})(?![\w/(.])"), "line", accept=is_own),
    Rule(("\n(",), Pattern(r"\n\((?P<account>[a-z][\w.-]{2,40})\) ?(?=\S{1,80}[@$%#>:~])"), accept=is_own),
    Rule(("git checkout ", "git switch ", "git merge ", "git push ", "on branch ", "git branch ", "git rebase ", "git worktree ", "branch '", "branch `"), Pattern(r"(?:git (?:checkout|switch|merge|rebase|branch|worktree add|push \S+)(?: -\w+)*|[Oo]n branch|branch) [\"'`]?(?P<account>(?=[\w./-]*[a-z]{3})[A-Za-z][\w./-]{2,80})(?![\w(])"), accept=is_own),
    Rule(("--name ", "--name=", "docker logs ", "docker stop ", "docker start ", "docker rm ", "docker restart ", "podman logs ", "container ", "docker exec ", "tmux ", "screen -"), Pattern(r"(?:--name[ =]|(?:docker|podman) (?:logs|stop|start|rm|restart|exec)(?: -\S+)* |container [\"'`]|tmux (?:a|at|attach|attach-session|new|new-session|kill-session)(?: -\w)* |screen -\w+ )(?P<container>[a-z][\w.-]{2,60})(?![\w(/:])"), accept=is_own, learn=False),
    Rule(("run_name", "run-name", "run name", "job_name", "job-name", "experiment", "wandb project ", "exp_name", "project_name", "project-name", "syncing run ", "wandb run "), Pattern(r"(?:run[_ -]name|job[_-]name|exp(?:eriment)?[_ -]name|project[_-]name|wandb project|syncing run|wandb run)[\"']?(?:\s?[:=]\s?| )[\"'`]?(?P<account>[A-Za-z][\w.-]{2,60})(?![\w(])", re.I), accept=is_own, learn=False),
    Rule(("customer", "client", "company", "employer", "startup", "project", "institute", "bank ", "hospital", "codename", "code name", "code-name", "partner", "vendor", "tenant"), Pattern(rf"(?<![\w-])(?:customer|client|company|employer|startup|project|institute|hospital|code-? ?named?|partner|tenant)s?,?(?: is| called| named| at)?,? [\"'\u201c\u201e]?(?P<account>{_CAPITAL}(?: (?:{_CAPITAL}|[A-Z]{{2,8}})){{0,3}})"), "line", accept=lambda m: not _is_common(m["account"].split()[0])),
    Rule(("we at ", "work at ", "works at ", "working at ", "work for ", "here at ", "team at ", "intern at ", "student at ", "researcher at ", "engineer at ", "based at ", "lab at "), Pattern(rf"(?:\w+) (?:at|for) (?P<account>(?:{_CAPITAL}|[A-Z]{{2,8}})(?: (?:{_CAPITAL}|[A-Z]{{2,8}}|of|f\u00fcr|de)){{0,4}})"), accept=lambda m: m["account"].split()[0].casefold() not in _NO_PERSON),
    Rule(
        _PASSWORDS,
        Pattern(rf"(?<![^\W_])(?i:{_PASSWORD})(?![A-Za-z0-9_-])(?:[^\S\n](?!a |the |with|in |all|basic)[^\n.;:=<>|()]{{0,50}}?)?[\"'`)\]]{{0,2}}{_IS}[ \t\u3000]{{0,3}}{_VALUE}"),
        accept=_is_told,
    ),
    Rule(_PASSWORDS, Pattern(rf"(?<![^\W_])(?i:{_PASSWORD})[\"']?,?[ \t]{{1,3}}(?:[\"'`\u201c\u00ab](?P<token>[^\"'`\u201d\u00bb\n<>]{{3,60}})(?=[\"'`\u201d\u00bb])|(?P<token2>(?=[^\s<>]*\d)(?=[^\s<>]*[^\W\d])[^\s\"'`<>,;&()]{{4,60}}(?<![.!?])))"), accept=_is_told),
    Rule(("passphrase=", "password=", "passwd="), Pattern(r"pass(?:phrase|word|wd)=(?P<of_q>[\"'])(?P<token>[^\"'\n<>]{3,80})(?P=of_q)", re.I)),
    Rule(
        ("login", "log in ", "logon", "credential", "creds", "sign in ", "user ", "user:", "username ", "username:", "account "),
        Pattern(r"(?<![^\W_])(?:(?:log ?-?ins?|logon|credentials?|creds|sign in)(?: (?:for|to|on|of)[^\n.:]{1,40}?)?(?: is| are| as| with|:|=)? ?[\"'`]?(?P<user>[A-Za-z][\w.@-]{1,40})[\"'`]? ?(?:/|\||:) ?[\"'`]?(?P<token>(?=[^\s/]*[\d!@#$%^&*?+])[^\s\"'`<>,;()/]{4,60}(?<![.!?]))|(?:user(?:name)?|account|login)(?: is|:)? [\"'`(]?(?P<user2>[A-Za-z][\w.@-]{1,40})[\"'`]?(?:,? (?:and |with )?(?:password|pass|pw|pwd|passwort|kennwort)(?: is)?:?|(?= /)) ?(?:/ )?[\"'`]?(?P<token2>(?=[^\s/]*[\d!@#$%^&*?+])[^\s\"'`<>,;()/]{4,60}(?<![.!?])))", re.I),
        accept=_is_login,
    ),
    Rule((" key ", " code ", " pin ", " otp ", " 2fa ", "pin:", "otp:", "code:", "token "), Pattern(r" ?(?<![\w-])(?:key|code|pin|otp|2fa|token)(?: (?:to|for|of|on)[^\n.;:]{1,30}?)? (?:is|was|=|:) ?[\"'`]?(?P<token>[\w-]{4,40})(?![\w(.])", re.I), accept=_is_code),
    Rule(("token ", "secret ", "api key "), Pattern(r"(?<![\w-])(?:token|secret|api key) [\"'`]?(?P<token>(?=[\w-]*\d)(?=[\w-]*[a-z])[A-Za-z][A-Za-z0-9]*[_-][\w-]{4,60})(?![\w(])", re.I), accept=_is_code),
    Rule(("passcode",), Pattern(r"passcode\W{1,3}(?P<token>\w{4,20})", re.I), accept=_is_code),
    Rule(("ext.", "extension", "\u5185\u7dda", "\u5206\u673a", "\ub0b4\uc120", "durchwahl", "tst.", "wew.", "klapka", "toestel", "anknytning", "mell\u00e9k", "interne ", "lokaltelefon"), Pattern(r"(?<!\w)(?:ext\.?|extension|\u5185\u7dda|\u5206\u673a|\ub0b4\uc120|durchwahl|tst\.|wew\.|klapka|toestel|anknytning|mell\u00e9k|interne|lokaltelefon)[^\n\d]{0,16}(?P<phone>(?:(?:tst|ext|nr|no)\. ?)?\d{2,4}-?\d{2,5})(?![\w.])", re.I)),
    Rule(("call ", "phone", "reach ", "my number", "text me", "mobile", "cell", "ring ", "dial ", "tlf", "sms ", "anrufen", "appelez"), Pattern(r"(?<![^\W_])(?:call|(?:tele)?phone|reach|my number|text me|mobile|cell|ring|dial|tlf|sms|anrufen|appelez)[^\n\d+]{0,24}(?P<phone>\+?\d{3}[ .-]\d{4}|\+?\d[\d .-]{6,16}\d)(?![\w.:-])", re.I), accept=lambda m: 7 <= sum(map(str.isdigit, m["phone"])) <= 13 and "." not in m["phone"]),
    Rule(("\u5de5\u5834", "\u30d3\u30eb", "\u53f7\u9928", "\u4e8b\u696d\u6240", "\u5de5\u5382", "\u53f7\u697c", "\u5ba4"), Pattern(r"(?P<place>\u7b2c ?[\d\u4e00-\u5341]{1,3} ?(?:\u5de5\u5834|\u30d3\u30eb|\u4e8b\u696d\u6240|\u5de5\u5382)|\d{1,3} ?(?:\u53f7\u9928|\u53f7\u697c)|\d{1,2}F ?[\u3040-\u30ff\u3400-\u9fff]{1,6}\u5ba4)"), "line"),
    Rule(("room ", "raum ", "zimmer ", "building ", "geb\u00e4ude ", "desk ", "b\u00fcro ", "salle ", "p.o. box ", "po box "), Pattern(r"(?<![\w-])(?:room|raum|zimmer|(?<=in )building|(?<=, )building|(?<=at )building|geb\u00e4ude|desk|b\u00fcro|salle|p\.?o\.? box):? (?:no\.? ?|nr\.? ?)?(?P<place>(?=[\w.-]*\d)[A-Z0-9][\w.-]{0,12}\w)(?![\w(])", re.I), learn=False),
    Rule(
        ("ticket", "case ", "incident", "jira", "order", "po ", "rma", "inventory", "request", "reference", "quote", "booking"),
        Pattern(r"(?<![\w-])(?i:ticket|case|incident|jira|order|po|rma|inventory|request|reference|quote|booking)(?i:[ _-]?(?:no|nr|number|id|ref))?\.?:? ?#?:? ?(?P<serial>[A-Z]{1,8}-?\d{3,12}(?:-\d+)?|\d{5,12}|\d{2,5}-\d{3,8})(?![\w.:])"),
        accept=lambda m: not m["serial"].startswith(("CVE", "SWDEV", "ROCM", "MI", "RX", "HIP", "GPU")),
    ),
    Rule((" at ", " dot ", " @ "), Pattern(r"(?<![\w.])(?P<email>[a-z][\w.+-]{1,40} (?:at [\w-]{2,40}(?: dot [a-z]{2,12}){1,3}|@ [\w-]{2,40}(?:\.[\w-]{2,24}){1,3}))(?![\w-])", re.I), "line"),
    Rule(("/archives/", "/file/d/", "/d/", "/runs/", "/folders/", "pastebin.com/", "/browse/", "paste.", "hastebin", "dpaste", "/share/", "transfer.sh/", "wetransfer", "file.io/", "/s/"), Pattern(r"(?:/archives|/file/d|/d|/runs|/folders|pastebin\.com(?:/raw)?|/browse|paste\.[\w.]+|hastebin\.com|dpaste\.\w+|/share|transfer\.sh|file\.io|/s)/(?P<account>(?=[\w-]*[A-Z0-9])[\w-]{6,60})(?![\w-])"), accept=_is_shared, learn=False),
)  # fmt: skip


_CELL = regex(r"(?:[ \t]{2}|\t|\|) ?([\u3400-\u9fff]{1,3}[ \u3000][\u3040-\u30ff\u3400-\u9fff]{1,3}) ?(?=[ \t]{2}|\t|\||$)", re.M)


def cells(text: str) -> Iterator[Found]:
    """Names in tables in Japanese, where family and given name have a space between them."""
    return (Found(*cell.span(1), "user") for cell in (() if text.isascii() else _CELL.finditer(text)))
