"""torch: its device, tensors, attention backends. torch.cuda is the programming interface on ROCm too; hip.py holds the differences."""

from __future__ import annotations

import contextlib
import importlib
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from . import hip
from .compare import NoKernel, Skip, Wrong, judge_bits
from .context import Context, temporary_setting

THREADS = 4
"""Threads for the CPU's part. Children for several GPUs run side by side, and small products wait for one another with more."""
NO_KERNEL = ("No available kernel", "No viable backend", "Invalid backend")
BACKENDS = {"math": "MATH", "efficient": "EFFICIENT_ATTENTION", "flash": "FLASH_ATTENTION"}
"""Backend -> its name in torch.nn.attention.SDPBackend."""


class TorchContext(Context):
    """torch on one GPU, or on the CPU."""

    package = "torch"

    def __init__(self, args: SimpleNamespace, emit: Callable[..., None]) -> None:
        super().__init__(args, emit)
        self.torch: Any = None
        self.device: Any = None

    @property
    def on_gpu(self) -> bool:  # type: ignore[override]
        """True if the device under test is a GPU."""
        return self.device is not None and self.device.type != "cpu"

    @property
    def halves(self) -> tuple[str, ...]:  # type: ignore[override]
        """Old CPU builds lack kernels for float16."""
        return ("float16", "bfloat16") if self.on_gpu else ("bfloat16",)

    def load(self) -> Any:
        if self.torch is None:
            self.torch = importlib.import_module("torch")
            self.torch.set_num_threads(min(THREADS, self.torch.get_num_threads()))
            self.device = self.torch.device(pick_device(self.torch, self.args.device, self.args.gpu))
            self.ops = operations(self.torch)
        return self.torch

    def describe_build(self) -> dict[str, Any]:
        version = self.torch.version
        return {"torch": str(self.torch.__version__), "hip": getattr(version, "hip", None), "cuda": version.cuda}

    def describe(self) -> dict[str, Any]:
        """The device's properties and its PCI address; on a CPU the threads and why. It tells if the index is an integrated GPU
        and a discrete one is there too. Raises Wrong: not-available, no-such-index."""
        torch = self.torch
        if not self.on_gpu:
            why = "asked for" if self.args.device == "cpu" else "this torch was built without GPU support"
            return {"kind": "cpu", "threads": torch.get_num_threads(), "why": why}
        if not torch.cuda.is_available():
            raise Wrong("not-available", runtime_error(torch), masks=hip.visibility_variables())
        count, index = torch.cuda.device_count(), self.device.index
        if index >= count:
            raise Wrong(
                "no-such-index",
                f"GPU {index} was requested, but torch lists {count}",
                count=count,
                masks=hip.visibility_variables(),
            )
        self.take_device()
        about = properties(torch, index)
        about.update(count=count, index=index, masks=hip.visibility_variables())
        others = [n for n in range(count) if n != index and about["integrated"] and not is_integrated(torch, n)]
        return dict(about, discrete_beside=others)

    def take_device(self) -> None:
        if self.on_gpu:
            self.torch.cuda.set_device(self.device)

    def sync(self) -> None:
        if self.on_gpu and self.torch.cuda.is_initialized():
            self.torch.cuda.synchronize(self.device)

    def tidy(self) -> None:
        super().tidy()
        if self.on_gpu:
            self.torch.cuda.empty_cache()

    @contextlib.contextmanager
    def full_precision(self) -> Iterator[None]:
        torch, cudnn = self.torch, self.torch.backends.cudnn
        tf32 = temporary_setting(lambda: cudnn.allow_tf32, lambda allowed: setattr(cudnn, "allow_tf32", allowed), False)
        with tf32, temporary_setting(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "highest"):
            yield

    def new_generator(self, seed: int) -> Any:
        return self.torch.Generator().manual_seed(seed)

    def random(self, *shape: int, dtype: Any = "float32") -> Any:
        return self.cast(self.torch.randn(*shape, generator=self.generator), dtype)

    def random_bytes(self, size: int) -> Any:
        return self.torch.randint(1, 256, (size,), dtype=self.torch.uint8, generator=self.generator)

    def host(self, numbers: Sequence[float], dtype: str = "float32") -> Any:
        return self.torch.tensor(numbers, dtype=getattr(self.torch, dtype))

    def cast(self, value: Any, dtype: Any) -> Any:
        return value.to(getattr(self.torch, dtype) if isinstance(dtype, str) else dtype)

    def put(self, value: Any) -> Any:
        return self.torch.empty_like(value, device=self.device).copy_(value)

    def get(self, value: Any) -> Any:
        return value.detach().to("cpu")

    def round_trips(self) -> dict[str, Callable[[Any], Any]]:
        """The buffer at each end is zeroed first: a copy that does nothing must not look like one that works."""
        torch = self.torch

        def landing(like: Any, where: Any, pinned: bool = False) -> Any:
            return torch.empty(like.shape, dtype=like.dtype, device=where, pin_memory=pinned).zero_()

        def copy_pageable(source: Any) -> Any:
            return landing(source, "cpu").copy_(landing(source, self.device).copy_(source))

        def copy_on_device(source: Any) -> Any:
            return landing(source, "cpu").copy_(landing(source, self.device).copy_(self.put(source)))

        def copy_pinned(source: Any) -> Any:
            there = landing(source, self.device).copy_(source.pin_memory(), non_blocking=True)
            back = landing(source, "cpu", True).copy_(there, non_blocking=True)
            self.sync()
            return back

        trips: dict[str, Callable[[Any], Any]] = {"pageable": copy_pageable, "on-device": copy_on_device}
        return dict(trips, pinned=copy_pinned) if self.on_gpu else trips

    def compile(self, function: Callable[..., Any]) -> Callable[..., tuple[Any, list[Any]]]:
        def both(operands: Sequence[Any], pull: Any) -> tuple[Any, list[Any]]:
            leaves = [operand.detach().clone().requires_grad_(True) for operand in operands]
            result = function(*leaves)
            result.backward(pull)
            return result.detach(), [leaf.grad for leaf in leaves]

        return both

    def attend(self, backend: str, q: Any, k: Any, v: Any, causal: bool) -> Any:
        torch = self.torch
        with only_backend(torch, backend), warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            except RuntimeError as error:
                absent = any(words in str(error) for words in NO_KERNEL)
                if absent or (not self.on_gpu and "not implemented for" in str(error)):
                    raise NoKernel("; ".join([str(error)] + [str(w.message) for w in heard])) from None
                raise

    def use_float64(self) -> Any:
        return contextlib.nullcontext()

    def is_finite(self, value: Any) -> Any:
        return self.torch.isfinite(value)

    def same_bits(self, name: str, got: Any, want: Any) -> None:
        got, want = self.get(got).contiguous(), self.get(want).contiguous()
        if got.shape != want.shape or got.dtype != want.dtype:
            raise Wrong("shape", f"{name}: {got.dtype} {tuple(got.shape)} instead of {want.dtype} {tuple(want.shape)}")
        got, want = got.view(-1).view(self.torch.uint8), want.view(-1).view(self.torch.uint8)
        judge_bits(name, got, (got != want).nonzero().view(-1))

    def need_gpus(self, number: int) -> None:
        """Raise Skip unless so many GPUs are visible."""
        count = self.torch.cuda.device_count() if self.on_gpu else 0
        if count < number:
            raise Skip("needs-gpus", f"needs {number} GPUs, {count} are visible")


