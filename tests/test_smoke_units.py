"""Parts of the smoke test one by one: tolerances, comparisons, what HIP does differently, watching the machine, the table."""

from __future__ import annotations

import ast
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rocm_doctor.smoke import device_queue, state, watch
from rocm_doctor.smoke.runner import choose_stages
from rocm_doctor.workers import process
from rocm_doctor.workers.smoke import basics, compare
from rocm_doctor.workers.smoke import main as bench
from rocm_doctor.workers.smoke.compare import Wrong, tolerance
from rocm_doctor.workers.smoke.on_torch import TorchContext, pick_device
from rocm_doctor.workers.smoke.table import STAGES, all_needs

WORKER = Path(compare.__file__ or "").parent


@pytest.mark.parametrize("path", sorted(WORKER.rglob("*.py")), ids=lambda path: path.name)
def test_worker_is_python_3_8_and_imports_only_the_standard_library(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    allowed = {
        "__future__", "argparse", "contextlib", "collections", "copy", "ctypes", "datetime", "faulthandler", "functools", "gc",
        "importlib", "itertools", "json", "math", "os", "pathlib", "platform", "queue", "signal", "subprocess", "sys", "tempfile",
        "threading", "time", "traceback", "types", "typing", "warnings", "zlib",
    }  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert {alias.name.split(".")[0] for alias in node.names} <= allowed
        if isinstance(node, ast.ImportFrom) and not node.level:
            assert (node.module or "").split(".")[0] in allowed


def test_no_annotation_is_evaluated_in_the_worker() -> None:
    """`dict[str, int]` is no expression in 3.8: it may stand in annotations only, and those are never evaluated."""
    for path in WORKER.rglob("*.py"):
        assert "from __future__ import annotations" in path.read_text() or path.name == "__init__.py", path.name


def test_table_is_in_order_of_blame() -> None:
    for number, stage in enumerate(STAGES):
        assert set(stage.needs) <= {earlier.name for earlier in STAGES[:number]}, stage.name
        room, module, function = stage.run.split(".")
        assert f"def {function}(" in (WORKER.parent / room / f"{module}.py").read_text()
    assert [stage.level for stage in STAGES] == sorted(stage.level for stage in STAGES)


def test_all_needs_goes_all_the_way() -> None:
    assert set(all_needs("lora")) == {"matmul", "copy", "device", "import"}
    assert all_needs("import") == ()


def test_planned_stages() -> None:
    assert [s.name for s in choose_stages(3, ["bf16"])] == ["import", "device", "bf16"]
    assert {s.level for s in choose_stages(2, ())} == {1, 2}
    assert [s.name for s in choose_stages(1, ["attention", "lora_shapes"])][2:] == [
        "attention-math",
        "attention-efficient",
        "attention-flash",
        "lora-shapes",
    ]
    with pytest.raises(KeyError):
        choose_stages(1, ["bf17"])


def test_tolerance_grows_with_the_root_of_length_and_steps() -> None:
    fp32, bf16 = 2.0**-23, 2.0**-7
    assert tolerance(fp32, 400, 0) == pytest.approx(2 * tolerance(fp32, 100, 0))
    assert tolerance(bf16, 1, 4) == pytest.approx(compare.LAMBDA * (bf16 + 2.0**-24))
    assert tolerance(bf16, 1024, 16) < 0.1, "a tenth off is caught in every format"


def torch_or_skip() -> Any:
    return pytest.importorskip("torch")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda t: t * 0, "zeros"),
        (lambda t: t * math.nan, "nan"),
        (lambda t: t * math.inf, "nan"),
        (lambda t: t * 1.001, "mismatch"),
        (lambda t: t[:-1], "shape"),
        (lambda t: t.index_fill(0, t.argmax(), 9.0), "mismatch"),
    ],
)
def test_check_names_what_it_sees(spoil: Any, reason: str) -> None:
    torch = torch_or_skip()
    want = torch.randn(5000, generator=torch.Generator().manual_seed(1))
    context = a_context(torch)
    context.check("same", want * (1 + 1e-7), want.double(), 1e-5)
    with pytest.raises(Wrong) as caught:
        context.check("spoilt", spoil(want), want.double(), 1e-5)
    assert caught.value.reason == reason
    assert "spoilt" in str(caught.value)


@pytest.mark.torch
def test_same_bits_tells_zeros_from_damage() -> None:
    torch = torch_or_skip()
    want = torch.arange(1, 5, dtype=torch.float32)
    context = a_context(torch)
    context.same_bits("same", want.clone(), want)
    for got, reason in ((want * torch.tensor([1.0, 1, 1, 0]), "zeros"), (-want, "mismatch"), (want.double(), "shape")):
        with pytest.raises(Wrong) as caught:
            context.same_bits("copy", got, want)
        assert caught.value.reason == reason
    negative_zero = torch.tensor([-0.0])
    with pytest.raises(Wrong):
        context.same_bits("sign of zero", negative_zero.abs(), negative_zero)


def fake_torch(*, hip_version: str | None = "7.0", available: bool = True, count: int = 1, **properties: Any) -> Any:
    """As much of torch.cuda as the device stage asks for."""
    values = {
        "name": "Radeon",
        "major": 11,
        "minor": 0,
        "multi_processor_count": 48,
        "total_memory": 1 << 34,
        "gcnArchName": "gfx1100",
        **properties,
    }

    def init() -> None:
        raise RuntimeError("No HIP GPUs are available")

    cuda = SimpleNamespace(
        is_available=lambda: available,
        device_count=lambda: count,
        init=init,
        set_device=lambda device: None,
        get_arch_list=lambda: ["gfx1100"],
        mem_get_info=lambda index: (1, 2),
        get_device_properties=lambda index: SimpleNamespace(**(values | {"is_integrated": index == 0 and count > 1})),
    )
    return SimpleNamespace(cuda=cuda, version=SimpleNamespace(hip=hip_version, cuda=None), get_num_threads=lambda: 2)


