"""Package versions in pasted text: pip list, freeze, show and install lines, uv, conda list, apt.

    ==> paste/text <==
    Package      Version
    ------------ ------------
    bitsandbytes 0.49.2
    torch        2.9.1+rocm6.4

>>> print(probe(sample))
pkg.bitsandbytes = 0.49.2
pkg.torch = 2.9.1+rocm6.4
torch.version = 2.9.1+rocm6.4
torch.build = rocm
torch.rocm = 6.4
torch.family = bundled
"""

from __future__ import annotations

import re

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.probes.python.packages import record_wheels
from rocm_doctor.probes.python.torch_build import Build, record_build
from rocm_doctor.probes.read.document import Document, Line
from rocm_doctor.probes.read.limits import PACKAGES
from rocm_doctor.probes.read.result import Artifacts, ProbeResult
from rocm_doctor.probes.read.scan import canonical, documents, texts

_VER = r"(\d+(?:\.\w+){1,5}[\w.+!-]{0,60})"
_NAME = r"([A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+){0,8})"
_FREEZE = regex(r"^\W{0,3}(?:\[pip3?\] )?" + _NAME + r"==" + _VER + r"(?:\s*;.*|\s*#.*|\s*--hash.*|\\)?$")
_URL = regex(r"^\s*" + _NAME + r" @ \S{0,300}?/([A-Za-z0-9_.]+)-(\d[\w.+!]*?(?:%2B[\w.]+)?)-[\w.]+-[\w.]+-[\w.]+\.whl")
_ROW = regex(r"^\s*" + _NAME + r"[ \t]+" + _VER + r"(?:[ \t]+(\S.*))?$")
_CONDA_BUILD = regex(r"(?:pypi_0|py[0-9]|h[0-9a-f]{6,}|mkl|\w+_\d+\b|[a-z0-9]*cuda|[a-z0-9]*rocm)")
_HEADING = regex(r"^\W{0,4}(?:Package\s+Version\b|Name\s+Version\s+Build|-{4,}\s+-{4,})")
_COMMAND = regex(
    r"\b(?:(?:pip3?|uv pip|conda|mamba|micromamba) (?:list|freeze|show)|pip3? freeze|python3? -m pip (?:list|freeze|show))\b"
)
_SHOWN = regex(r"(?:^\s*(?:Name|Package)\s*:\s*|\bpip3? show (?:-\w+ )*)" + _NAME + r"\s*(?:\||$)")
_VERSION = regex(r"^\s*Version\s*:\s*" + _VER)
_OF_SYSTEM = {**dict.fromkeys(("rocm", "rocm-core", "rocm-dev", "rocm-libs"), "rocm.version"), "amdgpu-dkms": "driver.version"}
"""The fact that a package of the system's package manager decides, with the three numbers that its version begins with."""
_INSTALLED = regex(r"(?:^|\s)([A-Za-z][A-Za-z0-9_]*(?:[-.][A-Za-z][A-Za-z0-9_]*)*(?:-gfx\w+(?:-\w+)?)?)-" + _VER + r"(?=\s|$)")
_ALREADY = regex(r"Requirement already satisfied: " + _NAME)
_AT_END = regex(r"\(" + _VER + r"\)\s*$")
_MATTERS = regex(
    r"(?:pytorch-)?triton|torch|rocm|amd-torch|amdsmi|transformers|peft|accelerate|bitsandbytes|flash|xformers|deepspeed"
    r"|unsloth|trl$|vllm"
    r"|numpy$|datasets$|onnxruntime|aiter|axolotl|llama|nvidia-c|safetensors$|tokenizers$|huggingface|diffusers|lightning"
    r"|sglang|jax|tensorflow|keras|hipb|miopen"
)
_RUN = 3


def probe(artifacts: Artifacts) -> ProbeResult:
    """pkg.<name>; with torch among them, torch.version and the facts that follow from it."""
    result = ProbeResult()
    for document in documents(artifacts, "pip", "cmd/pip*", "cmd/conda list*", "cmd/uv pip*"):
        if document.has("==", "torch", "pip ", "pip3 ", "conda ", "package"):
            _record_tables(result, document, cut_out=not document.name.startswith(("paste/text", "log/")))
    for document in texts(artifacts):
        _record_install_lines(result, document)
        _record_shown(result, document)
    _record_torch(result)
    return result


