"""The training run that a text shows: its settings by the tables of training configurations, and how busy it keeps the GPU.

per_device_train_batch_size=2 gradient_accumulation_steps=4 max_length=512 fp16=False bf16=False
 12%|██        | 120/1000 [12:01<1:28:12,  6.01s/it]
-> run.batch = 2, run.seq = 512, run.tokens = 1024, run.shown = yes
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from rocm_doctor.bounded import Unreadable, yamls
from rocm_doctor.bounded.patterns import regex
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Fact, Snapshot, Value
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import texts
from rocm_doctor.training.literals import Leaf
from rocm_doctor.training.tables import Reading as Settings
from rocm_doctor.training.tables import Table, Tables

FILES = ("TrainingArguments", "SFTConfig", "LLaMA-Factory", "axolotl", "torchtune")
"""Tables whose keys are taken, the first that has a key."""
FIELDS = ("batch", "seq", "checkpointing", "autocast")
_NAME = "([a-z][a-z0-9]*(?:[_-][a-z0-9]+)+|fp16|bf16)"
_VALUE = "([\\w.+-]+|\"[^\"]*\"|'[^']*')"
_SETTING = regex(rf"(?<![\w.-])(?:--)?{_NAME}[\"']?\s?[=:]\s*{_VALUE}")
_OPTION = regex(rf"(?<!\S)--{_NAME} +(?!-){_VALUE}")
_FLAG = regex(r"(?<!\S)--([a-z][a-z0-9]*(?:[_-][a-z0-9]+)*)(?=\s+--|\s*$|\s+\\)")
_BAR = regex(r"^([^|%]{0,60}?)\s*\d{1,3}%\|.{0,200}?[\[,]\s*\d+\.\d+\s?(?:s/it|it/s)\b")
_LOADS = regex(r"[A-Za-z]{3}")
_TRAINS = regex(r"train|epoch|step", re.I)
_LOGGED = regex(r"['\"](?:loss|train_runtime|train_loss|grad_norm)['\"]\s*:")
_ASKED = regex(r"Tried to allocate (\d+(?:\.\d+)?) ([KMG]iB)")
_LOOSE = regex(r"(\d+(?:\.\d+)?) ([KMG]iB) is reserved by PyTorch but unallocated")
_TOTAL = regex(r"total capacity of (\d+(?:\.\d+)?) ([KMG]iB)")
LOOSE = 0.05
"""Unused memory below this part of the GPU's is what any allocator leaves over."""
_UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_KILLED = regex(r"^(?:\S*: line \d+:\s+\d+ )?Killed\b(?!\s+(?:by|process|the|it)\b).{0,120}$")
_BUSY = regex(
    r"\bGPU(?: core| compute)?[ -]?(?:util\w*|usage|use|load|busy)?(?: (?!cpu|vram)[a-z]+){0,5}\W{0,3}(?:\d{1,3}(?: ?%)?(?:-| to | and ))?(\d{1,3}) ?%"
    r"|\b(\d{1,3}) ?% (?:of the )?GPU\b",
    re.I,
)


def read(artifacts: Artifacts, matrix: Matrix) -> ProbeResult:
    """`run.*` and `oom.*` of the pasted texts and logs."""
    result = ProbeResult()
    for document in texts(artifacts):
        _settings(result, document, matrix)
        _progress(result, document)
        _memory(result, document)
        _host(result, document)
    return result


def _table(matrix: Matrix) -> Table:
    """The keys of all frameworks as one table, without defaults: a text shows a part of a run."""
    every = Tables(matrix).every
    return Table(
        "text", keys={key.rpartition(".")[2]: rule for name in reversed(FILES) for key, rule in every[name].keys.items()}
    )


def _settings(result: ProbeResult, document: Document, matrix: Matrix) -> None:
    """The settings that the text spells out, by the reader of configurations."""
    table = matrix.once(_table)
    named = [key for key in table.keys if "_" in key]
    lines = document.find_lines(*named, *(key.replace("_", "-") for key in named), "fp16", "bf16")
    found = {key: (leaf, document.reading(line)) for line in lines for key, leaf in _leaves(line, table.keys)}
    reading = Settings(Tables(matrix).words)
    reading.apply(table, {key: leaf for key, (leaf, _) in found.items()})
    for field in FIELDS:
        one = reading.settings.get(field)
        if one is not None and one.line:
            result.record(f"run.{field}", one.value, found[one.key][1])


