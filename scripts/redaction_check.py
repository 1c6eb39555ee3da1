"""What redaction costs and what it spares, on a corpus: expected values lost, and reports whose verdict or findings change.

    python scripts/redaction_check.py CAPTURES [TEXTS ...]

CAPTURES holds NAME.expected.json beside what was captured. TEXTS are folders of reports: case.md files, or .jsonl with a `text` in
each line, as in fixtures/reports. Each input is judged as it is and after `redact_artifacts`, as a bundle would carry it. Ends with 1 for any loss.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rocm_doctor import pipeline
from rocm_doctor.cli.probe import plain_values
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.model import Artifact
from rocm_doctor.redaction.redactor import Redactor
from rocm_doctor.redaction.shared import redact_artifacts, redact_snapshot
from rocm_doctor.sources.bundle import read
from rocm_doctor.sources.paste import cut


def captured(expected: Path) -> list[Artifact]:
    """The artifacts of the capture that belongs to a NAME.expected.json."""
    stem = expected.name.removesuffix(".expected.json")
    archive = expected.with_name(stem + ".tar.gz")
    if not archive.exists():
        return read(next(p for p in (expected.with_name(stem + ".txt"), expected.with_name(stem)) if p.exists()))
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(archive) as opened:
        opened.extractall(scratch, filter="data")
        return read(Path(scratch))


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each report in a folder."""
    for path in sorted(folder.glob("*/case.md")):
        yield path.parent.name, path.read_text("utf-8", "replace")
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            yield f"{path.name}:{number}", json.loads(line)["text"]


def wanted(expected: dict[str, Any]) -> list[str]:
    """The expected values that are words or numbers, as they would be in JSON."""
    found: list[str] = []
    for value in expected.values():
        if isinstance(value, dict):
            found += wanted(value)
        elif isinstance(value, list):
            found += [word for item in value for word in (wanted(item) if isinstance(item, dict) else [json.dumps(item)])]
        elif value is not None:
            found.append(json.dumps(value))
    return found


def leaves(values: object) -> Iterator[str]:
    """Every single value, as it is in JSON."""
    if isinstance(values, dict | list | tuple):
        for value in values.values() if isinstance(values, dict) else values:
            yield from leaves(value)
    else:
        yield json.dumps(values)


def lost_values(expected: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The expected values that were read before redaction, and fewer times after it."""
    have, left = Counter(leaves(before)), Counter(leaves(after))
    return [word for word in dict.fromkeys(wanted(expected)) if left[word] < have[word]]


def judged(artifacts: Sequence[Artifact], matrix: Matrix) -> tuple[str, list[tuple[str, str, str, str]]]:
    """The verdict with the findings' ids, rows, severities and confidences."""
    report = pipeline.judge(artifacts, matrix)
    return report.verdict, [(f.id, f.row, f.severity, f.confidence) for f in report.findings]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", type=Path)
    parser.add_argument("texts", type=Path, nargs="*")
    args = parser.parse_args()
    matrix = load()
    values = lost = inputs = changed = 0

    for path in sorted(args.captures.rglob("*.expected.json")):
        expected = json.loads(path.read_text("utf-8"))
        artifacts = captured(path)
        clean = redact_artifacts(artifacts, Redactor())
        before = pipeline.read_facts(artifacts, matrix)
        for after in (pipeline.read_facts(clean, matrix), redact_snapshot(before, Redactor())):
            gone = lost_values(expected, plain_values(before), plain_values(after))
            values, lost = values + len(set(wanted(expected))), lost + len(gone)
            if gone:
                print(f"{path.parent.name}/{path.name}: lost {', '.join(gone)}")
        inputs, changed = inputs + 1, changed + (judged(artifacts, matrix) != judged(clean, matrix))
        if judged(artifacts, matrix) != judged(clean, matrix):
            print(f"{path.parent.name}/{path.name}: judged differently")
    for name, text in (pair for folder in args.texts for pair in texts(folder)):
        artifacts = cut(text, "report")
        inputs += 1
        if judged(artifacts, matrix) != judged(redact_artifacts(artifacts, Redactor()), matrix):
            changed += 1
            print(f"{name}: judged differently")
    print(f"expected values: {values} (in a bundle and in JSON), lost {lost}; inputs judged: {inputs}, changed {changed}")
    return 1 if lost or changed else 0


if __name__ == "__main__":
    sys.exit(main())
