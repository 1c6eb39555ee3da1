"""Measure the settings of a CSV on this machine's GPU, with the code of `rocm-doctor fit --measure`, and write them with the
figures.

    python scripts/measure_rows.py settings.csv measured.csv

A row that fails is reported on stderr and left out. Columns: rocm_doctor/fit/rows.py.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from rocm_doctor.fit import rows
from rocm_doctor.fit.job import CUDA
from rocm_doctor.fit.runner import WorkerError, measure
from rocm_doctor.matrix import load


def main(settings: Path, out: Path) -> int:
    matrix, failed = load(), 0
    with out.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, rows.COLUMNS, restval="")
        writer.writeheader()
        for row in rows.read(settings):
            try:
                found = measure(rows.job_of(row, matrix, CUDA))
            except WorkerError as exc:
                failed += 1
                print(f"{row['model']} {row['method']} {row['batch']}x{row['seq']}: {exc}", file=sys.stderr)
                continue
            figures = {name: getattr(found, name) for name in rows.FIGURES}
            writer.writerow({**{k: v for k, v in row.items() if k in rows.COLUMNS}, **figures})
            lines.flush()
            print(row["model"], found.device, found.context_bytes, found.versions, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
