"""`python -m rocm_doctor` is `rocm-doctor`."""

from __future__ import annotations

from rocm_doctor.cli import program

if __name__ == "__main__":
    program()
