"""Several real captures of one machine, handed over together: is the verdict right, and can what is asked be answered in one paste?

python scripts/combinations.py CAPTURES POSTS [-o docs/combinations.md]

CAPTURES is a folder of captures by kind (`rocminfo/ID.txt`, `rocm-smi/ID.txt`, ...), POSTS one of posts (`ID/case.md`); they are other people's and not part of this
project. Each combination below holds captures of one thread or note, which its reader found to be of one machine. Healthy ones must be
ready at once, or ready when the questions are answered as a healthy machine answers them; of the others the first diagnosis is named.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from rocm_doctor.matrix import Matrix, load
from rocm_doctor.model import Artifact, Report
from rocm_doctor.pipeline import judge, machines
from rocm_doctor.rules.build import builds_with
from rocm_doctor.sources.bundle import read_each
from rocm_doctor.sources.paste import cut

# The captures of a machine, and its first diagnosis (`a|b`: either); an empty one: healthy as far as the captures go.
COMBINATIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("as-list-mi300x-620", "as-monitor-mi300x-620", "as-static-mi300x-620")),
    ("", ("as-list-mi300x-620", "as-process-csv-mi300x")),
    ("", ("ev-comfyui-680m-override", "pp-list-680m-rocm64", "rs-a-680m-57")),
    ("", ("rs-a-680m-57", "rs-driverversion-680m-57", "rs-table-680m-57-errors")),
    ("", ("ev-comfyui-680m-override", "rs-table-680m-57-errors")),
    ("", ("dm-kfd-vega56-rocm16", "hi-hcc-vega56-213", "rs-table-vega56-rocm16")),
    ("", ("as-list-mi210-5480", "rs-table-mi210-5480", "rs-uniqueid-mi210-5480")),
    ("", ("as-list-mi210-5480", "rs-table-mi210-5480")),
    ("", ("as-list-mi300xvf-700", "as-table-mi300xvf-host-700")),
    ("", ("as-metric-v520-612", "as-static-v520-612", "ri-gfx1011-v520-aws")),
    ("", ("as-static-v520-612", "ri-gfx1011-v520-aws")),
    ("", ("ce-wsl-7900xtx-613-conda", "ri-wsl-7900xtx-613-full")),
    ("", ("dm-7900xtx-load-nocrat", "dm-7900xtx-ucode-requests", "fw-7900xtx-debugfs")),
    ("", ("ds-powerprofile-7900xtx", "ri-gfx1100-gfx1036-613")),
    ("memory.gtt-limit|memory.oom", ("dm-journal-oom-7900xtx", "ds-powerprofile-7900xtx")),
    ("", ("pp-therock-711-freeze", "pp-therock-711-show")),
    ("", ("as-static-gfx1151-641", "vf-dkms-halo-641")),
    ("", ("as-table-gfx1151-720-96g", "ri-grep-oneline-halo-96g")),
    ("", ("as-version-720-mi355x", "ev-json-8xmi355x-720")),
    ("hw.gpu-reset-or-hang", ("ce-gfx1151-711a-5890", "dm-gfx1151-pagefault-cpf-5890")),
    ("", ("ce-gfx1200-713a-full", "ri-gfx1200-9060xt-713")),
    ("", ("ce-wsl-gfx1151-720", "ri-wsl-librocdxg-gfx1151-elided")),
    ("", ("cl-2500u-gfx902-xnack", "ri-gfx902-picasso-27")),
    ("", ("cl-amd-header-780m", "rs-table-780m-none-unsupported")),
    ("access.permission", ("cl-zero-devices-1430", "ri-fail-perm-ingroup-1430")),
    ("hw.gpu-reset-or-hang", ("dm-7800xt-comfy-ringtimeout", "dm-7800xt-softrecovered")),
    ("hw.gpu-reset-or-hang", ("dm-gfx1102-pagefault-2755", "ri-gfx1102-w7600-600")),
    ("version.kernel-too-old", ("dm-kfd-did-missing-1318", "ri-fail-kfd-nomem-1318")),
    ("", ("ev-torch-oneliner-gfx1101", "ri-gfx1101-7800xt-634")),
    ("", ("hc-full-50-1698", "ri-gfx1032-6600xt-501")),
    ("access.driver-not-loaded", ("ri-fail-azure-nv4as-1498", "rs-fail-azure-nv4as-1498")),
    ("access.kfd-missing", ("ri-fail-nokfd-gfx1151", "rs-table-gfx1151-mint")),
    ("access.wsl", ("ri-fail-wsl-hsainit-9729", "ri-wsl-grep-r9700-9729")),
    ("", ("ri-gfx1100-w7900-623", "ri-grep-w7900-62")),
    ("", ("rs-product-2xmi250", "rs-table-mi250-old")),
    ("", ("rs-product-llamaqlora", "rs-table-llamaqlora-new")),
    ("", ("rs-product-mi300x-lora", "rs-table-mi300x-lora-busy")),
    ("", ("rs-table-8xmi210-60", "rs-toponuma-8xmi210")),
    ("", ("ev-hipnames-empty-container-5992", "ri-grep-oneline-mi350x-5992")),
)
# Posts that hold captures of the poster's machine and the failing log: what the thread confirmed is the diagnosis.
POSTS: tuple[tuple[str, str], ...] = (
    ("access.wsl", "howto-7900xtx-4"),
    ("access.visible-devices", "parsl-3858"),
    ("access.visible-devices", "ray-52701"),
    ("arch.not-in-build", "pytorch-164346"),
    ("access.container", "rocm-1798"),
    ("access.permission", "rocm-1826"),
    ("platform.bios", "rocm-2927"),
    ("access.wsl", "rocm-4215"),
    ("version.kernel-too-old", "rocm-5444"),
    ("lib.hipblaslt", "rocm-5643"),
    ("access.wsl", "rocm-5866"),
    ("dist.p2p", "rocm-vllm-390"),
    ("memory.gtt-limit", "therock-1054"),
    ("numeric.bf16-or-fp16", "unsloth-5337"),
)
_ACCESS = "uid=1000(ada) gid=1000(ada) groups=1000(ada),992(render)\ncrw-rw---- 1 root render 511, 0 Nov 20 09:12 /dev/kfd"
_AGENT = """*******
Agent 2
*******
  Name:                    {}
  Uuid:                    GPU-XX
  Device Type:             GPU
