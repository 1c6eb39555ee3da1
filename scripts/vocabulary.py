"""Builds field.txt, spoken.txt, compounds.txt and software.txt in rocm_doctor/redaction: the words that identify no one, wherever they are.

    python scripts/vocabulary.py --english american-english-small --proper american-english-insane --tools CAPTURES --code SITE_PACKAGES ... \
        --catalogs LOCALES
    python scripts/vocabulary.py --proper american-english-insane --kernel MODULES --models PACKAGES

The project's own texts and reports come first, without what the redactor's rules find. `--english` and `--proper` are word lists of SCOWL
(Debian's packages wamerican-small and wamerican-insane), `--tools` captures of what AMD's and the system's tools print, `--code` folders of
installed Python packages, whose identifiers are counted, `--catalogs` a folder of message catalogs (`/usr/share/locale`). A word counts once
for each text that holds it. Words that SCOWL knows only with a capital are names of people and places: they need more texts.

`--kernel` is a list of the names of a distribution's kernel modules, `--models` a folder with packages of models (transformers and
diffusers), of which the names of classes and functions count. These two make software.txt, without whatever may be a name.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import corpus

from rocm_doctor.redaction.find import by_structure
from rocm_doctor.redaction.known import field_words, known, spoken_words, words
from rocm_doctor.redaction.rules import disjoint
from rocm_doctor.redaction.sentences import FUNCTION_WORDS
from rocm_doctor.redaction.vocabulary import INFLECTIONS, pieces, runs

ROOT = Path(__file__).resolve().parents[1]
FIELD, SPOKEN, COMPOUNDS, SOFTWARE = (
    ROOT / "rocm_doctor" / "redaction" / f"{name}.txt" for name in ("field", "spoken", "compounds", "software")
)
_LANGUAGES = ("de", "fr", "es", "it", "pt", "pt_BR", "nl", "pl", "ru", "tr", "cs", "sv", "da", "fi", "nb", "hu", "ro", "uk")
_CALENDAR = {
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december", "jan",
    "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "monday", "tuesday", "wednesday", "thursday",
    "friday", "saturday", "sunday", "mon", "tue", "wed", "thu", "fri", "sat", "sun",
}  # fmt: skip
_PLACES = {
    "africa", "america", "american", "asia", "asian", "australia", "austria", "austrian", "belgian", "belgium", "brazil", "brazilian",
    "britain", "british", "canada", "canadian", "chile", "china", "chinese", "czech", "danish", "denmark", "dutch", "egypt",
    "england", "english", "europe", "european", "finland", "finnish", "france", "french", "german", "germany", "greece", "greek",
    "hungarian", "hungary", "iceland", "india", "indian", "indonesia", "iran", "ireland", "irish", "israel", "italian", "italy",
    "japan", "japanese", "kenya", "korea", "korean", "mexico", "netherlands", "nigeria", "norway", "norwegian", "peru", "poland",
    "polish", "portugal", "portuguese", "romania", "romanian", "russia", "russian", "scotland", "scottish", "singapore", "slovak",
    "spain", "spanish", "sweden", "swedish", "swiss", "switzerland", "taiwan", "thailand", "turkey", "turkish", "ukraine",
    "ukrainian", "vietnam", "vietnamese", "euro", "utc", "gmt",
}  # fmt: skip
"""Countries and languages: as public as a time zone."""
_MAKES = {
    "aes", "aesgcm", "alienware", "aorus", "arc", "artful", "bcm", "beaver", "bionic", "blackwell", "bluefield", "bookworm", "breezy",
    "bullseye", "buster", "chacha20", "connectx", "cosmic", "cuttlefish", "dapper", "dingo", "disco", "ecdhe", "ecdsa", "ed25519",
    "edgy", "elitebook", "emerald", "eoan", "ermine", "feisty", "focal", "forky", "fossa", "gaudi", "gcm", "geforce", "groovy",
    "gutsy", "hamm", "hardy", "hippo", "hirsute", "hoary", "ideapad", "impish", "indri", "intrepid", "jammy", "jaunty", "jellyfish",
    "jetson", "karmic", "kinetic", "kodkod", "kudu", "latitude", "legion", "lobster", "lucid", "lunar", "mantic", "maverick",
    "minotaur", "mlnx", "natty", "numbat", "obsidian", "ocelot", "ofed", "omen", "oneiric", "onyx", "optiplex", "oracular", "orin",
    "oriole", "plucky", "poly1305", "poweredge", "precision", "proart", "probook", "proliant", "pss", "puffin", "puma", "quadro",
    "quantal", "questing", "quokka", "raccoon", "raring", "resolute", "rog", "rsassa", "sarge", "saucy", "secp256r1", "sha384",
    "slink", "squeeze", "stoat", "stretch", "strix", "tapir", "teal", "thinkpad", "thinkstation", "titan", "trixie", "tuf",
    "turquoise", "uakari", "utopic", "vicuna", "vivid", "warbler", "warty", "wheezy", "wily", "x25519", "x448", "xavier", "xenial",
    "yakkety", "zbook", "zenbook", "zesty",
}  # fmt: skip
"""Makers and their series, ciphers, code names of distributions."""
_ANIMALS = {
    "beaver", "cuttlefish", "dingo", "ermine", "fossa", "hippo", "indri", "jellyfish", "kodkod", "kudu", "lobster", "minotaur", "numbat", "ocelot", "oriole", "puffin", "puma", "quokka", "raccoon", "stoat", "tapir", "uakari", "warbler",
}  # fmt: skip
"""Of code names of distributions: machines are called by them, too."""
_PERSONS = {"anna", "carlo", "eda", "gil", "gita", "otto", "pam", "pavel", "roberto", "sam", "sid", "tom", "ulrik"}
"""First names that many texts hold."""
_OWN, _CODE, _CATALOG, _PROPER = 2, 12, 5, 3
"""Texts that must hold a word: of this project, of installed code, of a language's catalogs; of this project for a proper name."""


