"""Whether a run of letters and digits is made of known words: of the field, of a language, or a spelling of one of these."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.known import field_words, spoken_words, words
from rocm_doctor.redaction.products import SHAPE

RUN = regex(r"[^\W_]+")
INFLECTIONS = ("s", "ed", "ing", "er", "d")
"""Ends of English words whose stem is known. The vocabulary leaves such words out."""
_OTHER_SCRIPT = regex(r"[\u0e00-\u0e7f\u0590-\u06ff\u0900-\u097f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\uff00-\uffef]")
"""Scripts that write no spaces, or no capitals: a run of them is a sentence as often as a name."""
MOST = 100_000


def runs(text: str, *between: int) -> set[str]:
    """What is written in `text` of letters, or of letters and digits: no numbers, no addresses of memory, nothing of two letters.

    >>> sorted(runs("gfx90a 0x7f3a is_ok: HIP42 7x 12"))
    ['7x', 'HIP42', 'gfx90a']
    """
    found = set(RUN.findall(text, *between))
    return {run for run in found if not run.isdigit() and (len(run) > 2 or run[0].isdigit()) and not run.startswith("0x")}


def pieces(run: str) -> list[str]:
    """The parts of `HIPErrorNoBinary42`: HIP, Error, No, Binary, 42."""
    return [run] if run.islower() and run.isalpha() else _PIECES.findall(run)


_PIECES = regex(r"\d+|[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+")


def is_known(run: str, joined: bool = False) -> bool:
    """Whether a run of letters and digits is made of known words and short numbers. `joined`: it is part of an identifier."""
    return known_to(run) >= (FIELD if joined else SPOKEN)


SPOKEN, FIELD = 1, 2
LONGEST = 300
"""Letters and digits of a run that may be known: a longer one is encoded data."""
_MOST_PARTS = 16
"""Parts of a run that may be the name of a function or a class."""


@lru_cache(MOST)
def known_to(run: str) -> int:
    """Who knows all words of a run: the field, languages alone, or no one (0)."""
    if run.isdigit() or (not run.isascii() and _OTHER_SCRIPT.search(run)):
        return FIELD
    if len(run) > LONGEST:
        return 0
    whole = _word_of(run.casefold())
    if whole == FIELD or SHAPE.fullmatch(run):
        return FIELD
    parts = pieces(run)
    if len(parts) > _MOST_PARTS:
        return whole
    if len(parts) == 1:
        return FIELD if not whole and _is_joint(run.casefold()) else whole
    if not run.islower() and (_is_class(parts) or _is_function(parts)):
        return FIELD
    numbers = [p for p in parts if p.isdigit()]
    if len(numbers) > 2 or (numbers and len(parts) > 4) or any((n[0] == "0" and len(n) > 1) or len(n) > 4 for n in numbers):
        return whole
    return FIELD if all(p.isdigit() or len(p) == 1 or _word_of(p.casefold()) == FIELD for p in parts) else whole


_CLASSES = frozenset((
    "adapter", "attention", "backend", "backward", "block", "builder", "cache", "callback", "cell", "config", "context", "conv", "dataset", "decoder", "embedder", "embedding",
    "embeddings", "encoder", "engine", "error", "exception", "executor", "extractor", "factory", "filter", "forward", "function", "generation", "generator", "handler", "head",
    "helper", "impl", "info", "input", "kernel", "layer", "layers", "linear", "lm", "loader", "loss", "manager", "mapping", "method", "mixin", "mlp", "mode", "model", "module", "norm",
    "op", "optimizer", "options", "output", "parameter", "params", "parser", "pass", "pipeline", "plugin", "policy", "process", "processor", "projection", "provider", "proxy",
    "quantizer", "reader", "registry", "request", "runner", "sampler", "scheduler", "seq", "state", "stats", "strategy", "stream", "task", "tensor", "tokenizer", "trainer", "transform",
    "transformer", "type", "utils", "warning", "weight", "weights", "worker", "wrapper", "writer",
))  # fmt: skip
"""What the classes of a program are, by the last words of their names."""


def _is_class(parts: Sequence[str]) -> bool:
    """Whether the parts of a word are those of a class: `Triton`, `Int`, `8`, `Scaled`, `MM`, `Linear`, `Kernel`. Its words are known, in capitals."""
    named = [p for p in parts if len(p) > 1 and not p.isdigit()]
    if (
        sum(len(p) > 2 for p in named) < 2
        or not all(p[0].isupper() for p in named)
        or not _CLASSES & {p.casefold() for p in named[-2:]}
    ):
        return False
    held = [_word_of(p.casefold()) for p in named]
    return all(held) and (len(named) > 2 or FIELD in held)


def _is_function(parts: Sequence[str]) -> bool:
    """Whether the parts of a word are those of a function: `hip`, `Device`, `Malloc`, `Finegrained`. One of four may be unknown."""
    named = [p for p in parts if not p.isdigit()]
    if len(named) < 3 or not named[0].islower() or not all(p[0].isupper() for p in named[1:]):
        return False
    strange = sum(_word_of(p.casefold()) < FIELD for p in named)
    return 4 * strange <= len(named) and _word_of(named[0]) == FIELD


_STEMS = (
    "alloc", "amd", "args", "async", "attn", "bfloat", "blas", "ckpt", "backend", "conda", "config", "cuda", "devices", "diffusion", "docker", "dtype", "gemm", "gpu", "info", "init", "jupyter", "linux", "llama", "llm", "lora",
    "nvidia", "nvme", "onnx", "popen", "proc", "ptr", "pytorch", "quant", "rocm", "runtime", "tensor", "torch", "triton", "tunable", "vram", "watchdog", "webui",
)  # fmt: skip
"""Words of the field that are no part of a name. Words that are joined to one without a sign are those of a program: `pytorchrocm`."""


@lru_cache(MOST)
def _is_joint(word: str) -> bool:
    if not 7 < len(word) < _LONGEST or not word.isascii():
        return False
    return any(_is_rest(word.removeprefix(stem)) or _is_rest(word.removesuffix(stem)) for stem in _STEMS if stem in word)


def _is_rest(word: str) -> bool:
    """Whether what is left of a word is a common word of the field. `words` has those of reports; other lists have syllables of names."""
    return word in _SHORT or (len(word) > 2 and (word in words() or word in _STEMS))


_SHORT = frozenset(("ai", "dl", "in", "is", "ml", "my", "n", "no", "on", "re", "sd", "un"))


def _word_of(word: str) -> int:
    """Who knows this word, or its stem."""
    forms = [word]
    if word.endswith(INFLECTIONS):
        forms += [word[: -len(end)] for end in INFLECTIONS if word.endswith(end)]
    if len(word) == 2 or not field_words().isdisjoint(forms):
        return FIELD
    return 0 if spoken_words().isdisjoint(forms) else SPOKEN


_PREFIXES_OF_WORDS = regex(r"(?:un|re|mis|de|dis|non|pre|over|under|sub|auto|multi|inter|co|super|semi|anti)(?=[a-z]{5})")
_SUFFIXES_OF_WORDS = ("ly", "ness", "ment", "able", "al", "y", "es", "ers", "ings", "ity", "ful", "less", "ation", "ations")
_OF_NO_NAME = (
    "ation", "ations", "ment", "ments", "ness", "able", "ably", "ible", "ility", "ously", "ively", "ically", "ization", "isation", "izing", "ising", "ized", "ised", "ingly",
    "edly", "ology", "ularly", "ential", "entially", "ionally", "istic", "itive", "ative", "ecture", "ograph", "ographic", "ometer",
)  # fmt: skip
"""Ends of long words that no one is called by."""
_BRITISH = (("our", "or"), ("is", "iz"), ("ys", "yz"), ("ll", "l"), ("tre", "ter"), ("ae", "e"), ("ogue", "og"))


def is_variant(word: str) -> bool:
    """Whether a word is made of a known one: with a syllable before or behind it (`unticked`), or in British spelling (`honoured`).

    >>> is_variant("deselected"), is_variant("virtualised"), is_variant("wombex")
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


