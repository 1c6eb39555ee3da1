# mypy: ignore-errors
"""A prelude of the worker: makes one thing slow, named by PLANT, as a broken machine would. The worker runs it before its stages.

They are for a GPU; docs/bench.md has what they gave on an H200.
"""

import os

PLANT = os.environ.get("PLANT", "")


def plant_sensors():
    """The sensors report a clock that is stuck, and the products take as long as they would at it."""
    from rocm_doctor_workers.bench import products, sensors

    fake = {"clock_mhz": 345, "power_watts": 150.0, "temperature_c": 40}
    limits = {"clock_max_mhz": 1980, "power_cap_watts": 700.0, "power_default_watts": 700.0}
    sensors.find_sensors = lambda context: sensors.Sensors(lambda: dict(fake), dict(limits))
    for module in ("timing", "idle"):
        __import__(f"rocm_doctor_workers.bench.{module}", fromlist=["x"]).find_sensors = sensors.find_sensors
    usual = products.plain_products

    def slower(context, dtype):
        make = usual(context, dtype)

        def made(m, k, n):
            action = make(m, k, n)
            return lambda: [action() for _ in range(4)]

        return made

    products.plain_products = slower


def plant_shapes():
    """The training shape is far too small."""
    from rocm_doctor_workers.bench import products

    products.TRAINING = (64, 512, 512)


def plant_math():
    """The fused attention paths are switched off."""
    from rocm_doctor_workers.bench import attention

    usual = attention.attention

    def without(context):
        backends = context.torch.backends.cuda
        backends.enable_flash_sdp(False)
        backends.enable_mem_efficient_sdp(False)
        if hasattr(backends, "enable_cudnn_sdp"):
            backends.enable_cudnn_sdp(False)
        return usual(context)

    stages["rate-attention"] = without  # noqa: F821


def plant_pageable():
    """Pinning does nothing."""
    from rocm_doctor_workers.bench import memory

    usual = memory.copies

    def without(context):
        context.torch.Tensor.pin_memory = lambda self, *_: self
        return usual(context)

    stages["rate-copies"] = without  # noqa: F821


def plant_peer():
    """The GPUs have no access to each other, and what is copied between them goes through pageable memory of the host."""
    from rocm_doctor_workers.bench import memory

    def without(context):
        cuda, usual = context.torch.cuda, memory.rate
        cuda.can_device_access_peer = lambda *_: False
        here, there = (context.torch.empty(memory.COPY, dtype=context.torch.uint8, device=f"cuda:{n}") for n in (0, 1))
        memory.rate = lambda context, name, unit, _, *rest: usual(context, name, unit, lambda: there.copy_(here.cpu()), *rest)
        return memory.peer(context)

    stages["rate-peer"] = without  # noqa: F821


if PLANT:
    globals()[f"plant_{PLANT}"]()