def _held(texts: Iterable[str]) -> Counter[str]:
    """How many of the texts hold each run of letters and digits, and each of its pieces."""
    count: Counter[str] = Counter()
    for text in texts:
        count.update({p.casefold() for run in runs(text) for p in (run, *pieces(run)) if 2 <= len(p) <= 40})
    return count


def _bare(text: str) -> str:
    """The text without what the rules of redaction find."""
    kept, done = [], 0
    for start, end in disjoint([(f.start, f.end) for search in by_structure(text) for f in search]):
        kept.append(text[done:start])
        done = end
    return " ".join([*kept, text[done:]])


def _own() -> Iterator[str]:
    """The project's reports, without what the rules of redaction replace."""
    for folder in (ROOT / "compat_matrix" / "reports" / "real", ROOT / "compat_matrix" / "reports" / "written"):
        for path in sorted(folder.glob("*.yaml")):
            for entry in corpus.read(path):
                if not entry.testing:
                    yield _bare(entry.text)
    for path in sorted((ROOT / "fixtures").rglob("*")):
        if path.is_file() and path.stat().st_size < 2_000_000:
            yield _bare(path.read_text("utf-8", "replace"))


def _texts(*patterns: str) -> Iterator[str]:
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if "redaction" not in path.parts:
                yield re.sub(r"https?://\S+", " ", path.read_text("utf-8"))


def _known_to_us() -> Iterator[str]:
    """What the project reads for, and what it says. A word of these that was replaced could change a verdict, or an advice."""
    return _texts("compat_matrix/rows/**/*.yaml", "compat_matrix/catalog/*.yaml", "compat_matrix/*.yaml")


def _our_code() -> Iterator[str]:
    return _texts("rocm_doctor/**/*.py")


def _pages() -> Iterator[str]:
    for path in sorted(ROOT.glob("docs/*.md")):
        if path.name != "privacy.md":
            yield re.sub(r"https?://\S+", " ", path.read_text("utf-8"))


def _commands() -> set[str]:
    """The programs of a system that has Slurm and developers' tools."""
    names = (path.name for folder in ("/usr/bin", "/usr/sbin") for path in Path(folder).iterdir())
    return {p.casefold() for name in names for run in runs(name) for p in (run, *pieces(run)) if p.isalpha() and len(p) > 2}


