"""Words that are not known to be technical, nor words of a language: replaced unless what is around them is code.

Rules know where names are. This search knows what is no name: the vocabulary holds the words of the field, of its software and of
languages. Whatever else is written, a name, a login, a machine, a company, is replaced wherever it is. What is joined to something by a
hyphen, a dot, a slash, an underscore or a digit is part of an identifier, for which words of the field alone are known.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction import technical
from rocm_doctor.redaction.find import PSEUDONYM
from rocm_doctor.redaction.known import anonymous, compounds, distinctive, field_words, is_public, known, spoken_words, words
from rocm_doctor.redaction.rules import Found

_RUN = regex(r"[^\W_]+")
INFLECTIONS = ("s", "ed", "ing", "er", "d")
"""Ends of English words whose stem is known. The vocabulary leaves such words out."""
_OTHER_SCRIPT = regex(r"[\u0e00-\u0e7f\u0590-\u06ff\u0900-\u097f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef]")
"""Scripts that write no spaces, or no capitals: a run of them is a sentence as often as a name."""
_MOST = 100_000
_JOINTS = "-_./\\@:="


def runs(text: str, *between: int) -> set[str]:
    """What is written in `text` of letters, or of letters and digits: no numbers, no addresses of memory, nothing of two letters.

    >>> sorted(runs("gfx90a 0x7f3a is_ok: HIP42 7x 12"))
    ['7x', 'HIP42', 'gfx90a']
    """
    found = set(_RUN.findall(text, *between))
    return {run for run in found if not run.isdigit() and (len(run) > 2 or run[0].isdigit()) and not run.startswith("0x")}


def pieces(run: str) -> list[str]:
    """The parts of `HIPErrorNoBinary42`: HIP, Error, No, Binary, 42."""
    return [run] if run.islower() and run.isalpha() else _PIECES.findall(run)


_PIECES = regex(r"\d+|[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+")


def is_known(run: str, joined: bool = False) -> bool:
    """Whether a run of letters and digits is made of known words and short numbers. `joined`: it is part of an identifier."""
    return _known_to(run) >= (_FIELD if joined else _SPOKEN)


_SPOKEN, _FIELD = 1, 2


@lru_cache(_MOST)
def _known_to(run: str) -> int:
    """Who knows all words of a run: the field, languages alone, or no one (0)."""
    if run.isdigit() or (not run.isascii() and _OTHER_SCRIPT.search(run)):
        return _FIELD
    whole = _word_of(run.casefold())
    if whole == _FIELD or technical.SHAPE.fullmatch(run):
        return _FIELD
    parts = pieces(run)
    if len(parts) == 1:
        return whole
    numbers = [p for p in parts if p.isdigit()]
    if len(numbers) > 2 or (numbers and len(parts) > 4) or any((n[0] == "0" and len(n) > 1) or len(n) > 4 for n in numbers):
        return whole
    return _FIELD if all(p.isdigit() or len(p) == 1 or _word_of(p.casefold()) == _FIELD for p in parts) else whole


def _word_of(word: str) -> int:
    """Who knows this word, or its stem."""
    forms = [word]
    if word.endswith(INFLECTIONS):
        forms += [word[: -len(end)] for end in INFLECTIONS if word.endswith(end)]
    if len(word) == 2 or not field_words().isdisjoint(forms):
        return _FIELD
    return 0 if spoken_words().isdisjoint(forms) else _SPOKEN


_PREFIXES_OF_WORDS = regex(r"(?:un|re|mis|de|dis|non|pre|over|under|sub|auto|multi|inter|co|super|semi|anti)(?=[a-z]{5})")
_SUFFIXES_OF_WORDS = ("ly", "ness", "ment", "able", "al", "y", "es", "ers", "ings", "ity", "ful", "less", "ation", "ations")
_OF_NO_NAME = (
    "ation", "ations", "ment", "ments", "ness", "able", "ably", "ible", "ility", "ously", "ively", "ically", "ization", "isation", "izing", "ising", "ized", "ised", "ingly",
    "edly", "ology", "ularly", "ential", "entially", "ionally", "istic", "itive", "ative", "ecture", "ograph", "ographic", "ometer",
)  # fmt: skip
"""Ends of long words that no one is called by."""
_BRITISH = (("our", "or"), ("is", "iz"), ("ys", "yz"), ("ll", "l"), ("tre", "ter"), ("ae", "e"), ("ogue", "og"))


def _is_variant(word: str) -> bool:
    """Whether a word is made of a known one: with a syllable before or behind it (`unticked`), or in British spelling (`honoured`).

    >>> _is_variant("deselected"), _is_variant("virtualised"), _is_variant("wombex")
    (True, True, False)
    """
    if len(word) < 6 or not word.isascii():
        return False
    if len(word) > 7 and word.endswith(_OF_NO_NAME):
        return True
    forms = {word.replace(british, american) for british, american in _BRITISH if british in word}
    if prefix := _PREFIXES_OF_WORDS.match(word):
        forms.add(word[prefix.end() :])
    for form in (word, *forms):
        forms |= {
            form[: -len(end)] for end in (*INFLECTIONS, *_SUFFIXES_OF_WORDS) if form.endswith(end) and len(form) - len(end) > 4
        }
        forms |= {
            form[: -len(end)] + "e" for end in ("ing", "able", "ation", "ity") if form.endswith(end) and len(form) - len(end) > 3
        }
    return any(len(form) > 4 and (form in field_words() or form in spoken_words()) for form in forms - {word})


_MOST_MISTAKES = 300
"""Unknown words of a text among which misspelt ones are looked for: more are no prose."""
_LEAST, _MOST = 7, 30
"""Letters of a word that may be a misspelt one: of shorter ones too many are names, and no longer one is a word of a language."""


def _is_misspelt(word: str) -> bool:
    """Whether two letters changed places, or one is doubled, single or missing, in a word that people write in reports.

    >>> _is_misspelt("unexpectdly"), _is_misspelt("comparision"), _is_misspelt("wombexley")
    (True, True, False)
    """
    if not _LEAST <= len(word) <= _MOST or not word.isascii() or not word.isalpha():
        return False
    places = range(1, len(word))
    swapped = (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in places[:-1])
    without = (word[:at] + word[at + 1 :] for at in places)
    with_one = (word[:at] + letter + word[at:] for at in places for letter in _LETTERS)
    return any(form in field_words() for form in chain(swapped, without, with_one))


_LETTERS = "etaoinsrlhdcumpgfbyvwkxjqz"


def unknown(text: str, found: Sequence[Found], words: set[str]) -> Iterator[Found]:
    """The words of `text` that are not known, without those of the places that were found already. `words`: its runs."""
    taken = _Taken(found)
    places = (_words(text, words), _hosts(text), _compounds(text), _in_sentences(text, words), _folders(text))
    for start, end, kind in chain.from_iterable(places):
        if text[end : end + 1] == "<" and PSEUDONYM.match(text, end):
            continue  # `enx<mac-1>`
        if not taken.at(start, end) and (kind in ("host", "account") or not technical.is_around(text, start, end)):
            yield Found(
                *(_whole_host(text, start, end) if kind == "word" else (start, end)),
                kind if kind in ("host", "account") else "name",
            )


_TOO_MANY = 40_000
"""Distinct words that no list knows. Replacing half as many is more than one report may cost."""
_STRANGE = {True: 1.0, False: 0.25}
"""What an unknown word counts by whether it is all letters: a long log numbers its requests."""
_BLOCK = 1 << 18
_GAP = regex(r"[\W_]")


def readable(text: str) -> tuple[set[str], int]:
    """The runs of a text, and where it ends that is worth a search: what follows tens of thousands of unknown words is not."""
    found: set[str] = set()
    strange, begin = 0.0, 0
    while begin < len(text):
        gap = _GAP.search(text, begin + _BLOCK)
        end = gap.start() if gap else len(text)
        new = runs(text, begin, end) - found
        found |= new
        strange += sum(_STRANGE[run.isalpha()] for run in new if not _known_to(run)) if len(text) > _BLOCK else 0
        if strange > _TOO_MANY:
            return found, text.rfind("\n", 0, end) + 1
        begin = end
    return found, len(text)


Place = tuple[int, int, str]


def _words(text: str, words: set[str]) -> Iterator[Place]:
    known = {word: held for word in words if (held := _known_to(word)) < _FIELD}
    strange = [word for word, held in known.items() if not held and word.islower()]
    if len(strange) < _MOST_MISTAKES:
        known |= {word: _SPOKEN for word in strange if _is_variant(word) or _is_misspelt(word)}
    for run in _RUN.finditer(text) if known else ():
        if run[0] in known and (known[run[0]] < _SPOKEN or _is_joined(text, *run.span())):
            yield *run.span(), "word"


def _hosts(text: str) -> Iterator[Place]:
    return ((*host.span(1), "host") for host in _HOSTS.finditer(text) if not _is_public(host[1]))


_WHERE = regex(
    r"(?<![\w-])(on|from|by|via|at|host|node|server|machine|cluster|workstation|box|user|called|named) ([a-z]{4,16})"
    r"(?=[:,)?!;]|\.(?!\w)|$| (?:and|but|or|is|was|with|the|I|it|we|only|works|fails|does|has|had|hangs|crashes|runs|shows|at|for|in|after|before|while|when|where|which|since|today|yesterday|again|too|now|then|because|so|as|it's|you)\b)",
    re.M,
)
_FOLDER = regex(r"[/\\]((?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])[\w.-]{1,60})(?=[/\\]|\s|[\"'`:;,)]|$)", re.M)


def _in_sentences(text: str, words: set[str]) -> Iterator[Place]:
    """Words for a machine or a login that are common to no language of the field: `it hangs on eagle, and is fine`."""
    if not any(3 < len(word) < 17 and word.isalpha() and word.islower() and distinctive(word) for word in words):
        return iter(())
    return ((*m.span(2), "host") for m in _WHERE.finditer(text) if _may_name(m[2], m[1]))


def _may_name(name: str, preposition: str) -> bool:
    if name.endswith(("ing", "ed")):
        return False
    return (
        distinctive(name)
        and not anonymous("host", name)
        and (preposition not in ("by", "at", "from", "via") or name not in field_words())
    )


def _folders(text: str) -> Iterator[Place]:
    """Folders and files that are named in Chinese, Japanese or Korean."""
    return ((*m.span(1), "account") for m in _FOLDER.finditer(text))


_HYPHEN = regex(r"-(?<=[A-Za-z0-9]-)(?=[A-Za-z0-9])")
_TO_LETTERS, _FROM_HYPHEN = regex(r"(?s:.*[^A-Za-z0-9])?"), regex(r"(?:-[A-Za-z0-9]{1,60})+")
_LONGEST = 61
_GOES_ON = regex(r"[\w-]")


def _compounds(text: str) -> Iterator[Place]:
    """Words that hyphens join and no list knows. What was matched is never matched again: a text of hyphens takes linear time."""
    done = 0
    for hyphen in _HYPHEN.finditer(text):
        right = _FROM_HYPHEN.match(text, hyphen.start()) if hyphen.start() >= done else None
        if right is None:
            continue
        done = right.end()
        left = technical.tail(text[max(0, hyphen.start() - _LONGEST) : hyphen.start()], _TO_LETTERS)
        start = hyphen.start() - len(left)
        apart = 0 < len(left) < _LONGEST and not (text[start - 1 : start].isalnum() or text[start - 1 : start] in ("_", ".", "-"))
        if (
            apart
            and not _GOES_ON.match(text, done)
            and not (is_known_compound(text[start:done]) or _is_figure(text, start, done))
        ):
            yield start, done, "compound"


_HOSTS = regex(r"://(?:[^\s/@<>\"']{1,200}@)?([A-Za-z0-9](?:[\w.-]{0,250}\w)?)(?=[/:?#\s\"'<>)\],`]|$)", re.M)
_DOMAIN = regex(r"(?i:com|org|net|edu|gov|io|dev|local|lan|internal|corp|cluster|intranet|private|home|example|test|[a-z]{2})")
_FILES = frozenset((
    "py", "sh", "md", "so", "rs", "js", "ts", "cc", "hh", "pl", "db", "pt", "gz", "xz", "ps", "ko", "id", "in", "is", "it", "at",
    "me", "to", "my", "no", "co",
))  # fmt: skip


@lru_cache(_MOST)
def _is_public(host: str) -> bool:
    """Whether the host of an address is one that everybody uses, or no name."""
    low = host.casefold()
    if "." not in low:
        return low in words() or low in known().accounts
    return is_public(low) or not any(c.isalpha() for c in low.split(".")[-1])


def _whole_host(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole name of the host that a word is part of: what is left of one would be taken for another."""
    left = technical.tail(text[max(0, start - 200) : start], _TO_LABEL).lstrip("._-")
    right = _RIGHT.match(text, end, end + 200)[0]  # type: ignore[index]
    if "." not in left and "." not in right:
        return start, end
    whole = start - len(left), end + len(right)
    labels = text[slice(*whole)].rstrip(".-").split(".")
    if (
        len(labels) > 1
        and all(labels)
        and _DOMAIN.fullmatch(labels[-1])
        and not (len(labels) == 2 and labels[-1] in _FILES)
        and "_" not in labels[0][:1]
    ):
        return whole[0], whole[0] + len(".".join(labels))
    return start, end


