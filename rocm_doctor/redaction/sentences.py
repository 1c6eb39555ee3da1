"""Sentences: whether a line is one, of which language, and whether a word of it is of that language."""

from __future__ import annotations

from functools import lru_cache

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.redaction.around import Around
from rocm_doctor.redaction.known import spoken_words

_ENGLISH = frozenset((
    "the", "a", "an", "is", "are", "was", "my", "i", "it", "this", "that", "with", "when", "on", "in", "and", "not", "but", "to", "of", "for", "from", "at",
    "after", "does", "do", "have", "has", "how", "why", "what", "which", "same", "both", "if", "as", "by", "be", "can", "or", "we", "you",
))  # fmt: skip
FUNCTION_WORDS = frozenset((
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
    "soll", "sollte", "unser", "unsere", "dein", "euer", "minha", "nosso", "seu", "sua",
))  # fmt: skip
"""Of German, French, Spanish, Italian, Portuguese and others."""
_WORD = regex(r"(?<![^\s(\"'\u00bf\u00a1])[^\W\d_]+(?:['\u2019-][^\W\d_]+)*(?=[\s.,:;!?)\"']|$)")
_NOUN_ENDS = (
    "ung", "ungen", "keit", "heit", "tion", "tionen", "fehler", "treiber", "karte", "karten", "speicher", "datei", "rechner", "einstellung", "problem", "system", "meldung",
)  # fmt: skip


def is_foreign(here: Around) -> bool:
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
    foreign = sum(w in FUNCTION_WORDS for w in said)
    return len(said) > 3 and foreign > 1 and foreign > english


def _ends_as_a_word(here: Around) -> bool:
    return here.before[-1:] in " \t(\"'\u201e\u00ab\u00bf\u00a1" and (here.after[:1] in " \t.,;:!?)\"'\u201c\u00bb")


def _is_compound(word: str) -> bool:
    held = spoken_words()
    return any(word[:n] in held and word[n:].removeprefix("s") in held for n in range(4, len(word) - 3))
