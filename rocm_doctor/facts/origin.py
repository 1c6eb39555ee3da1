"""The user's file behind a reading: a paste is cut into artifacts with our names, but line numbers of the file."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Finding, Gpu, Reading, Report, Snapshot

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

    def __bool__(self) -> bool:
        return bool(self._of)


def name_files(report: Report, artifacts: Iterable[Artifact]) -> Report:
    """The report with the user's file names in its readings."""
    files = Files(artifacts)
    if not files:
        return report
    findings = tuple(_finding(one, files) for one in report.findings)
    return msgspec.structs.replace(report, findings=findings, snapshot=_snapshot(report.snapshot, files))


def _finding(one: Finding, files: Files) -> Finding:
    return msgspec.structs.replace(one, evidence=files.readings(one.evidence))


def _snapshot(one: Snapshot, files: Files) -> Snapshot:
    return msgspec.structs.replace(
        one,
        facts=_facts(one.facts, files),
        gpus=tuple(Gpu(_facts(gpu.facts, files)) for gpu in one.gpus),
        errors=files.readings(one.errors),
    )


def _facts(facts: dict[str, Fact], files: Files) -> dict[str, Fact]:
    return {
        name: msgspec.structs.replace(fact, readings=files.readings(fact.readings), disputed=files.readings(fact.disputed))
        for name, fact in facts.items()
    }


def _holds(artifact: Artifact, one: Reading) -> bool:
    """True if the artifact has the quoted words at that line."""
    found = _LINE.match(one.place)
    words = one.quote.strip()[:60]
    if not found:
        return words in artifact.text
    lines = artifact.text.split("\n")
    line = next(iter(lines[int(found[1]) - 1 : int(found[1])]), "")
    return words in line or words in " ".join(line.split())