def pick_device(torch: Any, wanted: str, index: int) -> str:
    """The device to test: the GPU where torch was built for one, else the CPU."""
    if wanted == "cpu":
        return "cpu"
    built_for_gpu = bool(getattr(torch.version, "hip", None) or torch.version.cuda)
    return f"cuda:{index}" if wanted == "cuda" or built_for_gpu else "cpu"


def runtime_error(torch: Any) -> str:
    """Why the runtime gives no GPU, in its own words."""
    try:
        torch.cuda.init()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "torch.cuda.is_available() is False"


def is_integrated(torch: Any, index: int) -> bool:
    """True for an integrated GPU."""
    return bool(getattr(torch.cuda.get_device_properties(index), "is_integrated", False))


def properties(torch: Any, index: int) -> dict[str, Any]:
    """Name, memory and address of a device."""
    values = torch.cuda.get_device_properties(index)
    free, total = torch.cuda.mem_get_info(index)
    return {
        "kind": "hip" if hip.is_hip(torch) else "cuda",
        "name": values.name,
        "architecture": hip.architecture(torch, index),
        "total_bytes": total,
        "free_bytes": free,
        "integrated": is_integrated(torch, index),
        "pci": hip.pci_address(torch, index),
    }


def only_backend(torch: Any, backend: str) -> Any:
    """A block in which torch takes this attention backend only. Raises Skip for torch before 2.3, which cannot be told."""
    chooser = getattr(torch.nn, "attention", None)
    if chooser is None:
        raise Skip("no-choice", "torch before 2.3 does not choose its attention by name")
    return chooser.sdpa_kernel(getattr(chooser.SDPBackend, BACKENDS[backend]))


def operations(torch: Any) -> SimpleNamespace:
    """torch's functions by the names that the stages use."""
    functional = torch.nn.functional

    def rms_norm(x: Any, scale: Any) -> Any:
        if hasattr(functional, "rms_norm"):
            return functional.rms_norm(x, x.shape[-1:], scale, 1e-6)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * scale

    return SimpleNamespace(
        softmax=lambda x: torch.softmax(x, -1),
        causal=lambda x: x.masked_fill(torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1), -math.inf),
        gelu=functional.gelu,
        silu=functional.silu,
        sum=lambda x: x.sum(-1),
        mean=torch.mean,
        take=lambda table, places: functional.embedding(torch.tensor(places, device=table.device), table),
        swap=lambda x: x.transpose(-1, -2),
        cast=lambda x, dtype: x.to(getattr(torch, dtype)),
        layer_norm=lambda x, scale, shift: functional.layer_norm(x, x.shape[-1:], scale, shift, 1e-6),
        rms_norm=rms_norm,
        cross_entropy=lambda x, places: functional.cross_entropy(x, torch.tensor(places, device=x.device), reduction="none"),
        conv2d=lambda x, w: functional.conv2d(x, w, padding=1),
        image=((4, 8, 33, 31), (16, 8, 3, 3)),
    )
