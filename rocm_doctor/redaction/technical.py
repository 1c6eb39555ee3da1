"""Where a word that no list holds names a thing of software and not a person: code, libraries, packages, kernel lines, hashes."""

from __future__ import annotations

import re
from functools import lru_cache

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction import products
from rocm_doctor.redaction.around import Around, around, tail
from rocm_doctor.redaction.known import field_words, known
from rocm_doctor.redaction.sentences import is_foreign
from rocm_doctor.redaction.vocabulary import is_known


def is_around(text: str, start: int, end: int) -> bool:
    """Whether the unknown word between `start` and `end` is where software names its own things."""
    return _any_test(around(text, start, end))


@lru_cache(10_000)  # a log repeats its lines
def _any_test(here: Around) -> bool:
    return any(test(here) for test in _TESTS)


_CALL = regex(r"\((?!\d|uid)")
_INSTRUCTION = regex(
    r"(?:[vs]|ds|buffer|flat|global|image|scratch|tbuffer)_[a-z0-9_]*(?:(?:[biuf]\d{1,3}|x\d|dwordx?\d?|cnt|co)(?:_e\d\d|_co|_sdwa|_dpp)*)"
)
"""Of a GPU: `v_lshlrev_b32_e32`."""
_SYMBOL = regex(r"::|(?:^|\W)_Z[A-Z0-9]|\+0x[0-9a-f]+|(?:^|\W)(?:Cijk|TensileLibrary|Kernels\.so|mha|gemm|void|igemm|ck)_")
_FRAME = regex(r"(?:-----(?:BEGIN|END) |, in |\bdef |\bclass |\bin function '?|symbol:? '?|undefined reference to [`'])\Z")
_TO_DOTTED = regex(r"(?s:.*[^\w.])?")


_MODULE = regex(
    r"(?:accelerate|asyncio|axolotl|datasets|deepspeed|diffusers|fastapi|huggingface_hub|jax|lightning|logging|matplotlib|mlflow|multiprocessing|numpy|pandas|peft|pip"
    r"|pytorch_lightning|ray|scipy|sklearn|tensorflow|torch|torchvision|transformers|triton|trl|urllib3|uvicorn|vllm|wandb)(?:\.[A-Za-z_]\w*){2,6}[:,.)]?"
)
"""A module of a package that everybody uses."""


_DOTTED = regex(r"([a-z]\w*)(?:\.[A-Za-z_]\w*){2,6}[:,.)\]]?")


def _is_module(chunk: str) -> bool:
    """A module below a package of the field: one of its names is of words that an underscore joins, as no host's is."""
    path = _DOTTED.fullmatch(chunk)
    return path is not None and "_" in chunk.strip("_") and path[1] in field_words()


def _is_code(here: Around) -> bool:
    """A function, a member of a C++ name, a symbol of an object file."""
    called = _CALL.match(here.after) and (here.before[-1:] in "._ \t(=," or not here.before)
    if called or here.after.startswith("::") or _SYMBOL.search(here.chunk):
        return True
    if "." in here.begin and (_MODULE.fullmatch(here.chunk) or _is_module(here.chunk)):
        return True
    if "_" in here.name and _INSTRUCTION.fullmatch(here.name):
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
_WITH_VERSION = regex(r"[\w.-]* [Vv]ersion:? v?\d+\.\d")
_ALONE = regex(r"^[\s|*-]*[\w.-]*$")


def _is_package(here: Around) -> bool:
    """A package in a list with its version, or where one is installed or imported."""
    if "from " in here.before and _FROM.search(here.before):
        return _IMPORTED.match(here.after) is not None
    if "ersion" in here.after and _ALONE.match(here.before) and _WITH_VERSION.match(here.after):
        return True
    if _NUMBERED.match(here.after) and not here.before.endswith("Linux "):
        return True
    return bool(
        _PACKAGE_BEFORE.search(here.before)
        or (_PACKAGE_AFTER.match(here.after) and ("==" in here.chunk or _ALONE.match(here.before)))
    )


