"""rocm-doctor: can this machine train on its AMD GPU, why not, and what to type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocm_doctor._version import __version__

if TYPE_CHECKING:
    from rocm_doctor.api import BundleError, Finding, NoAmdGpu, NotReady, Report, check, read_report, require

__all__ = ["BundleError", "Finding", "NoAmdGpu", "NotReady", "Report", "__version__", "check", "read_report", "require"]


def __getattr__(name: str) -> Any:
    """A name of api.py, imported on first use: the command line starts without it."""
    if name in __all__:
        from rocm_doctor import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
