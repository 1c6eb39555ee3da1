"""Time and memory of `rocm-doctor lint` on a repository of 5,000 files, beside what they may be (2 s, 200 MiB).

    python scripts/bench_lint.py [--files 5000]

The files are of every kind that lint reads, in the proportions of a large repository: most are not of a kind that it reads.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS, MEBIBYTES = 2.0, 200
TEXTS = (
    ("src/m{n}/code.py", "import torch\n" * 40),
    ("src/m{n}/util.py", "x = 1\n" * 200),
    ("data/d{n}.json", '{"a": [1, 2, 3]}\n'),
    ("configs/c{n}.yaml", "base_model: x/y\nbf16: true\nadapter: lora\nload_in_4bit: false\n"),
    ("docs/page{n}.md", "# Page\n\ntext\n" * 30),
    ("examples/e{n}/requirements.txt", "torch>=2.4\ntransformers>=4.50\npeft\n"),
    ("examples/e{n}/README.md", "# Run\n```bash\npip install -r requirements.txt\n```\n"),
    ("scripts/s{n}.sh", 'set -e\nif command -v rocminfo; then export HSA_ENABLE_SDMA=0; fi\npip install -r "$1"\npython train.py\n'),
    ("docker/d{n}/Dockerfile", "FROM rocm/pytorch:rocm6.4_ubuntu24.04_py3.12_pytorch_release_2.6.0\nRUN pip install peft \\\n  trl\n"),
    (".github/workflows/w{n}.yml", "jobs:\n  t:\n    runs-on: ubuntu-latest\n    steps:\n      - run: pip install torch\n"),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for n in range(asked.files):
            name, text = TEXTS[n % len(TEXTS)]
            path = Path(folder) / name.format(n=n)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = [sys.executable, "-m", "rocm_doctor", "lint", folder, "--gpu", "gfx1100", "--fail-on", "never", "-q"]
        start = time.monotonic()
        subprocess.run(command, check=False, env={**os.environ, "PYTHONHASHSEED": "0"}, stdout=subprocess.DEVNULL)
        wall = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu, memory = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
    print(
        f"{asked.files} files: {cpu:.1f} s of CPU time, {wall:.1f} s by the clock, {memory:.0f} MiB (goal: {SECONDS:.0f} s, {MEBIBYTES} MiB)"
    )
    sys.exit(cpu > SECONDS or memory > MEBIBYTES)


if __name__ == "__main__":
    main()
