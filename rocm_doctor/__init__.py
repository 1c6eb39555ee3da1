"""rocm-doctor: can this machine train on its AMD GPU, why not, and what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocm_doctor._version import __version__

if TYPE_CHECKING:
    from rocm_doctor.api import BundleError, Finding, NoAmdGpu, NotReady, Report, check, read_report, require
    from rocm_doctor.integrations.training import guarded

__all__ = [
    "BundleError",
    "Finding",
    "NoAmdGpu",
    "NotReady",
    "Report",
    "__version__",
    "check",
    "guarded",
    "read_report",
    "require",
]


def __getattr__(name: str) -> Any:
    """A name of api.py or of the integrations, imported on first use: the command line starts without them."""
    if name in __all__:
        from importlib import import_module

        module = "integrations.training" if name == "guarded" else "api"
        return getattr(import_module(f"rocm_doctor.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, which `help` and completion show although they are imported on first use."""
    return sorted({*globals(), *__all__})