_TO_LABEL, _RIGHT = regex(r"(?s:.*[^\w.-])?"), regex(r"(?:[\w.-]*\w)?")


def _is_joined(text: str, start: int, end: int) -> bool:
    """Whether a hyphen, a dot, a slash or the like joins a word to another."""
    left, right = text[max(0, start - 2) : start], text[end : end + 2]
    before = left[-1:] in _JOINTS and left != "" and (left[-1] in "/@\\_=" or left[:-1].isalnum())
    behind = right[:1] in _JOINTS and right != "" and (right[0] in "@\\_/" or right[1:].isalnum())
    return before or behind


_PREFIXES = frozenset((
    "non", "pre", "re", "un", "multi", "inter", "semi", "self", "sub", "co", "ex", "post", "mid", "anti", "over", "all", "no", "one", "two", "three", "four", "five", "six",
    "eight", "single", "dual", "half", "full", "low", "high", "long", "short", "well", "per", "out", "off", "on", "in", "up", "down", "so", "to", "first", "second", "third",
    "last", "next", "mini", "micro", "cross", "quasi", "auto", "real", "then", "now", "never", "ever", "much", "more", "most", "less", "least", "same", "user", "left", "right",
    "top", "bottom", "open", "closed", "time", "day", "week", "month", "year", "de", "new", "old", "large", "small", "big", "fine", "hard", "soft", "deep",
))  # fmt: skip
"""First words of compounds that a sentence makes."""
_SUFFIXES = frozenset((
    "like", "ish", "style", "based", "wise", "level", "only", "free", "side", "time", "up", "off", "in", "out", "aware", "ready", "friendly", "specific", "related", "less",
    "by", "to", "down", "on", "over", "way", "long", "safe", "bit", "byte", "core", "thread", "slot", "pin", "gen", "node", "gpu", "card", "channel", "fold", "class", "order",
    "end", "type", "size", "file", "line", "mode", "phase", "step", "stage", "part", "page", "point", "scale", "speed", "power", "memory", "version", "value", "parameter",
    "dependent", "independent", "compatible", "capable", "enabled", "disabled", "heavy", "bound", "critical", "intensive", "wide", "old", "new", "date", "fi", "d", "dim",
    "training", "tuning", "precision", "rank", "device", "head", "batch", "token", "layer", "day", "hour", "minute", "year", "month", "week",
))  # fmt: skip
"""Last words of such compounds."""
_MACHINES = frozenset((
    "node", "gpu", "worker", "host", "server", "master", "rack", "blade", "login", "compute", "cluster", "runner", "box", "rig", "pc", "ws", "srv", "vm", "nas", "head", "desktop",
    "laptop", "workstation", "station", "gw", "gateway", "cn", "db", "web", "app", "storage", "backup", "dev", "prod", "staging", "test", "lab", "edge", "cp", "ctl", "control",
    "builder", "build", "train", "trainer", "ml", "ai", "hpc", "dgx", "epyc", "mi", "amd", "site", "dc", "pod", "kube", "k8s",
))  # fmt: skip
_SOFTWARE = frozenset((
    "accelerate", "amd", "amdgpu", "apt", "attn", "axolotl", "bitsandbytes", "ck", "comfy", "comfyui", "conda", "cuda", "deepspeed", "diffusers", "docker", "flash", "gcc",
    "gpu", "hip", "hsa", "intel", "jax", "kernel", "lib", "linux", "llama", "llvm", "lora", "nightly", "nvidia", "ollama", "peft", "pip", "py", "python", "pytorch", "qlora",
    "rocm", "sd", "sglang", "systemd", "torch", "torchtune", "transformers", "triton", "trl", "ubuntu", "unsloth", "vllm", "webui", "xformers",
))  # fmt: skip
"""Words for software: of a compound of these alone, and after one of the first names, nothing is a name."""
_MAKERS = frozenset((
    "amd", "amdgpu", "apt", "cuda", "docker", "gcc", "hip", "hsa", "intel", "kernel", "lib", "linux", "llvm", "nvidia", "pip", "py", "python", "pytorch", "rocm", "torch", "systemd",
))  # fmt: skip
"""First words of what is software, unless a machine follows: `rocm-users`, not `rocm-runner`."""
_MODEL = regex(r"\d+(?:\.\d+)?[bmkx]|v?\d+|[a-z]\d|\d+x\d+b|q\d|it|instruct|chat|base|gguf|awq|gptq|fp\d+|bf16|int\d", re.I)