def _printed(folder: Path) -> Iterator[str]:
    """What tools printed, on many machines."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix not in (".gz", ".md")):
        yield _bare(path.read_text("utf-8", "replace"))


def _code(folders: Iterable[Path]) -> Iterator[str]:
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            yield re.sub(r"^# .*$|https?://\S+", " ", path.read_text("utf-8", "replace"), flags=re.M)


def _catalogs(folder: Path, language: str) -> Counter[str]:
    return _held(map(_catalog, sorted((folder / language).rglob("*.mo"))))


def _catalog(path: Path) -> str:
    """The messages of a compiled catalog, without its header, which names its translators."""
    text = subprocess.run(["msgunfmt", "--no-wrap", str(path)], capture_output=True, check=False).stdout.decode(
        "utf-8", "replace"
    )
    messages = re.findall(r'^msgstr(?:\[\d\])? "(.*)"$', text, re.M)
    return re.sub(r"\\[nt]", " ", " ".join(messages[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--proper", type=Path, required=True)
    parser.add_argument("--english", type=Path)
    parser.add_argument("--code", type=Path, nargs="*", default=[])
    parser.add_argument("--tools", type=Path)
    parser.add_argument("--catalogs", type=Path)
    parser.add_argument("--kernel", type=Path)
    parser.add_argument("--models", type=Path)
    args = parser.parse_args()
    if args.english and args.tools and args.catalogs:
        _languages_and_field(args)
    if args.kernel and args.models:
        _write(SOFTWARE, _of_software(args.kernel.read_text("utf-8").split(), args.models) - _proper(args.proper))


def _proper(path: Path) -> set[str]:
    """Words with a capital: names of people and places."""
    return {w.casefold().removesuffix("'s") for w in path.read_text("utf-8").split() if w[0].isupper() and w[1:].islower()}


_DEFINED = re.compile(r"^\s*(?:class|def)\s+(\w+)", re.M)
_MODELS = 3
"""Files of packages of models that must define a word."""


def _of_software(modules: Iterable[str], models: Path) -> set[str]:
    """What kernel modules and classes of models are called, without words that a person or a machine could be called by."""
    defined = _held(
        " ".join([path.stem, *_DEFINED.findall(path.read_text("utf-8", "replace"))]) for path in sorted(models.rglob("*.py"))
    )
    made = {w for w, n in defined.items() if n >= _MODELS} | set(_held(modules))
    names = known().given_names | known().given_words | spoken_words() | field_words()
    return {w for w in made - names if w.isascii() and len(w) > 3}


def _write(path: Path, made: Iterable[str]) -> None:
    shown = sorted(_without_inflections({w for w in made if not w.isdigit() and not _random(w)}))
    path.write_text("\n".join(textwrap.wrap(" ".join(shown), 130, break_on_hyphens=False)) + "\n", "utf-8")
    print(json.dumps({"file": path.name, "words": len(shown), "bytes": path.stat().st_size}))


def _languages_and_field(args: argparse.Namespace) -> None:
    english = {w for w in args.english.read_text("utf-8").split() if w.isalpha() and w.islower()}
    proper = _proper(args.proper) - english - _CALENDAR
    own, known_to_us, code = _held(chain(_own(), _pages())), _held(_known_to_us()), _held(_code(args.code))
    our_code = _held(_our_code())
    printed = {w for w, n in _held(_printed(args.tools)).items() if n >= _OWN and not any(map(str.isdigit, w[-2:]))}

    field = (
        words()
        | _MAKES
        | _commands()
        | printed
        | {w for w in known_to_us if w.isalpha()}
        | {w for w in our_code if w.isalpha() and w not in proper}
    )
    field |= {w for w, n in (own + known_to_us).items() if n >= (_PROPER if w in proper else _OWN)}
    field |= {w for w, n in code.items() if n >= (_CODE * 10 if w in proper else _CODE) and w.isalpha()}
    field |= {
        p.casefold() for w in (*known().public_hosts, *known().public_owners, *known().accounts, *known().groups) for p in runs(w)
    }
    spoken = english | _CALENDAR | _PLACES | _MAKES | FUNCTION_WORDS
    for language in _LANGUAGES:
        held = _catalogs(args.catalogs, language)
        spoken |= {w for w, n in held.items() if n >= _CATALOG and w.isalpha() and len(w) > 2 and w not in proper}
    compounds = {
        c for c, n in _held_compounds(_own(), _pages(), _known_to_us(), _our_code(), _printed(args.tools)).items() if n >= 1
    }
    for path, made in (
        (FIELD, field - _PERSONS - _ANIMALS),
        (SPOKEN, spoken - (field - _ANIMALS) - _PERSONS),
        (COMPOUNDS, compounds),
    ):
        _write(path, made)


def _without_inflections(made: set[str]) -> set[str]:
    kept: set[str] = set()
    for word in sorted(made, key=len):
        if not any(word.endswith(end) and word[: -len(end)] in kept for end in INFLECTIONS):
            kept.add(word)
    return kept


_COMPOUND = re.compile(r"(?<![\w.-])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)+(?![\w-])")


def _held_compounds(*texts: Iterable[str]) -> Counter[str]:
    """How many of the texts hold each compound, of words that are in a hyphen's two sides."""
    count: Counter[str] = Counter()
    for text in chain(*texts):
        count.update({c.casefold() for c in _COMPOUND.findall(text) if len(c) <= 40})
    return count


def _random(word: str) -> bool:
    """A piece of an id or of a hash: digits and letters by turns."""
    return len(re.findall(r"\d+", word)) > 2 or (
        re.fullmatch(r"[0-9a-f]+", word) is not None and any(map(str.isdigit, word)) and len(word) > 5
    )


if __name__ == "__main__":
    main()
