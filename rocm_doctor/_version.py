"""The version of this package: read by the build, by the command line and by every report."""

__version__ = "0.1.0"

PROJECT = "https://github.com/rocm-doctor/rocm-doctor"
"""Where the project is."""
SOURCE = f"git+{PROJECT}"
"""What pip, pipx and uvx install: the repository, until a release is published. Documents and templates are held to it by a test."""


SITE = "https://rocm-doctor.github.io/rocm-doctor"
"""Where the pages are that `scripts/build_site.py` makes of the matrix."""


def page_of(diagnosis: str) -> str:
    """The address of the page of a diagnosis."""
    return f"{SITE}/diagnosis/{diagnosis}/"