"""


def judged(captures: Path, names: Sequence[str], matrix: Matrix, more: str = "") -> tuple[Report, int]:
    """The report on these captures with a further paste, and how many machines they were taken for."""
    paths = [next(chain(captures.glob(f"*/{name}.t*"), captures.glob(f"{name}/case.md"))) for name in names]
    found = machines([one for path in paths for one in read_each(path)], matrix)
    artifacts: list[Artifact] = [a for _, several in found for a in several]
    return judge([*artifacts, *(cut(more, "answer") if more else ())], matrix, kind="capture"), len(found)


def answers(report: Report, matrix: Matrix) -> list[str]:
    """What a healthy machine of this kind would paste back, once for each torch of the catalog that serves its GPU."""
    known = [value for g in report.snapshot.gpus for key in ("gfx_reported", "gfx") if isinstance(value := g.get(key).value, str)]
    targets = sorted({*known}) or ["gfx942"]
    stated = report.snapshot.get("torch.version").value
    serving = {b.local: list(b.gfx) for b in builds_with(targets[0], matrix) if b.local}
    builds = {stated: targets} if isinstance(stated, str) else serving or {"2.9.1+rocm6.4": targets}
    return [_answer(report, version, code, targets[0]) for version, code in builds.items()]


def _answer(report: Report, version: str, code: list[str], target: str) -> str:
    agents = _AGENT.format(target) * max(1, len(report.snapshot.gpus))
    outputs = {
        "torch": f"{version} 6.4.43484 True {code}",
        "access": _ACCESS,
        "gpu": f"ROCk module is loaded\nHSA Agents\n{agents}*** Done ***",
    }
    return "\n".join(f"$ {q.command.text}\n{outputs[q.key]}" for q in report.questions if q.key in outputs) + "\n$ \n"


def row(captures: Path, expected: str, names: Sequence[str], matrix: Matrix) -> tuple[bool, tuple[str, ...]]:
    """True if the combination comes out right, and its row of the table."""
    report, count = judged(captures, names, matrix)
    first = next((f.id for f in report.findings if f.severity != "note" and not f.follows_from), "")
    asked = ", ".join(q.key for q in report.questions)
    if expected or first:
        return first in expected.split("|") and count == 1, (
            ", ".join(names),
            expected or "healthy",
            first or report.verdict,
            asked,
            "",
        )
    for text in answers(report, matrix):
        after = judged(captures, names, matrix, text)[0]
        last = next((f.id for f in after.findings if f.severity != "note"), after.verdict)
        if last == "ready":
            break
    served = any(builds_with(str(g.get("gfx").value), matrix) for g in report.snapshot.gpus) or not report.snapshot.gpus
    right = count == 1 and (last == "ready" or (not served and last.startswith("arch.")))
    return right, (", ".join(names), "healthy", report.verdict, asked, last)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", type=Path)
    parser.add_argument("posts", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args()
    matrix = load()
    rows = [row(given.captures, expected, names, matrix) for expected, names in COMBINATIONS]
    rows += [row(given.posts, expected, (name,), matrix) for expected, name in POSTS]
    sick = sum(cells[1] != "healthy" for _, cells in rows)
    right = sum(good for good, _ in rows)
    lines = [
        "# Captures of one machine, combined",
        "",
        f"{len(rows)} combinations of real captures, {sick} of them of sick machines; {right} right. The last {len(POSTS)} are posts that hold captures",
        "and the failing log of one machine in one text. `scripts/combinations.py` makes this table; captures and posts are other people's and",
        "not part of the project. Nothing here was run on AMD hardware by us. Answers are written as a healthy machine gives them, with a torch",
        "of the catalog with which it is ready. Where no wheel does (gfx902, gfx1011, ...), an `arch.*` diagnosis is the right answer.",
        "",
        "| | captures | expected | first verdict or diagnosis | asks for | once answered |",
        "|---|---|---|---|---|---|",
        *(f"| {'✓' if good else '✗'} | {' | '.join(cells)} |" for good, cells in rows),
    ]
    text = "\n".join(lines) + "\n"
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    print(text)
    return 0 if right == len(rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
