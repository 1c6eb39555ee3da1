"""Measurements of `rocm-doctor bench`: stages that the worker of the smoke test runs, each returning figures and facts.

A stage returns `{"figures": [...], "facts": {...}, "missing": {...}}`; figures/types.py describes a figure. Python 3.8 syntax, torch alone.
"""
