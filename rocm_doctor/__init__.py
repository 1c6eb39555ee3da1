"""rocm-doctor: will this machine train on its AMD GPU, why not, and what to type to make it so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocm_doctor._version import __version__

if TYPE_CHECKING:
    from rocm_doctor.api import NotReady, check, require

__all__ = ["NotReady", "__version__", "check", "require"]


def __getattr__(name: str) -> Any:
    """`check`, `require` and `NotReady` from api.py when they are first asked for: the command line starts without them."""
    if name in ("NotReady", "check", "require"):
        from rocm_doctor import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
