"""Does the first answer cure? Draw threads for judges who do not know the tool, and count what they say.

    python scripts/cure_score.py draw OUT --count 60 --seed 1                 # threads for testing only
    python scripts/cure_score.py draw OUT --cases CASES_DIR                   # your own: folders with case.md and label.yaml
    python scripts/cure_score.py count OUT

`draw` writes a folder for each thread, `NN/input.md` (what the person could paste before knowing the answer), `NN/first.txt` (the
tool's first answer) and `NN/whole.txt` (all that it prints), and apart from these `fixes/NN.md` (the confirmed cause and fix). The
protocol, for three judges who neither wrote the tool nor see each other's verdicts:

1. Read input.md and fixes/NN.md.
2. Read first.txt alone. Somebody who does what it says first, in order: is he cured (right), helped on the way or cured by a
   later step of it (partly), led nowhere (no), or worse off (harmful: data lost, a working setup broken, or the opposite of the cure)?
3. Read whole.txt and judge it in the same way.
4. One line a thread in judges/NAME.csv: `NN,first,whole`.

What most judges say counts; where all three differ, the middle one. On controls (`none`) right is: no cure is pressed on him.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from corpus import Entry
from score import TESTING, cases

from rocm_doctor import pipeline
from rocm_doctor.matrix import Matrix, load
from rocm_doctor.model import Report
from rocm_doctor.reports import RenderOptions, render
from rocm_doctor.reports.answer import lines, whole_findings
from rocm_doctor.reports.places import message
from rocm_doctor.sources.paste import cut

VERDICTS = ("harmful", "no", "partly", "right")
"""From worst to best."""


def first_answer(report: Report) -> str:
    """The first finding that is shown whole, as text with its commands, else the summary; and what stands beside it."""
    one = next(iter(whole_findings(report)), None)
    told = [message(one), *(f"verify: {command.text}" for command in one.verify)] if one else [report.summary]
    return "\n".join([*told, *(line.words for line in lines(report) if line.label != "possible")]) + "\n"


def draw(entries: Sequence[Entry], out: Path, matrix: Matrix) -> None:
    """Write what the judges read."""
    (out / "fixes").mkdir(parents=True, exist_ok=True)
    (out / "judges").mkdir(exist_ok=True)
    for number, entry in enumerate(entries, 1):
        folder = out / f"{number:03}"
        folder.mkdir(exist_ok=True)
        report = pipeline.judge(cut(entry.text, "input.md"), matrix, source="input.md", kind="capture")
        (folder / "input.md").write_text(entry.text + "\n", encoding="utf-8")
        (folder / "first.txt").write_text(first_answer(report), encoding="utf-8")
        (folder / "whole.txt").write_text(render("text", report, RenderOptions()), encoding="utf-8")
        fix = f"{entry.id}\n{entry.label}\n\nCause: {entry.cause}\nFix: {entry.fix or 'none: nothing was wrong with the GPU stack'}\n"
        (out / "fixes" / f"{number:03}.md").write_text(fix, encoding="utf-8")


def chosen(place: str, count: int, seed: int) -> list[Entry]:
    """So many entries of these cases, in an order of chance that the seed decides."""
    found = [e for e in cases(place) if e.fix or e.label == "none"]
    random.Random(seed).shuffle(found)
    return found[:count] if count else found


def votes(folder: Path) -> dict[str, dict[str, list[str]]]:
    """What each judge said: {`first`/`whole`: {number: verdicts}}. Raises ValueError for a word that is no verdict."""
    found: dict[str, dict[str, list[str]]] = {"first": defaultdict(list), "whole": defaultdict(list)}
    for path in sorted(folder.glob("*.csv")):
        for number, *said in csv.reader(path.read_text(encoding="utf-8").splitlines()):
            for part, word in zip(found, map(str.strip, said)):
                if word not in VERDICTS:
                    raise ValueError(f"{path.name}: {number}: `{word}` is none of {', '.join(VERDICTS)}")
                found[part][f"{int(number):03}"].append(word)
    return found


def agreed(said: Iterable[str]) -> str:
    """The verdict of most; of three that differ the middle one."""
    ordered = sorted(said, key=VERDICTS.index)
    word, count = Counter(ordered).most_common(1)[0]
    return word if count * 2 > len(ordered) else ordered[len(ordered) // 2]


def counted(out: Path) -> dict[str, dict[str, dict[str, int]]]:
    """By part (`first`, `whole`) and by diagnosis (`all` is the sum of faults): how many are right, partly, no, harmful."""
    made: dict[str, dict[str, dict[str, int]]] = {}
    for part, by_number in votes(out / "judges").items():
        tally: dict[str, Counter[str]] = defaultdict(Counter)
        for number, said in by_number.items():
            label = (out / "fixes" / f"{number}.md").read_text(encoding="utf-8").split("\n")[1]
            for group in ("controls",) if label == "none" else ("all", label):
                tally[group][agreed(said)] += 1
        made[part] = {name: dict(counts) for name, counts in sorted(tally.items())}
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    new = commands.add_parser("draw", help="write inputs, answers and fixes for judges")
    new.add_argument("out", type=Path)
    new.add_argument("--cases", default=TESTING, help="a folder of cases; default: the threads for testing only")
    new.add_argument("--count", type=int, default=60, help="how many; 0: all")
    new.add_argument("--seed", type=int, default=1)
    done = commands.add_parser("count", help="count the judges' verdicts")
    done.add_argument("out", type=Path)
    args = parser.parse_args()
    if args.command == "draw":
        draw(chosen(args.cases, args.count, args.seed), args.out, load())
        return 0
    made = counted(args.out)
    for part, groups in made.items():
        for name, counts in groups.items():
            total = sum(counts.values())
            print(f"{part:6}{name:30}{total:4}  " + "  ".join(f"{v} {counts.get(v, 0)}" for v in reversed(VERDICTS)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
