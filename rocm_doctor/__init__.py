"""rocm-doctor: can this machine train on its AMD GPU, why not, and what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocm_doctor._version import __version__

if TYPE_CHECKING:
    from rocm_doctor.api import BundleError, Finding, NoAmdGpu, NotReady, Report, check, read_report, require
    from rocm_doctor.integrations.answers import fit_for, plan_for
    from rocm_doctor.integrations.notebook import load_ipython_extension
    from rocm_doctor.integrations.pytest_plugin import requires_rocm
    from rocm_doctor.integrations.training import guarded

__all__ = [
    "BundleError", "Finding", "NoAmdGpu", "NotReady", "Report", "__version__", "check", "fit_for", "guarded",
    "load_ipython_extension", "plan_for", "read_report", "require", "requires_rocm",
]  # fmt: skip
_BESIDE_API = {
    "fit_for": "answers", "plan_for": "answers", "load_ipython_extension": "notebook",
    "guarded": "training", "requires_rocm": "pytest_plugin",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """A name of api.py or of the integrations, imported on first use: the command line starts without them."""
    if name in __all__:
        from importlib import import_module

        module = f"integrations.{_BESIDE_API[name]}" if name in _BESIDE_API else "api"
        return getattr(import_module(f"rocm_doctor.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, which `help` and completion show although they are imported on first use."""
    return sorted({*globals(), *__all__})