MOST_MISTAKES = 300
"""Unknown words of a text among which misspelt ones are looked for: more are no prose."""
_LEAST, _LONGEST = 7, 30
"""Letters of a word that may be a misspelt one: of shorter ones too many are names, and no longer one is a word of a language."""


_OF_A_DERIVED = ("ation", "ations", "ization", "isation", "ically", "ability", "ibility", "ology", "ively", "ously", "ingly")
_OF_A_PREFIX = ("un", "mis", "dis", "non", "pre", "auto", "multi", "anti", "semi", "sub")


def is_derived(word: str) -> bool:
    """Whether a word with a capital is a derivation that no name looks like: `Preauthentication`, `Disassembly`."""
    low = word.casefold()
    return (
        len(word) > 7
        and word.isalpha()
        and word[1:].islower()
        and (low.endswith(_OF_A_DERIVED) or (low.startswith(_OF_A_PREFIX) and is_variant(low)))
    )


def is_misspelt(word: str) -> bool:
    """Whether two letters changed places, or one is doubled, single or missing, in a word that people write in reports.

    >>> is_misspelt("unexpectdly"), is_misspelt("comparision"), is_misspelt("wombexley")
    (True, True, False)
    """
    if not _LEAST <= len(word) <= _LONGEST or not word.isascii() or not word.isalpha():
        return False
    places = range(1, len(word))
    swapped = (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in places[:-1])
    without = (word[:at] + word[at + 1 :] for at in places)
    with_one = (word[:at] + letter + word[at:] for at in places for letter in _LETTERS)
    return any(form in field_words() for form in chain(swapped, without, with_one))


_LETTERS = "etaoinsrlhdcumpgfbyvwkxjqz"
