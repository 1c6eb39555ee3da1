"""`rocm-doctor audit`: the GPU code in the installed libraries. Nothing is imported, loaded or unpacked."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from rocm_doctor.binaries import audit as audits
from rocm_doctor.binaries import table
from rocm_doctor.binaries.targets import override_target, parse_target
from rocm_doctor.binaries.types import Audit
from rocm_doctor.binaries.wheel import audit_wheel
from rocm_doctor.bounded import Unreadable
from rocm_doctor.bounded.files import head
from rocm_doctor.cli.common import InputError, completes, interpreter, page_options, print_page, python_option, to_json
from rocm_doctor.reports.neutral import clean
from rocm_doctor.rules.frameworks import FRAMEWORKS

ROCM = Path("/opt/rocm")
QUIET_SECONDS = 2.0


@click.command(
    epilog="Examples:  rocm-doctor audit --gpu gfx906;  rocm-doctor audit bitsandbytes-*.whl;  rocm-doctor audit .venv"
)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="GFX",
    shell_complete=completes("targets"),
    help="Judge for this target (gfx906, gfx90a:xnack-); repeatable.",
)
@click.option("--override", metavar="X.Y.Z", help="Judge as under this HSA_OVERRIDE_GFX_VERSION.")
@click.option("--hip", metavar="X.Y", help="torch.version.hip to assume; it decides which library bitsandbytes loads.")
@python_option
@page_options("text", "json")
@click.option("--no-redact", is_flag=True, help="Keep host and user in JSON and in files.")
@click.option(
    "--strict",
    is_flag=True,
    help="With --gpu: exit with 1 if an environment has no framework with code for AMD GPUs, with 3 if a library could not be judged.",
)
def command(
    path: Path | None,
    gpus: tuple[str, ...],
    override: str | None,
    hip: str | None,
    python: str | None,
    form: str,
    output: Path | None,
    no_redact: bool,
    strict: bool,
) -> None:
    """Show the gfx targets in the GPU code of an environment, a folder, a wheel or one library (PATH).

    Exit code 1 if a library that needs code for a --gpu has none.
    """
    _check(gpus, override)
    result = clean(_audit(path, interpreter(python) if python or not path else None, hip))
    if form == "json":
        body = msgspec.to_builtins(_as_json(result, gpus, override))
        text = to_json(body if no_redact else _redact(body))
    else:
        lines = [*table.lines(result, gpus, override, 100), *_missing_framework(result, gpus)]
        text = "\n".join(_redact(lines) if output and not no_redact else lines)
    print_page(text, output)
    sys.exit(_exit_code(result, gpus, override, strict))


def _frameworks(result: Audit) -> list[str]:
    """The frameworks whose libraries hold GPU code."""
    held = {holding.library for holding in result.holdings}
    return [one.name for one in FRAMEWORKS if one.library in held]


def _missing_framework(result: Audit, gpus: tuple[str, ...]) -> list[str]:
    """One line if --gpu was given and no framework of the environment holds code for any AMD GPU; else none."""
    if not gpus or result.kind != "environment" or _frameworks(result):
        return []
    names = ", ".join(one.name for one in FRAMEWORKS)
    return [f"no framework here has code for AMD GPUs ({names}): `rocm-doctor check --gpu {gpus[0]}` names the cause"]


def _redact(plain: Any) -> Any:
    from rocm_doctor.redaction.shared import redact_plain

    return redact_plain(plain)


def _check(gpus: tuple[str, ...], override: str | None) -> None:
    for gpu in gpus:
        if parse_target(gpu) is None:
            raise InputError(f"--gpu {gpu}: invalid gfx target: write gfx1100 or gfx90a:xnack-")
    if override and override_target(override) is None:
        raise InputError(f"--override {override}: invalid value: write major.minor.step in decimal, such as 10.3.0")


def _audit(path: Path | None, python: str | None, hip: str | None) -> Audit:
    """The audit of a wheel, an environment, a folder or a file. Raises InputError if it cannot be read."""
    progress = _Progress()
    if path is None:
        return _environment(python, hip, progress)
    try:
        if path.is_dir():
            return _environment(str(path), hip, progress) if _is_environment(path) else audits.audit_folder(path, hip, progress)
        if head(path, 4) in (b"PK\x03\x04", b"PK\x05\x06"):
            return audit_wheel(path, hip, progress)
    except (OSError, Unreadable) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InputError(f"{path}: {why}; give an environment, a folder, a wheel or a library") from error
    return audits.audit_file(path)


def _is_environment(path: Path) -> bool:
    return (path / "pyvenv.cfg").is_file() or (path / "conda-meta").is_dir()


def _environment(python: str | None, hip: str | None, progress: Callable[[str], None]) -> Audit:
    from rocm_doctor.sources.live.python import locate

    found = locate(python, Path("/"), os.environ)
    if isinstance(found, str):
        raise InputError(found)
    folders = [Path(folder) for folder in found.folders]
    override = os.environ.get("BNB_ROCM_VERSION", "")
    return audits.audit_environment(folders, hip, everything=True, rocm=[ROCM], bnb_override=override, progress=progress)


class _Progress:
    """Progress on stderr after two seconds: the file being read."""

    def __init__(self) -> None:
        self._next = time.monotonic() + QUIET_SECONDS

    def __call__(self, path: str) -> None:
        if time.monotonic() >= self._next:
            click.echo(f"reading {path}", err=True)
            self._next = time.monotonic() + QUIET_SECONDS


def _as_json(result: Audit, gpus: tuple[str, ...], override: str | None) -> dict[str, object]:
    """The audit, and for each GPU whether it can load the code of each place (null: unknown)."""
    cards = {gpu: {h.path: table.can_run(h, gpu, override) for h in result.holdings} for gpu in gpus}
    missing = {gpu: [h.path for h in table.holes(result, gpu, override)] for gpu in gpus}
    return {"audit": result, "override": override, "gpus": cards, "missing": missing, "frameworks": _frameworks(result)}


def _exit_code(result: Audit, gpus: tuple[str, ...], override: str | None, strict: bool) -> int:
    if any(table.holes(result, gpu, override) for gpu in gpus) or (strict and _missing_framework(result, gpus)):
        return 1
    return 3 if strict and any(table.unknown_places(result, gpu, override) for gpu in gpus) else 0
