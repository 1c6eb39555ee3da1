"""Labelled reports: what people write when a root cause is at work. Load, check, add one.

    python scripts/corpus.py check
    python scripts/corpus.py add REPORT.md --label access.permission --thread https://github.com/... --confirmed-by reporter \
        --cause "One sentence." --fix "One sentence."

fixtures/reports holds reports of one form (`Entry`), one a line: real.jsonl those with a confirmed cause, unconfirmed.jsonl threads whose
cause a reader judged, written.jsonl what was written for a mechanism. A third of the confirmed reports, chosen by a hash of the thread's
address, is for testing only: whoever writes rows, cures or reports does not read it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "fixtures" / "reports"
KINDS = ("real", "unconfirmed", "written")
LONGEST = 60_000
"""Characters of one report: longer ones are cut to what tells."""
SCORED = frozenset(("2026-11-22", "2026-11-22-2", "2026-11-22-3", "2026-11-22-4", "2026-11-23", "2026-11-23-2", "2026-11-23-3"))
"""Samples that were scored, each once (docs/differential.md has the figures): since then they train, but for their third by hash."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One labelled report. `label` is the diagnosis that a right answer names (or `none`), `acceptable` what a fair judge also takes.

    Real ones have the thread's address, who confirmed the cause, and whether an expert can tell it from the text alone
    (`determinable`). Those that only a reader judged train, and nothing is measured on them. Written ones have the mechanism that they
    were written for; no accuracy is measured on them either.
    """

    id: str
    label: str
    text: str
    acceptable: tuple[str, ...] = ()
    mechanism: str = ""
    thread: str = ""
    year: int = 0
    gfx: tuple[str, ...] = ()
    confirmed_by: Literal["", "maintainer", "reporter", "linked-commit", "reader"] = ""
    """Who says that `cause` is the cause. A `reader` judged it from the thread; nobody confirmed it there."""
    determinable: Literal["", "yes", "partly", "no"] = ""
    cause: str = ""
    fix: str = ""
    rows_saw_it: bool = False
    sample: str = ""
    """The sample of threads that this one was drawn in, all of them for testing only until they are scored; empty for the others."""

    @property
    def real(self) -> bool:
        return bool(self.thread)

    @property
    def confirmed(self) -> bool:
        return self.real and self.confirmed_by != "reader"

    @property
    def testing(self) -> bool:
        """True if this report is for testing only. Reports that the rows were written with never are."""
        if self.sample and self.sample not in SCORED:
            return True
        return self.confirmed and not self.rows_saw_it and int(hashlib.sha256(self.thread.encode()).hexdigest(), 16) % 3 == 0


@cache
def load(folder: Path = REPORTS) -> tuple[Entry, ...]:
    """Every report, real ones first, each kind in its order. Raises ValueError naming file and line of one that is malformed."""
    return tuple(entry for kind in KINDS for entry in read(folder / f"{kind}.jsonl"))


def read(path: Path) -> Iterator[Entry]:
    for number, line in enumerate(path.read_bytes().splitlines() if path.is_file() else (), 1):
        try:
            yield msgspec.json.decode(line, type=Entry)
        except msgspec.DecodeError as exc:
            raise ValueError(f"{path}:{number}: {exc}") from None


def faults(entries: Sequence[Entry], labels: set[str]) -> Iterator[str]:
    """What is wrong with the corpus, a line each."""
    seen: Counter[str] = Counter(e.id for e in entries)
    threads = Counter(e.thread for e in entries if e.thread)
    yield from (f"{name}: {count} reports have this id" for name, count in seen.items() if count > 1)
    yield from (f"{thread}: {count} reports retell this thread" for thread, count in threads.items() if count > 1)
    for entry in entries:
        for label in (entry.label, *entry.acceptable):
            if label not in labels:
                yield f"{entry.id}: `{label}` is not a diagnosis; known are those of compat_matrix/diagnoses.yaml, and none"
        if entry.real and not (entry.confirmed_by and entry.cause and entry.determinable):
            yield f"{entry.id}: a real report needs confirmed_by, cause and determinable"
        if not entry.text.strip() or len(entry.text) > LONGEST:
            yield f"{entry.id}: the text has {len(entry.text)} characters; 1 to {LONGEST} are allowed"


def labels() -> set[str]:
    return {d["id"] for d in yaml.safe_load((ROOT / "compat_matrix" / "diagnoses.yaml").read_text(encoding="utf-8"))} | {"none"}


def add(args: argparse.Namespace) -> int:
    fields: dict[str, Any] = {k: v for k, v in vars(args).items() if k in Entry.__struct_fields__ and v}
    name = args.id or "-".join(args.thread.rstrip("/").split("/")[-3::2]).lower()
    entry = msgspec.convert({**fields, "id": name, "text": args.report.read_text(encoding="utf-8")}, Entry, strict=False)
    wrong = list(faults([*load(), entry], labels()))
    if wrong:
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    with (REPORTS / "real.jsonl").open("ab") as stream:
        stream.write(msgspec.json.encode(entry) + b"\n")
    print(f"{name}: {'for testing only' if entry.testing else 'for training'}")
    return 0


def check() -> int:
    entries = load()
    wrong = list(faults(entries, labels()))
    print(*wrong, sep="\n", file=sys.stderr) if wrong else None
    real, read_only = sum(e.confirmed for e in entries), sum(e.real and not e.confirmed for e in entries)
    print(
        f"{len(entries)} reports: {real} real ({sum(e.testing for e in entries)} for testing only), {read_only} real whose cause a "
        f"reader judged, {len(entries) - real - read_only} written"
    )
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="check every report")
    new = commands.add_parser("add", help="add one confirmed report")
    new.add_argument("report", type=Path, help="the text that the person pasted before knowing the answer")
    new.add_argument("--id", help="name of the report (default: repository and number of the thread)")
    for option in ("label", "thread", "cause", "fix"):
        new.add_argument(f"--{option}", required=True)
    new.add_argument("--confirmed-by", required=True, choices=("maintainer", "reporter", "linked-commit"))
    new.add_argument("--determinable", default="partly", choices=("yes", "partly", "no"))
    new.add_argument("--acceptable", nargs="*", default=[])
    new.add_argument("--gfx", nargs="*", default=[])
    new.add_argument("--year", type=int, default=0)
    args = parser.parse_args()
    return add(args) if args.command == "add" else check()


if __name__ == "__main__":
    sys.exit(main())
