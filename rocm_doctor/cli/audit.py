"""`rocm-doctor audit`: the GPU code in the installed libraries. Nothing is imported, loaded or unpacked."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from rocm_doctor.binaries import audit as audits
from rocm_doctor.binaries import table
from rocm_doctor.binaries.targets import override_target, parse_target
from rocm_doctor.binaries.types import Audit
from rocm_doctor.binaries.wheel import audit_wheel
from rocm_doctor.bounded.files import head
from rocm_doctor.cli.delivery import Printout, page_command, redact, to_json
from rocm_doctor.cli.inputs import InputError, input_errors, interpreter, notice_when_slow
from rocm_doctor.cli.options import gpu_option, no_redact_option, python_option
from rocm_doctor.reports.neutral import clean
from rocm_doctor.rules.frameworks import FRAMEWORKS

ROCM = Path("/opt/rocm")


@click.command(
    epilog="Examples:  rocm-doctor audit --gpu gfx906;  rocm-doctor audit bitsandbytes-*.whl;  rocm-doctor audit .venv"
)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@gpu_option("Judge for this target (gfx906, gfx90a:xnack-); repeatable.", multiple=True, metavar="GFX")
@click.option("--override", metavar="X.Y.Z", help="Judge as under this HSA_OVERRIDE_GFX_VERSION.")
@python_option
@no_redact_option
@click.option(
    "--strict",
    is_flag=True,
    help="With --gpu: exit with 1 if an environment has no framework with code for AMD GPUs, with 3 if a library could not be judged.",
)
@page_command("text", "json")
def command(
    path: Path | None,
    gpus: tuple[str, ...],
    override: str | None,
    python: str | None,
    no_redact: bool,
    strict: bool,
) -> Printout:
    """Show the gfx targets in the GPU code of an environment, a folder, a wheel or one library (PATH).

    Exit code 1 if a library that needs code for a --gpu has none.
    """
    for gpu in gpus:
        if parse_target(gpu) is None:
            raise InputError(f"--gpu {gpu}: invalid gfx target: write gfx1100 or gfx90a:xnack-")
    if override and override_target(override) is None:
        raise InputError(f"--override {override}: invalid value: write major.minor.step in decimal, such as 10.3.0")
    with notice_when_slow("still reading libraries"):
        audit = clean(_audit(path, interpreter(python) if python or not path else None))
    frameworks = [
        framework.name for framework in FRAMEWORKS if framework.library in {holding.library for holding in audit.holdings}
    ]
    lacks_framework = bool(gpus) and audit.kind == "environment" and not frameworks

    def render(form: str, columns: int) -> str:
        if form == "json":
            body = msgspec.to_builtins(_describe(audit, gpus, override, frameworks))
            return to_json(body if no_redact else redact(body))
        lines = list(table.lines(audit, gpus, override, columns))
        if lacks_framework:
            names = ", ".join(framework.name for framework in FRAMEWORKS)
            lines += [f"no framework here has code for AMD GPUs ({names}): `rocm-doctor check --gpu {gpus[0]}` names the cause"]
        return "\n".join(lines)

    is_short = any(table.holes(audit, gpu, override) for gpu in gpus) or (strict and lacks_framework)
    is_unknown = strict and any(table.unknown_places(audit, gpu, override) for gpu in gpus)
    return Printout(render, 1 if is_short else 3 if is_unknown else 0, redact=not no_redact)


def _audit(path: Path | None, python: str | None) -> Audit:
    """The audit of a wheel, an environment, a folder or a file. Raises InputError if it cannot be read."""
    if path is None:
        return _audit_environment(python)
    with input_errors(path, "give an environment, a folder, a wheel or a library"):
        if path.is_dir():
            is_environment = (path / "pyvenv.cfg").is_file() or (path / "conda-meta").is_dir()
            return _audit_environment(str(path)) if is_environment else audits.audit_folder(path)
        if head(path, 4) in (b"PK\x03\x04", b"PK\x05\x06"):
            return audit_wheel(path)
    return audits.audit_file(path)


def _audit_environment(python: str | None) -> Audit:
    from rocm_doctor.sources.live.python import locate

    examined = locate(python, Path("/"), os.environ)
    if isinstance(examined, str):
        raise InputError(examined)
    folders = [Path(folder) for folder in examined.folders]
    override = os.environ.get("BNB_ROCM_VERSION", "")
    return audits.audit_environment(folders, everything=True, rocm=[ROCM], bnb_override=override)


def _describe(audit: Audit, gpus: tuple[str, ...], override: str | None, frameworks: list[str]) -> dict[str, object]:
    """The audit, and for each GPU whether it can load the code of each place (null: unknown)."""
    cards = {gpu: {h.path: table.can_run(h, gpu, override) for h in audit.holdings} for gpu in gpus}
    missing = {gpu: [h.path for h in table.holes(audit, gpu, override)] for gpu in gpus}
    return {"audit": audit, "override": override, "gpus": cards, "missing": missing, "frameworks": frameworks}
