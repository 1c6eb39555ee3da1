"""Results and gradients in float64, written out in numpy: not the tested framework's own, and no automatic differentiation.

Each function returns the result and the gradients of its operands for the gradient `pull` of the result.
"""

from __future__ import annotations

import math
from typing import Any

GELU = math.sqrt(2 / math.pi)


class References:
    """The functions, with the numpy of the examined interpreter."""

    def __init__(self, np: Any) -> None:
        self.np = np

    def softmax(self, x: Any) -> Any:
        """Softmax over the last axis, without gradients."""
        e = self.np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def attention(self, q: Any, k: Any, v: Any, causal: bool, pull: Any) -> tuple[Any, list[Any]]:
        """Scaled dot product attention of [batch, head, length, width]."""
        np, scale = self.np, 1 / math.sqrt(q.shape[-1])
        scores = q @ k.swapaxes(-1, -2) * scale
        if causal:
            scores = np.where(np.triu(np.ones(scores.shape[-2:], dtype=bool), 1), -np.inf, scores)
        weights = self.softmax(scores)
        of_weights = pull @ v.swapaxes(-1, -2)
        of_scores = weights * (of_weights - (of_weights * weights).sum(axis=-1, keepdims=True)) * scale
        return weights @ v, [of_scores @ k, of_scores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ pull]

    def linear(self, x: Any, w: Any, b: Any, pull: Any) -> tuple[Any, list[Any]]:
        """x @ w + b."""
        return x @ w + b, [pull @ w.T, x.T @ pull, pull.sum(axis=0)]

    def embedding(self, table: Any, places: Any, pull: Any) -> tuple[Any, list[Any]]:
        """Rows of a table."""
        gradient = self.np.zeros_like(table)
        self.np.add.at(gradient, places, pull)
        return table[places], [gradient]

    def layer_norm(self, x: Any, scale: Any, shift: Any, pull: Any) -> tuple[Any, list[Any]]:
        """Layer normalisation over the last axis."""
        root = 1 / self.np.sqrt(x.var(axis=-1, keepdims=True) + 1e-6)
        unit = (x - x.mean(axis=-1, keepdims=True)) * root
        inner = pull * scale
        of_x = root * (inner - inner.mean(axis=-1, keepdims=True) - unit * (inner * unit).mean(axis=-1, keepdims=True))
        return unit * scale + shift, [of_x, (pull * unit).sum(axis=0), pull.sum(axis=0)]

    def rms_norm(self, x: Any, scale: Any, pull: Any) -> tuple[Any, list[Any]]:
        """Division by the root mean square of the last axis."""
        root = 1 / self.np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)
        unit, inner = x * root, pull * scale
        return unit * scale, [root * (inner - unit * (inner * unit).mean(axis=-1, keepdims=True)), (pull * unit).sum(axis=0)]

    def gelu(self, x: Any, pull: Any) -> tuple[Any, list[Any]]:
        """The tanh form, which both frameworks offer."""
        t = self.np.tanh(GELU * (x + 0.044715 * x**3))
        slope = 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * GELU * (1 + 3 * 0.044715 * x * x)
        return 0.5 * x * (1 + t), [pull * slope]

    def silu(self, x: Any, pull: Any) -> tuple[Any, list[Any]]:
        """x times its sigmoid."""
        s = 1 / (1 + self.np.exp(-x))
        return x * s, [pull * s * (1 + x * (1 - s))]

    def cross_entropy(self, x: Any, places: Any, pull: Any) -> tuple[Any, list[Any]]:
        """Minus the logarithm of the softmax at one place of each row."""
        np, rows = self.np, self.np.arange(len(x))
        top = x.max(axis=-1)
        loss = top + np.log(np.exp(x - top[:, None]).sum(axis=-1)) - x[rows, places]
        gradient = self.softmax(x)
        gradient[rows, places] -= 1
        return loss, [gradient * pull[:, None]]

    def conv2d(self, x: Any, w: Any, pull: Any) -> tuple[Any, list[Any]]:
        """[batch, height, width, channel] with a 3 x 3 kernel of [height, width, in, out], the edges filled with zeros."""
        np, (high, wide) = self.np, x.shape[1:3]
        framed = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        result, of_framed, of_w = np.zeros(pull.shape), np.zeros_like(framed), np.zeros_like(w)
        for i in range(3):
            for j in range(3):
                part = framed[:, i : i + high, j : j + wide]
                result += part @ w[i, j]
                of_w[i, j] = np.tensordot(part, pull, axes=((0, 1, 2), (0, 1, 2)))
                of_framed[:, i : i + high, j : j + wide] += pull @ w[i, j].T
        return result, [of_framed[:, 1:-1, 1:-1], of_w]

    def lora_step(self, parts: dict[str, Any], x: Any, y: Any) -> tuple[float, dict[str, Any]]:
        """The mean squared error of two frozen layers with adapters, and the gradients of the adapters."""
        low1 = x @ parts["a1"].T
        h = x @ parts["w1"].T + 2 * low1 @ parts["b1"].T
        middle, _ = self.gelu(h, h)
        low2 = middle @ parts["a2"].T
        off = middle @ parts["w2"].T + 2 * low2 @ parts["b2"].T - y
        pull = 2 * off / off.size
        gradients = {"b2": 2 * pull.T @ low2, "a2": 2 * (pull @ parts["b2"]).T @ middle}
        _, (of_h,) = self.gelu(h, pull @ parts["w2"] + 2 * (pull @ parts["b2"]) @ parts["a2"])
        gradients.update(b1=2 * of_h.T @ low1, a1=2 * (of_h @ parts["b1"]).T @ x)
        return float((off * off).mean()), gradients