_PLACE_IN_LIST = regex(r"^\d{1,2}-(?=[a-z])")
_LINKS = frozenset(("a", "and", "as", "for", "from", "in", "into", "of", "on", "or", "the", "to", "with", "without", "is", "not"))
"""Words of headings that became addresses."""


@lru_cache(_MOST)
def is_known_compound(compound: str) -> bool:
    """Whether words joined by hyphens are a term of the field, a part number or a figure of speech: `self-hosted`, not `granite-nas`."""
    low = _PLACE_IN_LIST.sub("", compound.casefold())
    if "-" not in low or low in compounds() or technical.PART.fullmatch(compound):
        return True
    parts = low.split("-")
    if len(parts) > 2 and _LINKS & set(parts[1:-1]):
        return True
    words = [p for p in parts if p.isalpha() and len(p) > 1]
    numbers = [p for p in parts if p.isdigit()]
    if len(parts) > 2 and any(len(n) > 4 for n in numbers):
        return False  # numbers of products and of cases
    if not words or (len(words) == 1 and len(parts[0]) == 1):
        return True  # dates, versions, parts of standards
    if any(len(n) > 1 and n[0] == "0" for n in numbers):
        return False
    if len(words) == 1 and len(numbers) == len(parts) - 1:
        return words[0] not in _MACHINES or len(numbers[-1]) < 2
    if (parts[0] in _MAKERS and not _MACHINES & set(parts[1:])) or set(words) <= _SOFTWARE:
        return True
    spoken = all(map(str.isalpha, parts)) and not compound.isupper()
    if spoken and (
        parts[0] in _PREFIXES or parts[-1] in _SUFFIXES or parts[-1].endswith(("ed", "ing", "ly", "able", "ible", "er", "ness"))
    ):
        return True
    return sum(_MODEL.fullmatch(p) is not None for p in parts[1:]) > 1 or any(re.fullmatch(r"\d+(?:\.\d+)?b", p) for p in parts)


