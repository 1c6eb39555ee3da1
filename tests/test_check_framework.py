"""Which framework `check` tests."""

from __future__ import annotations

import pytest

from rocm_doctor.cli.machine import choose_smoke_framework
from rocm_doctor.model import Artifact

NODE = Artifact("dev/kfd", "live", "exists: yes\n")
TORCH = Artifact("py/torch/version.py", "live", "__version__ = '2.13.0+rocm7.2'\nhip: Optional[str] = '7.2.53211'\n")
CUDA = Artifact(
    "py/torch/version.py", "live", "__version__ = '2.13.0+cu130'\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n"
)


def packages(*lines: str) -> Artifact:
    return Artifact("py/packages", "live", "\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("artifacts", "framework"),
    [
        ([NODE, TORCH, packages("torch==2.13.0")], "torch"),
        ([NODE, TORCH, packages("jax==0.11.2", "torch==2.13.0")], "torch"),
        ([NODE, CUDA, packages("jax==0.11.2", "torch==2.13.0+cu130")], ""),
        ([NODE, TORCH, packages("jax==0.11.2", "jax_rocm7_plugin==0.11.2", "torch==2.13.0")], "auto"),
        ([NODE, CUDA, packages("jax==0.11.2", "jax-rocm7-plugin==0.11.2", "torch==2.13.0+cu130")], "jax"),
        ([NODE, TORCH, Artifact("declared/framework", "declared", "framework: jax\n")], "jax"),
        ([NODE, packages("jax==0.11.2", "jaxlib==0.11.2")], "auto"),
        ([NODE, packages("tensorflow-rocm==2.14.0.600")], ""),
        ([NODE, TORCH, Artifact("declared/framework", "declared", "framework: tensorflow\n")], ""),
        ([NODE, packages("jaxtyping==0.3")], ""),
        ([packages("jax==0.11.2")], ""),
        ([TORCH], ""),
        ([Artifact("cmd/hipInfo", "live", "device# 0\n"), packages("jax==0.11.2")], "auto"),
    ],
)
def test_torch_is_tested_first_and_another_framework_where_it_is_absent(artifacts: list[Artifact], framework: str) -> None:
    assert choose_smoke_framework(artifacts) == framework
