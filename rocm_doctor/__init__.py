"""rocm-doctor: will this machine train on its AMD GPU, why not, and what to type to make it so."""

from __future__ import annotations

__version__ = "0.1.0"