_LIBRARY = regex(r"(?:^|[\W])(?:lib[\w.+-]+|[\w.+-]+)\.(?:so|dll|ko|hsaco|sys|pyd|dylib|deb|rpm|whl)\b", re.I)
_ROOTS = regex(
    r"(?:/site-packages/|/dist-packages/|^[^/]*/(?:opt/(?:rocm|amdgpu|conda|intel|ompi|ucx)|usr|var/lib/(?:flatpak|snapd|dkms|apt)|lib|lib64|sys|proc|dev|etc|boot|nix/store|bin|sbin)(?=[/-])"
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
    if "_" in name and _SHOUTED.fullmatch(name):
        first, *others = name.casefold().split("_")
        if first in field_words() or (len(others) > 2 and all(is_known(word, joined=True) for word in others)):
            return True
    if name.isupper() and (here.before.endswith(("$", "${")) or _NUMBER_IS.match(here.behind)):
        return True
    return here.behind[:1] == "=" and here.behind[:2] != "==" and "://" not in here.chunk and "@" not in here.chunk


_NUMBER_IS = regex(r" = \d")


_KERNEL = regex(r"^(?:.{0,60}kernel: ?)?\[ *\d+\.\d{6}\]|^.{0,60} kernel:|^<\d>\[")


def _is_of_kernel(here: Around) -> bool:
    """A driver or a device in a line of the kernel, unless it is a number of one device."""
    if _is_loaded_module(here.line):
        return True
    named = here.word.isalpha() and not _OF_A_LOGIN.search(here.before)
    return (named or "Hardware Error" in here.line) and _KERNEL.match(here.line) is not None


_LOADED = regex(r"^\w+ +(\d{4,9}) +-?\d{1,3}(?: (?:[\w,]|\[permanent\])*)?\s*$")
_PAGE_SIZE = 4096


def _is_loaded_module(line: str) -> bool:
    """A row of `lsmod`: the size of a module is a number of whole pages."""
    row = _LOADED.match(line)
    return row is not None and int(row[1]) % _PAGE_SIZE == 0


_OF_A_LOGIN = regex(
    r"(?:acct|user|name|comm|host|hostname|nodename|by|for|process|thread|cgroup|task|label)[=: ]{1,2}[\"']?[\w.-]*$|\bip=[\w.:]*$|//[\w.-]*$"
)
"""Where a line of the kernel names a login, a program or a machine."""


_LOCALE = regex(r"(?:locale|LANG|LANGUAGE|LC_[A-Z]+)\W{1,4}(?:\w+_)?$")


def _is_locale(here: Around) -> bool:
    """The language or the country of a locale: `Italian_Italy`."""
    return ("locale" in here.before or "L" in here.before) and _LOCALE.search(here.before) is not None


_KEY = regex(r'[\w. -]*"\s{0,20}:')


def _is_key(here: Around) -> bool:
    """The name of a field in JSON."""
    return _KEY.match(here.after) is not None and here.before.rpartition('"')[0].rstrip()[-1:] in ("", ",", "{", "[")


_CMDLET = regex(
    r"(?:Add|Clear|Disable|Enable|Export|Format|Get|Import|Install|Invoke|New|Out|Remove|Restart|Resolve|Select|Set|Start|Stop|Test|Uninstall|Update|Where|Write)-[A-Z][A-Za-z]+"
)
_JULIA = regex(r"(?:/\.|```)$")


def _is_command(here: Around) -> bool:
    """A command of PowerShell; the language that is called as a person is."""
    if here.word.casefold() == "julia":
        return here.after.startswith((">", " --", " -e")) or _JULIA.search(here.before) is not None
    return "-" in here.name and _CMDLET.fullmatch(here.name) is not None


_OPTION = regex(r"(?:^|[\s\"'`(\[|=])(?:--[\w-]*|-(?![upUPlh])\w*|-[Wfm][\w=-]*)$")


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
    _is_command,
    _is_file,
    _is_key,
    _is_locale,
    _is_code,
    _is_of_software,
    _is_page,
    _is_public_repository,
    _is_constant,
    _is_of_kernel,
    products.is_hash,
    products.is_version,
    products.is_product,
    products.is_part_number,
    products.is_model,
    is_foreign,
)
