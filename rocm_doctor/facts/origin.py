"""The user's file behind a reading: a paste is cut into artifacts with our names, but line numbers of the file."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Gpu, Reading, Report

_LINE = regex(r"line (\d+)")


class Files:
    """The files that pasted artifacts came from. Several files may have artifacts of one name."""

    def __init__(self, artifacts: Iterable[Artifact]) -> None:
        self._of: dict[str, list[Artifact]] = {}
        for artifact in artifacts:
            if artifact.name.startswith("paste/") and artifact.note and not artifact.missing:
                self._of.setdefault(artifact.name, []).append(artifact)

    def reading(self, one: Reading) -> Reading:
        """The same reading with the name of the file in place of the artifact's."""
        files = self._of.get(one.artifact, ())
        fits = files if len(files) == 1 else [a for a in files if _holds(a, one)]
        return msgspec.structs.replace(one, artifact=fits[0].note) if fits else one

    def readings(self, many: tuple[Reading, ...]) -> tuple[Reading, ...]:
        """Readings of the file, without repeats: one line may have been read in two artifacts."""
        return tuple(dict.fromkeys(map(self.reading, many)))

    def facts(self, facts: dict[str, Fact]) -> dict[str, Fact]:
        """The facts with the readings of the files."""
        return {
            name: Fact(fact.value, self.readings(fact.readings), self.readings(fact.disputed)) for name, fact in facts.items()
        }


def name_files(report: Report, artifacts: Iterable[Artifact]) -> Report:
    """The report with the user's file names in its readings."""
    files, seen = Files(artifacts), report.snapshot
    findings = tuple(msgspec.structs.replace(finding, evidence=files.readings(finding.evidence)) for finding in report.findings)
    gpus = tuple(Gpu(files.facts(gpu.facts)) for gpu in seen.gpus)
    named = msgspec.structs.replace(seen, facts=files.facts(seen.facts), gpus=gpus, errors=files.readings(seen.errors))
    return msgspec.structs.replace(report, findings=findings, snapshot=named)


def _holds(artifact: Artifact, one: Reading) -> bool:
    """True if the artifact has the quoted words at that line."""
    found = _LINE.match(one.place)
    words = one.quote.strip()[:60]
    if not found:
        return words in artifact.text
    lines = artifact.text.split("\n")
    line = next(iter(lines[int(found[1]) - 1 : int(found[1])]), "")
    return words in line or words in " ".join(line.split())
