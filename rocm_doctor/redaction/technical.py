"""Where a word that no list holds names a thing of software and not a person: code, libraries, packages, kernel lines, hashes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.known import field_words, known, spoken_words

_REACH = 240
"""Characters on both sides of a word that are looked at, up to the ends of its line."""
SHAPE = regex(
    r"\d+[a-z]{1,4}\d?|[a-z]{1,3}[1-9]\d{0,3}[a-z]?|[a-z]\d+[a-z]\d+|0x[0-9a-f]{1,16}|(?:0{2,}|f{4,})[0-9a-f]{4,14}|v\d+\w*"
    r"|gfx\d\w*|(?:rx|mi|gfx|sm|cp|py|cu|rocm|el|fc|gb|nm)\d+[a-z]*|git[0-9a-f]{6,40}|\d*(?:dev|post|rc|a|b)\d{6,12}|[brv]\d{3,6}|[iwef]\d{4}|\d\dt\d\d|\d+(?:x\d+)+[a-z]{0,4}\d{0,2}|\d+(?:x\d+){3,}\w*|0b[01]+|h[0-9a-f]{7}|x{3,}|(.)\1+"
    r"|g[0-9a-f]{6,12}|d20\d{6}|mei\d{4,7}|(?:cni|virbr|docker|veth|tun|tap|wg|bond|vxlan|flannel|cali|ppp|enp|eno|ens|wlp|hsn)\d\w{0,8}|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,8}"
    r"|\d+h\d+m(?:\d+s)?|\d+m\d+s|\d+(?:\u03bc|\u00b5)s|(?:x\d+)+|mt\d+(?:x\d+)+|m\d+n\d+k\d+|fp\d+[a-z]\d[a-z]\d+|py\d*h[0-9a-f]{6,8}|tmp(?=[a-z_]*\d)\w{4,8}",
    re.I,
)
"""Sizes, targets, builds, addresses of memory: a number with a few letters."""


class Around(NamedTuple):
    """A word with the line before and behind it, and `begin`: what is written before it without a space or a quote."""

    before: str
    word: str
    after: str
    begin: str

    @property
    def chunk(self) -> str:
        """All that is written without a space or a quote around the word."""
        return self.begin + self.word + _FIRST.match(self.after)[0]  # type: ignore[index]

    @property
    def line(self) -> str:
        """The whole of it."""
        return self.before + self.word + self.after

    @property
    def name(self) -> str:
        """The word with what letters, digits, underscores and hyphens join to it."""
        return tail(self.before, _TO_NAME) + self.word + _NAME.match(self.after)[0]  # type: ignore[index]


_TO_BREAK = regex(r"(?s:.*[\s\"'`<>|;,])?")
_TO_NAME, _NAME = regex(r"(?s:.*[^\w-])?"), regex(r"[\w-]*")
_REPLACED = regex(r"<[a-z]{2,9}[- ]\d{1,6}>\Z")
_FIRST = regex(r"(?:[^\s\"'`<>|;,]|<[a-z]{2,9}[- ]\d{1,6}>)*")
"""What is written without a space, with what was replaced in it."""


def tail(text: str, up_to: re.Pattern[str]) -> str:
    """The end of `text` behind the last place that `up_to` reaches. It takes what it can and goes back: a search would try each letter."""
    return text[up_to.match(text).end() :]  # type: ignore[union-attr]


def _begin(before: str) -> str:
    """The end of `before` that holds no space and no quote. What was replaced is a part of it, though it has brackets."""
    end = len(before)
    while True:
        cut = _TO_BREAK.match(before, 0, end).end()  # type: ignore[union-attr]
        replaced = _REPLACED.search(before, max(0, cut - 18), cut) if before[cut - 1 : cut] == ">" else None
        if replaced is None:
            return before[cut:]
        end = replaced.start()


def is_around(text: str, start: int, end: int) -> bool:
    """Whether the unknown word between `start` and `end` is where software names its own things."""
    before = text[max(0, start - _REACH) : start].rpartition("\n")[2]
    return _any_test(Around(before, text[start:end], text[end : end + _REACH].partition("\n")[0], _begin(before)))


@lru_cache(10_000)  # a log repeats its lines
def _any_test(here: Around) -> bool:
    return any(test(here) for test in _TESTS)


_CALL = regex(r"\((?!\d|uid)")
_SYMBOL = regex(r"::|(?:^|\W)_Z[A-Z0-9]|\+0x[0-9a-f]+|(?:^|\W)(?:Cijk|mha|gemm|void|igemm|ck)_")
_FRAME = regex(r"(?:-----(?:BEGIN|END) |, in |\bdef |\bclass |\bin function '?|symbol:? '?|undefined reference to [`'])\Z")
_TO_DOTTED = regex(r"(?s:.*[^\w.])?")


_MODULE = regex(
    r"(?:accelerate|asyncio|axolotl|datasets|deepspeed|diffusers|fastapi|huggingface_hub|jax|lightning|logging|matplotlib|mlflow|multiprocessing|numpy|pandas|peft|pip"
    r"|pytorch_lightning|ray|scipy|sklearn|tensorflow|torch|torchvision|transformers|triton|trl|urllib3|uvicorn|vllm|wandb)(?:\.[A-Za-z_]\w*){2,6}[:,.)]?"
)
"""A module of a package that everybody uses."""


def _is_code(here: Around) -> bool:
    """A function, a member of a C++ name, a symbol of an object file."""
    called = _CALL.match(here.after) and (here.before[-1:] in "._ \t(=," or not here.before)
    if called or here.after.startswith("::") or _SYMBOL.search(here.chunk):
        return True
    if "." in here.begin and _MODULE.fullmatch(here.chunk):
        return True
    end = len(here.before) - len(tail(here.before, _TO_DOTTED))
    return _FRAME.search(here.before, max(0, end - 30), end) is not None


_PACKAGE_BEFORE = regex(
    r"(?:\bimport |No module named ['\"]|(?:pip|uv|conda|mamba|apt|apt-get|dnf|pacman|zypper)3? (?:\S+ ){0,3}?(?:install|add|-S\w*) [^;|]*|Collecting "
    r"|Requirement already satisfied: |Building wheels? for |Installing collected packages: .*|Successfully installed .*|Downloading |Using cached |Found existing installation: |ModuleNotFoundError: .*)\S*$"
)
_PACKAGE_AFTER = regex(
    r"(?:[\w.-]|<[a-z]{2,9}[- ]\d{1,6}>)*(?:(?:==|>=|<=|~=|!=)\d|[ \t]*[@ \t(][ \t(]*(?!\d{2,3}(?:\.\d{1,3}){3}(?![\w.-]))v?\d+\.\d+[\w.+-]*\)?[ \t]*(?:$|[a-z]))"
)
_FROM = regex(r"from $|\bfrom [\w.]*$")
_IMPORTED = regex(r"[\w.]* import\b")
_NUMBERED = regex(r"[\w.-]* v?(?!\d{1,3}(?:\.\d{1,3}){3}(?![\w.-]))\d+\.\d+\.\d+(?![\d.]*-\d+-)")
"""A version of three numbers behind a name; `uname -a` has a host's name before the kernel's."""
_ALONE = regex(r"^[\s|*-]*[\w.-]*$")


def _is_package(here: Around) -> bool:
    """A package in a list with its version, or where one is installed or imported."""
    if "from " in here.before and _FROM.search(here.before):
        return _IMPORTED.match(here.after) is not None
    if _NUMBERED.match(here.after) and not here.before.endswith("Linux "):
        return True
    return bool(
        _PACKAGE_BEFORE.search(here.before)
        or (_PACKAGE_AFTER.match(here.after) and ("==" in here.chunk or _ALONE.match(here.before)))
    )


_LIBRARY = regex(r"(?:^|[\W])(?:lib[\w.+-]+|[\w.+-]+)\.(?:so|dll|ko|hsaco|sys|pyd|dylib|deb|rpm|whl)\b", re.I)
_ROOTS = regex(
    r"(?:/site-packages/|/dist-packages/|^[^/]*/(?:opt/(?:rocm|amdgpu|conda|intel|ompi|ucx)|usr|lib|lib64|sys|proc|dev|etc|boot|nix/store|bin|sbin)(?=[/-])"
    r"|/lib/python|\\site-packages\\|/_deps/|/third_party/|/csrc/|/aten/|/kernels/|\\Windows\\|\\Program Files)",
    re.I,
)


def _is_of_software(here: Around) -> bool:
    """A library, or a file below a folder of the system or of an environment."""
    return bool(_LIBRARY.search(here.chunk) or ("@" not in here.begin and _ROOTS.search(here.begin)))


_OWNER = regex(r"(?:^|[=:]|\.(?:co|com|io|org|ai)/(?:datasets/|spaces/)?)([\w.-]+)/[\w.-]*$")


def _is_public_repository(here: Around) -> bool:
    """A model, a data set, an image or a project of an owner whom everybody knows: `meta-llama/Llama-3.1-8B`."""
    owner = _OWNER.search(here.begin)
    return owner is not None and owner[1].casefold() in known().public_owners


_PAGE = regex(
    r"(?:^|[/.@(\[])(?:amd\.com|pytorch\.org|python\.org|readthedocs\.io|kernel\.org|ubuntu\.com|debian\.org|redhat\.com|fedoraproject\.org|archlinux\.org"
    r"|nvidia\.com|amd\.github\.io|docs\.[\w-]+\.[a-z]{2,6})/[\w./-]*$"
)


def _is_page(here: Around) -> bool:
    """A page of documentation or of a shop: its address is made of its title."""
    return _PAGE.search(here.begin) is not None


_SHOUTED = regex(r"[A-Z0-9_]+")


def _is_constant(here: Around) -> bool:
    """A variable of the environment, an error's or an option's name: `MIOPEN_FIND_QUUX=`, `HSA_STATUS_QUUX`."""
    name = here.name
    if "_" in name and _SHOUTED.fullmatch(name) and name.split("_")[0].casefold() in field_words():
        return True
    behind = here.after[_NAME.match(here.after).end() :]  # type: ignore[union-attr]
    return behind[:1] == "=" and behind[:2] != "==" and "://" not in here.chunk and "@" not in here.chunk


_KERNEL = regex(r"^(?:.{0,60}kernel: ?)?\[ *\d+\.\d{6}\]|^.{0,60} kernel:|^<\d>\[")


def _is_of_kernel(here: Around) -> bool:
    """A driver or a device in a line of the kernel, unless it is a number of one device."""
    named = here.word.isalpha() and not _OF_A_LOGIN.search(here.before)
    return (named or "Hardware Error" in here.line) and _KERNEL.match(here.line) is not None


_OF_A_LOGIN = regex(
    r"(?:acct|user|name|comm|host|hostname|nodename|by|for|process|thread|cgroup|task|label)[=: ]{1,2}[\"']?[\w.-]*$|\bip=[\w.:]*$|//[\w.-]*$"
)
"""Where a line of the kernel names a login, a program or a machine."""


_HEX = regex(r"[0-9a-fA-F]{5,}")
_HASH_BEFORE = regex(
    r"(?:commit|index|revision|rev|sha\d*|git|hash|head|build(?:id| ?id)?|branch|merge|checkout|digest|snapshots?|blobs?|tree|blob|compare|md5|crc|version|local|image|etag"
    r"|\+g|-g|@|\.git|fw|ucode|vbios|checksum|sum|addr(?:ess)?|at|rip|r\d\d|r[a-z]{2}|cr\d|code|\.\.|fault|ptr|handle|pc|flags?|mask|status|offset|value|size|0x|#)\W{0,6}(?:\w{0,12}[ /:=])?$",
    re.I,
)
_DIGEST_BEFORE = regex(
    r"(?:commit|revision|rev|sha\d*|git|hash|head|checkout|merge|branch|digest|snapshots?|blobs?|trees?|compare|md5|sum|etag|version|tag|[+-]g|@|\.\.)[\s:=/\"'(\[@-]{0,4}$",
    re.I,
)
_VERSION = regex(r"\d+\.\d+[\w.]*[+.~-]\w*$")


def _is_hash(here: Around) -> bool:
    """A commit, a digest, an address of memory, a register."""
    if not _HEX.fullmatch(here.word):
        return False
    if len(here.word) > 20:
        return _DIGEST_BEFORE.search(here.before) is not None
    return bool(
        _HASH_BEFORE.search(here.before) or _VERSION.search(here.before) or (len(here.word) <= 10 and here.before.endswith("("))
    )


_VERSION_BEFORE = regex(r"(?:^|[\s\"'(=/:v_-])\d+\.\d+\.\d+[\w.+~-]*[-+_.~]$")


def _is_version(here: Around) -> bool:
    """A part of a version: `6.8.0-45-generic`, `5.14.21-cray_shasta_c`."""
    return _VERSION_BEFORE.search(here.before) is not None and "@" not in here.chunk


_PRODUCT_BEFORE = regex(
    r"(?:\b|_)(?i:vbios(?:[ _]version)?|part[ _]number|(?:card|device|gpu|product|marketing|market|board|model|asic|cpu|vendor)[ _](?:series|model|name|sku|vendor|version|number)"
    r"|model name|codename|sku|distro|distribution|pretty_name|os|processor|chipset|architecture|controller|subsystem)[\"']?[ \t]*(?:[:=|]|\[\d{4}\]:)[^@\n]*$"
)
_DISK_BEFORE = regex(
    r"(?:KIOXIA|Micron|Seagate|WDC|WD|Solidigm|hynix|TOSHIBA|Toshiba|KINGSTON|Kingston|CRUCIAL|Crucial|HGST|Corsair|Sabrent|ADATA|Lexar|SanDisk) $"
)
_SYSTEM_BEFORE = regex(
    r"\b(?:Linux|Windows|Ubuntu|Debian|Fedora|NixOS|AMD|Radeon|Instinct|Ryzen|EPYC|Navi|Vega|ASUS|ASUSTeK|ASRock|Gigabyte|GIGABYTE|MSI|Supermicro|Dell|HP|HPE|Lenovo|Intel"
    r"|NVIDIA|Broadcom|Mellanox|Realtek|Samsung|Sapphire|PowerColor|XFX|Minisforum|Framework|ThinkPad|Jetson|GeForce|Quadro|Tesla)(?: \(?[A-Z0-9][\w.()/+-]*){0,4}[ -][(\[]?$"
)
_CODENAME_BEFORE = regex(r"\b[A-Z]\w* ?\d+(?:\.\d+)*,? \(?(?:[A-Z][a-z]+ )?$|\d+\.\d+ \((?:[A-Z][a-z]+ )?$")
"""The release of a system before its code name: `NixOS 25.05 (Warbler)`."""


def _is_product(here: Around) -> bool:
    """A part of the name of a product, of a system or of a firmware."""
    if _PRODUCT_BEFORE.search(here.before):
        return "/home" not in here.before
    return (
        here.word[0].isupper()
        and (_DISK_BEFORE.search(here.before) or _SYSTEM_BEFORE.search(here.before) or _CODENAME_BEFORE.search(here.before))
        is not None
    )


PART = regex(r"1\d\d-[A-Z0-9]{5,12}-\w{1,4}|[A-Z]{2,4}-[0-9A-Z]{3,5}")
"""Numbers of boards and of their firmware: `113-D1650600-X63`, `MS-7D78`."""


def _is_part_number(here: Around) -> bool:
    return PART.fullmatch(here.name) is not None


_MODEL_BEFORE = regex(
    r"(?:model|product|part|network|ethernet|controller|adapter|firmware|bios|version|vbios|chipset|board|sku|mobo|dmi|cpu|processor|gpu|fw)\b[\w #()/.-]{0,24}(?:[:=]|\s{2})\s{0,40}[\w -]{0,60}$",
    re.I,
)
_MODEL = regex(r"(?=\w*[A-Z])(?=\w*\d)[A-Z0-9]{4,20}")


def _is_model(here: Around) -> bool:
    """The number of a model, a board or a firmware, behind a word for it."""
    return _MODEL.fullmatch(here.word) is not None and _MODEL_BEFORE.search(here.before) is not None


_ENGLISH = frozenset((
    "the", "a", "an", "is", "are", "was", "my", "i", "it", "this", "that", "with", "when", "on", "in", "and", "not", "but", "to", "of", "for", "from", "at",
    "after", "does", "do", "have", "has", "how", "why", "what", "which", "same", "both", "if", "as", "by", "be", "can", "or", "we", "you",
))  # fmt: skip
_FUNCTION_WORDS = frozenset((
    "der", "die", "das", "den", "dem", "ein", "eine", "einen", "ist", "nicht", "mit", "ich", "und", "auf", "bei", "wenn", "mein",
    "meine", "aber", "auch", "nach", "wie", "von", "zu", "im", "wird", "hat", "habe", "kann", "noch", "nur", "für", "oder", "es",
    "sie", "wir", "le", "la", "les", "est", "pas", "avec", "je", "et", "sur", "quand", "mon", "ma", "des", "du", "un", "une", "que",
    "pour", "dans", "ne", "plus", "ça", "ai", "au", "en", "ce", "par", "el", "los", "las", "con", "mi", "cuando", "se", "lo", "del",
    "una", "por", "no", "al", "pero", "como", "sin", "ya", "me", "hay", "y", "il", "di", "che", "non", "per", "sono", "ho", "mio",
    "una", "con", "quando", "ma", "più", "gli", "della", "nel", "o", "os", "um", "uma", "não", "com", "meu", "quando", "do", "da",
    "em", "é", "para", "mas", "no", "na", "de", "het", "een", "niet", "met", "ik", "en", "op", "bij", "als", "mijn", "van", "voor",
    "dat", "is", "te", "maar", "nie", "jest", "się", "na", "z", "do", "w", "i", "że", "po", "ale", "mam", "jak", "przy", "od", "mi",
    "и", "в", "не", "на", "я", "с", "что", "как", "у", "при", "по", "это", "но", "за", "из", "мой", "och", "att", "det", "som", "en",
    "på", "är", "inte", "jag", "med", "för", "av", "men", "har", "ve", "bir", "bu", "için", "ile", "de", "da", "çok", "ama", "ne",
    "a", "se", "na", "v", "je", "s", "že", "ne", "mi", "po", "ale", "jsem", "ja", "on", "ei", "se", "että", "kun", "mutta",
))  # fmt: skip
"""Of German, French, Spanish, Italian, Portuguese and others."""
_WORD = regex(r"(?<![^\s(\"'\u00bf\u00a1])[^\W\d_]+(?:['\u2019-][^\W\d_]+)*(?=[\s.,:;!?)\"']|$)")
_NOUN_ENDS = (
    "ung", "ungen", "keit", "heit", "tion", "tionen", "fehler", "treiber", "karte", "karten", "speicher", "datei", "rechner", "einstellung", "problem", "system", "meldung",
)  # fmt: skip


def _is_foreign(here: Around) -> bool:
    """A word of a sentence in another language than English, of which the list of spoken words holds only some."""
    if not here.word.isalpha() or not _ends_as_a_word(here):
        return False
    return _is_sentence(here.line) and (
        here.word.islower() or here.word.casefold().endswith(_NOUN_ENDS) or _is_compound(here.word.casefold())
    )


def is_english(line: str) -> bool:
    """Whether a line is of words that English sentences are made with."""
    return sum(w.casefold() in _ENGLISH for w in _WORD.findall(line)) > 1


@lru_cache(100)
def _is_sentence(line: str) -> bool:
    said = [w.casefold() for w in _WORD.findall(line)]
    english = sum(w in _ENGLISH for w in said)
    foreign = sum(w in _FUNCTION_WORDS for w in said)
    return len(said) > 3 and foreign > 1 and foreign > english


def _ends_as_a_word(here: Around) -> bool:
    return here.before[-1:] in " \t(\"'\u201e\u00ab\u00bf\u00a1" and (here.after[:1] in " \t.,;:!?)\"'\u201c\u00bb")


def _is_compound(word: str) -> bool:
    held = spoken_words()
    return any(word[:n] in held and word[n:].removeprefix("s") in held for n in range(4, len(word) - 3))


_KEY = regex(r'[\w. -]*"\s{0,20}:')


def _is_key(here: Around) -> bool:
    """The name of a field in JSON."""
    return _KEY.match(here.after) is not None and here.before.rpartition('"')[0].rstrip()[-1:] in ("", ",", "{", "[")


_OPTION = regex(r"(?:^|[\s\"'`(\[|=])(?:--[\w-]*|-(?![upUPlh])\w*)$")


def _is_option(here: Around) -> bool:
    """An option of a program: `--quux`, `-nogpulib`."""
    return _OPTION.search(here.before) is not None


_EXTENSION = regex(
    r"\.(?:py|ya?ml|json|sh|cpp|cc?|h|hpp|hip|cu|txt|log|safetensors|gguf|sif|deb|rpm|whl|so|md|conf|service|cfg|toml|bin|pth?|zip|tar|gz|run|exe|bat|ps1|rules|go|ko|lock|ipynb)\b",
    re.I,
)


_HEADER = regex(r"[\w-]*\.(?:h|hpp|cuh|hip|inc)\b")


def _is_file(here: Around) -> bool:
    """A file that is named by words of the field."""
    if _HEADER.match(here.after) and here.before[-1:] in "_/":
        return True
    return "-" in here.word and _EXTENSION.match(here.after) is not None


_TESTS = (
    _is_package,
    _is_option,
    _is_file,
    _is_key,
    _is_code,
    _is_of_software,
    _is_page,
    _is_public_repository,
    _is_constant,
    _is_of_kernel,
    _is_hash,
    _is_version,
    _is_product,
    _is_part_number,
    _is_model,
    _is_foreign,
)
