"""Follow the lifetime of every storage that an operator makes on the meta device.

An *event* is ``[number, bytes]`` for a storage that comes to life and ``[number, 0]`` for one that dies. The parent replays the
events through its model of the caching allocator, so nothing is summed up here.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

ITEM = torch.ops.aten._local_scalar_dense.default
SOFTMAX_BACKWARD = torch.ops.aten._softmax_backward_data.default


class Tracker(TorchDispatchMode):
    """A dispatch mode that writes events. `phase` says what the model is doing; what is made meanwhile gets it as its label."""

    def __init__(self, vocabulary: int, batch: int, seq: int) -> None:
        super().__init__()
        self.events: list[list[int]] = []
        self.labels: dict[int, str] = {}
        self.phase = "activations"
        self._live: dict[int, tuple[int, Any]] = {}
        self._count = 0
        self._vocabulary, self._batch, self._seq = vocabulary, batch, seq

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is ITEM and args[0].device.type == "meta":
            return True  # asked of padding and positions only: "is nothing padded?", "is nothing packed?"
        out = func(*args, **(kwargs or {}))
        for leaf in tree_flatten(out)[0]:
            if isinstance(leaf, torch.Tensor) and leaf.device.type == "meta":
                self.see(leaf, None)
        if func is SOFTMAX_BACKWARD:  # the GPU kernel first makes grad * output (aten/src/ATen/native/cuda/SoftMax.cu)
            self.transient([args[0].numel() * args[0].element_size()], "attention scores")
        return out

    def see(self, tensor: Any, label: str | None) -> None:
        """Note the tensor's storage; does nothing for one already alive or for an empty one."""
        storage = tensor.untyped_storage()
        key = id(storage)
        if key in self._live or storage.nbytes() == 0:
            return
        self._count += 1
        self._live[key] = (self._count, weakref.ref(storage, functools.partial(self._dead, key)))
        self.labels[self._count] = label or self._label(tensor)
        self.events.append([self._count, storage.nbytes()])

    def _dead(self, key: int, _reference: Any) -> None:
        self.events.append([self._live.pop(key)[0], 0])

    def _label(self, tensor: Any) -> str:
        """By shape where that tells: a row of the vocabulary per token, or a square of the sequence per head."""
        shape = tensor.shape
        if self.phase == "optimizer scratch" or len(shape) < 2:
            return self.phase
        if shape[-1] == self._vocabulary and tensor.numel() >= 0.9 * self._batch * self._seq * self._vocabulary:
            return "logits and loss"
        square = shape[-1] == shape[-2] == self._seq
        return "attention scores" if square and (len(shape) == 4 or (len(shape) == 3 and shape[0] != self._batch)) else self.phase

    def relabel(self, tensors: Iterable[Any], label: str) -> None:
        """Label the storages of these tensors (parameters, gradients, optimizer states), new or known."""
        for tensor in tensors:
            self.see(tensor, label)
            entry = self._live.get(id(tensor.untyped_storage()))
            if entry is not None:
                self.labels[entry[0]] = label

    def transient(self, sizes: list[int], label: str) -> None:
        """Scratch memory in bytes that a GPU kernel takes and gives back within one call."""
        first = self._count + 1
        for size in sizes:
            self._count += 1
            self.labels[self._count] = label
            self.events.append([self._count, int(size)])
        self.events.extend([number, 0] for number in range(first, self._count + 1))
