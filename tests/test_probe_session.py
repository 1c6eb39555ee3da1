"""Commands pasted with their output."""

from __future__ import annotations

import pytest
from text_probes import facts

from rocm_doctor.probes.text import session


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("$ cat /opt/rocm/.info/version\n6.3.1-48\n", "rocm.version", "6.3.1"),
        ("$ cat /sys/module/amdgpu/version\n6.12.12\n", "driver.version", "6.12.12"),
        ("$ uname -r\n6.8.0-85-generic\n", "kernel", "6.8.0-85-generic"),
        (">>> import torch\n>>> torch.cuda.is_available()\nFalse\n", "torch.available", False),
        ("In [2]: torch.__version__\nOut[2]: '2.2.0.dev20231010+rocm5.7'\n", "torch.version", "2.2.0.dev20231010+rocm5.7"),
        (">>> print(torch.version.hip)\nNone\n", "torch.hip", None),
        (">>> torch.cuda.is_available()\n/x/amdgpu.ids: No such file or directory\nTrue\n", "torch.available", True),
        ("$ python -c 'import torch; print(torch.__version__, torch.version.hip)'\n2.12.0+cu130 None\n", "torch.build", "cuda"),
        (
            "$ python3 -c 'import torch; print(torch.__version__); print(torch.cuda.is_available())'\n2.8.0+rocm6.4\nFalse\n",
            "torch.available",
            False,
        ),
    ],
)
def test_a_command_and_its_output(text: str, fact: str, value: object) -> None:
    found = facts(session, text)
    assert fact in found
    assert found[fact] == value


def test_output_that_does_not_fit_is_not_read() -> None:
    text = "$ python3 -c 'import torch; print(torch.__version__)'\nTraceback (most recent call last):\n"
    assert "torch.version" not in facts(session, text)