def a_context(torch: Any, index: int = 0) -> TorchContext:
    args = SimpleNamespace(framework="torch", device="auto", gpu=index, level=1)
    made = TorchContext(args, lambda **event: None)
    made.torch, made.device = torch, SimpleNamespace(type="cuda", index=index)
    return made


def test_full_precision_is_a_block_and_both_settings_are_as_before_after_it() -> None:
    torch = fake_torch()
    precisions = ["high"]
    torch.backends = SimpleNamespace(cudnn=SimpleNamespace(allow_tf32=True))
    torch.get_float32_matmul_precision, torch.set_float32_matmul_precision = (lambda: precisions[-1]), precisions.append
    with a_context(torch).full_precision():
        assert (torch.backends.cudnn.allow_tf32, precisions[-1]) == (False, "highest")
    assert (torch.backends.cudnn.allow_tf32, precisions[-1]) == (True, "high")


def device_of(torch: Any, index: int = 0) -> dict[str, Any]:
    return basics.device(a_context(torch, index))


PCI: dict[str, Any] = {"pci_bus_id": 3, "pci_device_id": 0, "pci_domain_id": 0}


def test_a_device_has_its_kind_target_and_address() -> None:
    found = device_of(fake_torch(**PCI))
    assert (found["kind"], found["architecture"], found["pci"]) == ("hip", "gfx1100", "0000:03:00.0")


def test_device_says_why_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "7")
    with pytest.raises(Wrong) as caught:
        device_of(fake_torch(available=False))
    assert caught.value.reason == "not-available"
    assert "No HIP GPUs are available" in str(caught.value)
    assert caught.value.details["masks"] == {"HIP_VISIBLE_DEVICES": "7"}
    with pytest.raises(Wrong) as caught:
        device_of(fake_torch(**PCI), index=3)
    assert caught.value.reason == "no-such-index"


def test_an_integrated_gpu_before_a_discrete_one_is_told() -> None:
    assert device_of(fake_torch(count=2, **PCI))["discrete_beside"] == [1]
    assert device_of(fake_torch(count=2, **PCI), index=1)["discrete_beside"] == []


@pytest.mark.parametrize(
    ("wanted", "hip_version", "device"),
    [("auto", "7.0", "cuda:1"), ("auto", None, "cpu"), ("cuda", None, "cuda:1"), ("cpu", "7.0", "cpu")],
)
def test_which_device_is_tested(wanted: str, hip_version: str | None, device: str) -> None:
    assert pick_device(fake_torch(hip_version=hip_version), wanted, 1) == device


def test_events_are_json_whatever_they_hold(tmp_path: Path) -> None:
    emit = bench.emitter(str(tmp_path / "events"))
    emit(event="end", error=math.nan, shape=(1, 2), odd={3: object}, path=tmp_path)
    line = (tmp_path / "events").read_text()
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert "NaN" not in line


HOSTILE_EVENTS = (
    b'{"event": "end", "stage": "\xff\xfe", "status": "passed"}',
    b'{"event": "end", "stage": "\\ud83d", "status": "passed"}',
    b'{"event": "end", "details": ' + b"[" * 100_000,
    b'{"event": "end", "stage": "matmul", "seconds": ' + b"9" * 5000 + b"}",
    b'{"event": "end", "stage": ["matmul"], "status": "passed"}',
    b'{"event": "end", "stage": "device", "status": "passed", "details": 7}',
    b'{"event": "end", "stage": "matmul", "status": {"a": 1}}',
    b'{"event": "end", "stage": "matmul", "status": "passed", "rank": 7, "queue": 1, "kind": "x"}',
    b'{"event": "end"}',
    b"[]",
    b"7",
    b"\x00\x1b[2J",
)


@pytest.mark.parametrize("line", HOSTILE_EVENTS, ids=range(len(HOSTILE_EVENTS)))
def test_no_line_of_a_worker_ends_the_smoke_test(line: bytes, tmp_path: Path) -> None:
    results = tmp_path / "results"
    results.write_bytes(line + b'\n{"event": "end", "stage": "copy", "status": "passed"}\n')
    settings = state.Settings(
        "python", 1, "auto", str(tmp_path), "token", lambda _: None, watch.KernelLog(str(tmp_path / "none"))
    )
    queue = state.DeviceQueue("gpu0", settings, [])
    device_queue._follow(queue, state.SmokeWorker(process.Child(process.ChildSpec(["x"]), 0.0), results))
    assert queue.states["copy"] == "passed"
    assert queue.records[-1] == {"kind": "result", "stage": "copy", "status": "passed"}


def test_kernel_log_reads_only_what_is_new(tmp_path: Path) -> None:
    file = tmp_path / "kmsg"
    file.write_text("6,1,1,-;before\n")
    log = watch.KernelLog(str(file))
    assert log.new_lines() == []
    with file.open("a") as more:
        more.write("3,2,9,-;amdgpu: [gfxhub] page fault\n SUBSYSTEM=pci\n3,3,9,-;second\n")
    assert log.new_lines() == ["amdgpu: [gfxhub] page fault", "second"]
    assert log.new_lines() == []
    log.close()
    assert watch.KernelLog(str(tmp_path / "none")).new_lines() == []


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"),
        OSError(122, "Disk quota exceeded"),
    ],
)
def test_a_full_disk_is_blamed_on_nothing_that_is_tested(error: Exception) -> None:
    def stage(context: object) -> None:
        raise error

    end = bench.outcome(None, stage)  # type: ignore[arg-type]
    assert (end["status"], end["reason"]) == ("skipped", "disk-full")