def _record_tables(result: ProbeResult, document: Document, cut_out: bool) -> None:
    """Rows of two (pip, uv) or four (conda) columns and `name==version` lines. A single row counts only for a package that matters."""
    run: list[tuple[Line, str, str]] = []
    believed = cut_out
    start = packages = 0
    for number, text in enumerate(document.text.split("\n") if len(document.text) < 2_000_000 else (), 1):
        row = _row(text.rstrip("\r")) if len(text) < 400 else None
        if row is not None:
            packages += 1
            if packages > PACKAGES:
                result.fail(document.name, f"too long: only the first {PACKAGES} packages were read", f"line {number}")
                break
            run.append((Line(number, text, start), *row))
        elif text.strip():
            _record_run(result, document, run, believed)
            run = []
            believed = (cut_out and believed) or bool(_HEADING.match(text) or _COMMAND.search(text[:400]))
        start += len(text) + 1
    _record_run(result, document, run, believed)


def _row(text: str) -> tuple[str, str] | None:
    found = _FREEZE.match(text)
    if found:
        return found.group(1), found.group(2)
    found = _URL.match(text)
    if found:
        return found.group(1), found.group(3).replace("%2B", "+")
    found = _ROW.match(text)
    if found is None or (found.group(3) and not _third_column(found.group(3))):
        return None
    return found.group(1), found.group(2)


def _third_column(rest: str) -> bool:
    """True for what may follow a version: a folder (editable), an installer, or conda's build and channel."""
    return (
        rest.startswith(("/", "~", "file:"))
        or rest in ("pip", "uv")
        or (len(rest.split()) <= 3 and _CONDA_BUILD.match(rest) is not None)
    )


def _record_run(result: ProbeResult, document: Document, run: list[tuple[Line, str, str]], believed: bool) -> None:
    for line, name, version in run:
        known = canonical(name)
        # A program prints the name of a module, which `tensorflow-rocm` shares with `tensorflow`.
        module = result.facts.get(f"pkg.{known}-rocm")
        alone = _MATTERS.match(known) and (module is None or module.value != version)
        if believed or len(run) >= _RUN or "==" in line.text or alone:
            result.record(f"pkg.{known}", version, document.reading(line))


def _record_install_lines(result: ProbeResult, document: Document) -> None:
    for line in document.find_lines("successfully installed ", most=20):
        for found in _INSTALLED.finditer(line.text):
            result.record(
                f"pkg.{canonical(found.group(1))}",
                found.group(2),
                document.reading(line, f"Successfully installed … {found.group(0).strip()}"),
            )
    for line in document.find_lines("requirement already satisfied: ", most=200):
        name, version = _ALREADY.search(line.text), _AT_END.search(line.text[-80:])
        if name and version:
            result.record(f"pkg.{canonical(name.group(1))}", version.group(1), document.reading(line))


def _record_shown(result: ProbeResult, document: Document) -> None:
    """Versions that pip and apt print some lines below the package's name, or below the command that names it."""
    for line in (
        document.find_lines("name:", "package:", "name  ", "pip show", "pip3 show", most=80) if document.has("version") else ()
    ):
        shown = _SHOWN.search(line.text)
        for following in document.after(line, 2) if shown else ():
            version = _VERSION.match(following.text)
            if shown and version:
                name = canonical(shown[1])
                number = re.match(r"\d+\.\d+\.\d+", version[1]) if name in _OF_SYSTEM else version
                if number:
                    quote = f"{line.text.strip()} {following.text.strip()}"
                    result.record(
                        _OF_SYSTEM.get(name, f"pkg.{name}"), number[number.re.groups], document.reading(following, quote)
                    )
                break


def _record_torch(result: ProbeResult) -> None:
    torch = result.facts.get("pkg.torch")
    if torch is not None and isinstance(torch.value, str):
        reading = torch.readings[0]
        result.record("torch.version", torch.value, reading)
        record_build(result, Build(torch.value), reading)
    found = {k.removeprefix("pkg."): (str(f.value), f.readings[0]) for k, f in result.facts.items() if k.startswith("pkg.")}
    record_wheels(result, found)
