"""The names that a text may hold (releases, targets, addresses): which of them exist, by the catalog and by what the person wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from rocm_doctor.binaries.processors import MACH
from rocm_doctor.binaries.targets import parse_target
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.cures.stated import stated_commands
from rocm_doctor.differential.model import load as load_weights
from rocm_doctor.matrix import Matrix
from rocm_doctor.matrix.types import Override
from rocm_doctor.plan.catalog import load_catalog
from rocm_doctor.rules.override import NAME as OVERRIDE

_URL = regex(r"\b(?:https?|git\+https?|ftp|file)://[^\s\"'<>`)\]]+|\bwww\.[^\s\"'<>`)\]]+", re.I)
_GFX = regex(r"\bgfx[0-9a-f]{3,5}\b", re.I)
_NUMBER = regex(r"\d+(?:\.\d+)+(?:\+[a-z0-9.]+)?", re.I)
_OVERRIDDEN = regex(rf"{OVERRIDE}\W{{1,4}}(?:to\W{{1,3}})?(\d+\.\d+\.\d+)")


class Names:
    """The names that are known for one machine. `text`: what the person wrote; what is named there needs no other proof."""

    def __init__(self, gfx: str, matrix: Matrix, text: str = "") -> None:
        self.gfx, self.matrix = gfx, matrix
        self.said = frozenset(_NUMBER.findall(text)) | frozenset(one.lower() for one in _GFX.findall(text))

    def unknown(self, text: str) -> list[str]:
        """Versions, targets and addresses in a text that neither the catalog nor the person names, as they are written."""
        versions, mention = self.matrix.once(releases), self.matrix.once(_mention)
        names = [
            m[0]
            for m in mention.finditer(text)
            if not self._exists(versions[m[1].casefold()], m[2].rstrip(".").removesuffix(".x"))
        ]
        names += [name for name in _GFX.findall(text) if not self._is_target(name.lower())]
        names += [m[0] for m in _OVERRIDDEN.finditer(text) if m[1] not in self.said and self.override(m[1]) is None]
        return [*names, *(name for name in addresses(text) if not self.serves(name))]

    def mark(self, text: str) -> str:
        """The text with a mark behind each version and target that is not known, and without addresses that are not."""
        for name in dict.fromkeys(self.unknown(text)):
            hidden = _URL.match(name) and not self.is_on_known_server(name)
            text = text.replace(name, "[an address that is not known]" if hidden else f"{name} [not known to exist]")
        return text

    def override(self, value: str) -> Override | None:
        """What the catalog says of a value of HSA_OVERRIDE_GFX_VERSION, for the GPU or, without a known one, for any."""
        targets = [self.matrix.gfx[self.gfx]] if self.gfx in self.matrix.gfx else self.matrix.gfx.values()
        return next((override for target in targets for override in target.overrides if override.value == value), None)

    def _exists(self, releases: frozenset[str], version: str) -> bool:
        return any(
            release == version or release.startswith((version + ".", version + "+")) for release in (*self.said, *releases)
        )

    def _is_target(self, name: str) -> bool:
        return name in self.said or name in self.matrix.gfx or (parse_target(name) is not None and name in MACH.values())

    def serves(self, address: str) -> bool:
        """True for an address that the catalog, a command or a program's instructions name."""
        return address.rstrip("/.,;") in self.matrix.once(known_addresses)

    def is_on_known_server(self, address: str) -> bool:
        """True for an address on the server of an index of the catalog: what is there is AMD's, PyTorch's or a package of PyPI's."""
        return urlsplit(address).scheme == "https" and urlsplit(address).netloc in {
            urlsplit(index.url).netloc for index in load_catalog(self.matrix).indexes.values()
        }


def addresses(text: str) -> list[str]:
    """The web addresses in a text, without the sentence's marks behind them."""
    return [url.rstrip(".,;") for url in _URL.findall(text)]


def known_addresses(matrix: Matrix) -> frozenset[str]:
    """The addresses that indexes, builds, commands and the changes of programs name, without a slash at their end."""
    catalog = load_catalog(matrix)
    urls = [index.url for index in catalog.indexes.values()]
    urls += [at.url for entry in matrix.torch if (at := catalog.build_index(entry))]
    texts = [*stated_commands(matrix), *(words_ for entry in matrix.applications for words_ in entry.how.values())]
    return frozenset(entry.rstrip("/") for entry in [*urls, *(url for text in texts for url in addresses(text))])


def releases(matrix: Matrix) -> dict[str, frozenset[str]]:
    """The releases of what the catalog lists, and those that rows and solved reports name, by name in small letters."""
    of_torch = frozenset(version for one in matrix.torch for version in (one.torch, one.local) if version)
    found = {"rocm": frozenset(one.version for one in matrix.rocm), "torch": of_torch, "pytorch": of_torch}
    found |= {name: frozenset(str(getattr(one, name)) for one in matrix.torch) for name in ("torchvision", "torchaudio")}
    packages = load_catalog(matrix).packages.values()
    found |= {package.name: frozenset(r.version for r in package.releases) for package in packages if package.releases}
    weights = load_weights()
    texts = [f"{row.title} {row.cause} {row.advice}" for row in matrix.rows]
    texts += [f"{case.cause} {case.fix}" for case in (weights.weights.cases if weights else ())]
    for m in _mention_pattern(found).finditer("\n".join(texts)):
        found[m[1].casefold()] |= {m[2].rstrip(".")}
    return found


def _mention(matrix: Matrix) -> re.Pattern[str]:
    """A name of `releases` with a version behind it."""
    return _mention_pattern(matrix.once(releases))


def _mention_pattern(packages: Iterable[str]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, sorted(packages, key=len, reverse=True)))
    return re.compile(rf"(?<![\w/-])({names})(?:\s+(?:version\s+)?v?|\s*[=~<>]=\s*|-)(\d+\.\d[\w.+]*)", re.I)