_NAMED = regex(
    r"(?:\b(?:on|from|by|via|at|to|into|host|node|server|machine|cluster|workstation|box|user|called|named|project|customer|client|run|team|group|account|branch|bucket|namespace"
    r"|ssh|login|named?|code|experiment|dataset|container|pod|job|queue|partition|repo|env|is)|[:=@/\\])[\"'`]? ?\Z",
    re.I,
)
"""What comes before a name: behind it no two words are a figure of speech."""


def _is_figure(text: str, start: int, end: int) -> bool:
    """Whether two common words are joined as a sentence joins them: `busy-waits`, not `on busy-bee`."""
    parts = text[start:end].split("-")
    if len(parts) != 2 or not all(part.islower() and part.isalpha() and len(part) > 2 for part in parts):
        return False
    around = text[start - 1 : start], text[end : end + 1]
    if (
        (around[0] and around[0] not in " \n(")
        or (around[1] and around[1] not in " \n.,;:!?)")
        or (around[1] in (".", ",", ":") and text[end + 1 : end + 2].isalnum())
    ):
        return False
    if not technical.is_english(text[text.rfind("\n", max(0, start - 300), start) + 1 : end + 100].partition("\n")[0]):
        return False
    common = any(part in words() or part.removesuffix("s") in words() for part in parts)
    return (
        common
        and all(_known_to(part) == _FIELD for part in parts)
        and not _MACHINES & set(parts)
        and not _NAMED.search(text, max(0, start - 16), start)
    )


class _Taken:
    """Places that are replaced anyway."""

    def __init__(self, found: Sequence[Found]) -> None:
        spans = sorted((f.start, f.end) for f in found)
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end in spans:
            if self._ends and start <= self._ends[-1]:
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)

    def at(self, start: int, end: int) -> bool:
        """Whether a place overlaps one of them."""
        number = bisect_right(self._starts, end - 1) - 1
        return number >= 0 and self._ends[number] > start
