"""Hooks for training with the real libraries on the CPU: requirements before the first step, a ticket bundle after a crash."""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rocm_doctor import NoAmdGpu, NotReady, api, check, guarded
from rocm_doctor.integrations import ticket as tickets

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CRASH = "HIP error: invalid device function"
ready = check(FIXTURES / "rx7900xtx-ready")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working directory on a machine that meets every requirement."""
    monkeypatch.setattr(api, "require", lambda **asked: ready)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def unmet(**asked: Any) -> None:
    raise NotReady(ready, f"rocm-doctor: not ready to train: {asked}")


def assert_ticket(path: Path) -> None:
    """The bundle holds the traceback and the report, and `check` replays it."""
    with zipfile.ZipFile(path) as archive:
        assert CRASH in archive.read("log/traceback.log").decode()
        assert {"report.json", "report.md"} <= set(archive.namelist())
    report = check(path)
    assert any(f.id == "arch.not-in-build" or "traceback" in str(f.evidence) for f in report.findings)


def test_a_crash_writes_the_ticket_and_stays_the_crash(machine: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "rocm_doctor")
    with pytest.raises(RuntimeError, match=CRASH), guarded(gpus=1):
        raise RuntimeError(CRASH)
    assert_ticket(machine / "rocm-doctor-ticket.zip")
    assert "rocm-doctor-ticket.zip holds the details" in caplog.text


def test_each_rank_writes_its_own(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    with pytest.raises(RuntimeError), guarded(ticket="t.zip"):
        raise RuntimeError(CRASH)
    assert [path.name for path in machine.iterdir()] == ["t-rank3.zip"]


def test_what_goes_well_writes_nothing(machine: Path) -> None:
    assert guarded(gpus=2)(lambda: 7)() == 7
    with pytest.raises(KeyboardInterrupt), guarded():
        raise KeyboardInterrupt
    with pytest.raises(RuntimeError), guarded(ticket=None):
        raise RuntimeError(CRASH)
    assert list(machine.iterdir()) == []


def test_requirements_come_first(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "require", unmet)
    with pytest.raises(NotReady, match="24GiB"), guarded(min_vram="24GiB"):
        pytest.fail("the body ran")


def test_other_hardware_passes_without_a_ticket(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(**asked: Any) -> None:
        raise NoAmdGpu(ready, "no AMD GPU")

    monkeypatch.setattr(api, "require", none)
    with pytest.raises(RuntimeError), guarded():
        raise RuntimeError("of another kind")
    assert list(machine.iterdir()) == []


def test_a_ticket_that_cannot_be_written_does_not_hide_the_crash(machine: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(RuntimeError, match=CRASH), guarded(ticket="no/such/folder/t.zip"):
        raise RuntimeError(CRASH)
    assert "no ticket was written: FileNotFoundError" in caplog.text


class Broken:
    """A data set whose second item ends the run."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, number: int) -> dict[str, Any]:
        import torch

        if number > 1:
            raise RuntimeError(CRASH)
        return {"x": torch.ones(2), "labels": torch.zeros(1)}


def model() -> Any:
    import torch

    class Tiny(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x: Any, labels: Any) -> dict[str, Any]:
            out = self.layer(x)
            return {"loss": ((out - labels) ** 2).mean(), "logits": out}

    return Tiny()


def trainer(folder: Path, data: Any, *callbacks: Any) -> Any:
    import transformers

    arguments = transformers.TrainingArguments(
        output_dir=str(folder / "out"), max_steps=4, per_device_train_batch_size=1, use_cpu=True, report_to=[], disable_tqdm=True,
        save_strategy="no", dataloader_pin_memory=False,
    )  # fmt: skip
    return transformers.Trainer(model=model(), args=arguments, train_dataset=data, callbacks=list(callbacks))


quiet = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def with_transformers() -> None:
    for name in ("torch", "transformers", "accelerate"):
        pytest.importorskip(name, reason=f"{name} is not installed")


@pytest.mark.torch
@pytest.mark.usefixtures("with_transformers")
@quiet
def test_the_trainer_is_guarded(machine: Path) -> None:
    made = trainer(machine, Broken())
    made.train = guarded(min_vram="1GiB")(made.train)
    with pytest.raises(RuntimeError, match=CRASH):
        made.train()
    assert_ticket(machine / "rocm-doctor-ticket.zip")


@pytest.mark.torch
@quiet
def test_a_loop_with_accelerate_is_guarded(machine: Path) -> None:
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    import torch

    accelerator = accelerate.Accelerator(cpu=True)
    net = model()
    net, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), 0.1))
    steps = []

    @guarded(packages=["accelerate"])
    def loop() -> None:
        for number in range(4):
            accelerator.backward(net(**Broken()[number])["loss"])
            optimizer.step()
            steps.append(number)

    with pytest.raises(RuntimeError, match=CRASH):
        loop()
    assert steps == [0, 1]
    assert_ticket(machine / "rocm-doctor-ticket.zip")


def test_a_ticket_is_redacted(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tickets.crash_ticket(RuntimeError(f"{CRASH} in /home/quokka/train.py for quokka@trainbox"), machine / "t.zip")
    with zipfile.ZipFile(machine / "t.zip") as archive:
        assert "quokka" not in "".join(archive.read(name).decode(errors="replace") for name in archive.namelist())