def _leaves(line: Line, keys: Mapping[str, object]) -> Iterator[tuple[str, Leaf]]:
    for found in (*_SETTING.finditer(line.text), *_OPTION.finditer(line.text)):
        key = found[1].replace("-", "_")
        if key in keys:
            try:
                value = yamls.values(found[2].rstrip(".").removeprefix("torch.") if found[2][0] not in "\"'" else found[2])
            except Unreadable:
                continue
            yield key, Leaf(key, value, line.number or 1)
    for flag in _FLAG.finditer(line.text):
        if (key := flag[1].replace("-", "_")) in keys:
            yield key, Leaf(key, True, line.number or 1)


def _progress(result: ProbeResult, document: Document) -> None:
    """run.shown: the text has the progress bar of a training, or a trainer's log."""
    for line in document.find_lines("%|"):
        found = _BAR.match(line.text.split("\r")[-1])
        if found and (not _LOADS.search(found[1]) or _TRAINS.search(found[1])):
            result.record("run.shown", True, document.reading(line))
    for line in document.find_lines("loss", "train_runtime", most=4):
        if _LOGGED.search(line.text):
            result.record("run.shown", True, document.reading(line))


def _memory(result: ProbeResult, document: Document) -> None:
    """oom.kind: pieces where PyTorch held unused at least what was asked for and a part worth naming, else full; run.killed."""
    for line in document.find_lines("tried to allocate", most=20):
        sizes = [_bytes(pattern.search(line.text)) for pattern in (_ASKED, _LOOSE, _TOTAL)]
        if sizes[0] and sizes[1] is not None:
            pieces = sizes[1] >= max(sizes[0], LOOSE * (sizes[2] or 0))
            result.facts.setdefault("oom.kind", Fact("pieces" if pieces else "full", (document.reading(line),)))
    for line in document.find_lines("killed", most=20):
        if _KILLED.match(line.text):
            result.record("run.killed", True, document.reading(line))


def _bytes(found: re.Match[str] | None) -> float | None:
    return float(found[1]) * _UNITS[found[2]] if found else None


def _host(result: ProbeResult, document: Document) -> None:
    """run.busy_percent in words."""
    for line in document.find_lines("gpu", most=40):
        if (found := _BUSY.search(line.text)) and "vram" not in line.text.lower():
            result.facts.setdefault("run.busy_percent", Fact(int(found[1] or found[2]), (document.reading(line),)))


def add_run_facts(snapshot: Snapshot) -> Snapshot:
    """The snapshot with run.tokens, and with what the tools read of the busiest GPU, where the text shows anything of a run."""
    facts = dict(_derive_facts(snapshot)) if any(name.startswith("run.") for name in snapshot.facts) else {}
    return msgspec.structs.replace(snapshot, facts={**snapshot.facts, **facts}) if facts else snapshot


def _derive_facts(snapshot: Snapshot) -> Iterator[tuple[str, Fact]]:
    batch, seq = snapshot.get("run.batch"), snapshot.get("run.seq")
    if isinstance(batch.value, int) and isinstance(seq.value, int):
        yield "run.tokens", Fact(batch.value * seq.value, batch.readings[:1] + seq.readings[:1])
    gpu = max(snapshot.gpus, key=lambda one: _number(one.get("busy_percent").value) or 0, default=None)
    if gpu is None:
        return
    for name, key in OF_GPU.items():
        if _number(gpu.get(key).value) is not None:
            yield name, gpu.get(key)
    for name, part, most, scale in SHARES:
        one, other = gpu.get(part), gpu.get(most)
        if (value := _number(one.value)) is not None and (limit := _number(other.value)):
            yield name, Fact(round(scale * value / limit, 3), tuple(dict.fromkeys(one.readings[:1] + other.readings[:1])))


OF_GPU = {
    "run.busy_percent": "busy_percent", "run.vram_percent": "vram_used_percent", "run.clock_mhz": "clock_mhz",
    "run.temperature": "temperature", "run.gtt_bytes": "gtt_used_bytes",
}  # fmt: skip
SHARES = (("run.power-share", "power_watts", "power_cap_watts", 1), ("run.vram_percent", "vram_used_bytes", "vram_bytes", 100))


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
