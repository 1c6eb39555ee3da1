"""What is shared, redacted: artifacts, reports, facts, and the plain lists of `audit`.

Names are learnt from all that belongs together before any of it is changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import msgspec

from rocm_doctor.bounded.patterns import regex
from rocm_doctor.model import Artifact, Fact, Finding, Reading, Report, Snapshot
from rocm_doctor.redaction.redactor import OF_A_REPOSITORY, WITHHELD, Redactor, local_redactor
from rocm_doctor.redaction.secret_names import SECRET_NAME
from rocm_doctor.redaction.vocabulary import wordset

_KEEP_FIELDS = wordset(
    "id row fingerprint follows_from severity confidence status grade why origin tool_version matrix_version verdict kind subject_kind sources solved proof"
)
_WHOLE_FILE = regex(r"(?:^|/)(unique_id|serial_number|\w+_serial|machine-id|boot_id|hostname|product_uuid)$")
_SECRET_FACTS = {
    "uuid": "uuid", "unique_id": "uuid", "hostname": "host", **dict.fromkeys(("serial", "asic_serial", "product_serial", "machine_id"), "serial"),
}  # fmt: skip

_LARGE = 1 << 16
"""Characters of a text that is learnt from last: what tools print has its names replaced, whatever a log is full of."""
_LINE = regex(r"line (\d{1,9})$")


def learn_artifacts(artifacts: Iterable[Artifact], redactor: Redactor | None = None) -> Redactor:
    """A redactor that knows this machine and all the names that the artifacts give away."""
    redactor = redactor or local_redactor()
    for item in sorted(artifacts, key=lambda a: len(a.text) > _LARGE):
        _redact_whole_file(item, redactor)
        for text in (item.name, item.text, item.note):
            redactor.learn(text)
        if line := redactor.first_withheld_line(item.text):
            redactor.withheld[item.name] = line
    return redactor


def redact_artifacts(artifacts: list[Artifact], redactor: Redactor | None = None) -> list[Artifact]:
    """The artifacts with text, note and name redacted: names are learnt from all of them before any is changed."""
    redactor = learn_artifacts(artifacts, redactor)
    return [
        msgspec.structs.replace(
            a,
            name=redactor.replace(a.name, "names"),
            text=redactor.replace(_redact_whole_file(a, redactor), a.name),
            note=redactor.replace(a.note, a.name),
        )
        for a in artifacts
    ]


def _redact_whole_file(artifact: Artifact, redactor: Redactor) -> str:
    """The text of an artifact; of a file that holds nothing but an id or the host's name, its pseudonym."""
    name = _WHOLE_FILE.search(artifact.name)
    return redactor.redact_value("host" if name[1] == "hostname" else "serial", artifact.text) if name else artifact.text


def redactor_for_reports(reports: Iterable[Report]) -> Redactor:
    """A redactor that knows this machine; of repositories it replaces nothing else but secrets and mail addresses."""
    return local_redactor(OF_A_REPOSITORY if all(report.kind == "repository" for report in reports) else frozenset())


def redact_report(report: Report, redactor: Redactor | None = None) -> Report:
    """The report with every string that may carry a secret redacted; fact names, ids, versions of ours and sources stay."""
    redactor = redactor or redactor_for_reports([report])
    # What is at a file and line of a repository must still open there; the names of its own files are no secret to its
    # readers.
    keep = _KEEP_FIELDS | {"artifact"} if report.kind == "repository" else _KEEP_FIELDS

    made = cast("Report", _redact(report, redactor, keep))
    number = report.snapshot.get("host.id").value
    host = f"host-{number}" if isinstance(number, str) and report.host else made.host
    return msgspec.structs.replace(made, host=host, snapshot=_note_withheld(made.snapshot, redactor))


def redact_finding(finding: Finding) -> Finding:
    """A finding by itself, redacted as in its report; names that only the rest of the report gives away are not known here."""
    return cast("Finding", _redact(finding, local_redactor(), _KEEP_FIELDS))


def redact_snapshot(snapshot: Snapshot, redactor: Redactor | None = None) -> Snapshot:
    """The facts and readings redacted as they would be in a report; fact names stay."""
    redactor = redactor or local_redactor()

    return _note_withheld(cast("Snapshot", _redact(snapshot, redactor, _KEEP_FIELDS)), redactor)


def _note_withheld(snapshot: Snapshot, redactor: Redactor) -> Snapshot:
    said = (
        Reading(redactor.replace(name), f"line {line}", WITHHELD.strip("[]"), "probe") for name, line in redactor.withheld.items()
    )
    return msgspec.structs.replace(snapshot, errors=(*snapshot.errors, *said)) if redactor.withheld else snapshot


def redact_plain(value: Any, redactor: Redactor | None = None) -> Any:
    """The same lists and tables with every string redacted, keys too (`audit` has paths for keys)."""
    redactor = redactor or local_redactor()

    def change_all(value: Any, change: Callable[[str], str]) -> Any:
        if isinstance(value, str):
            return change(value)
        if isinstance(value, dict):
            return {change(key): change_all(item, change) for key, item in value.items()}
        return [change_all(item, change) for item in value] if isinstance(value, list | tuple) else value

    change_all(value, redactor.text)  # learns every name before any string is changed for good
    return change_all(value, redactor.replace)


def _redact(value: object, redactor: Redactor, keep: frozenset[str]) -> object:
    """Names are learnt from all of it before any of it is changed."""
    redactor.refill()

    def learn(text: str) -> str:
        redactor.learn(text)
        return text

    _walk(value, learn, redactor, keep)
    return _walk(value, redactor.replace, redactor, keep)


def _walk(value: object, change: Callable[[str], str], redactor: Redactor, keep: frozenset[str], key: str = "") -> object:
    """`value` with `change` run over every string in it. `key` is the fact's name: a fact called uuid is a secret as a whole."""
    if isinstance(value, str):
        if key.startswith("env."):
            return _redact_variable(key.removeprefix("env."), value, change, redactor)
        kind = _SECRET_FACTS.get(key)
        return change(redactor.redact_value(kind, value) if kind else value)
    if isinstance(value, tuple):
        return tuple(_walk(item, change, redactor, keep, key) for item in value)
    if isinstance(value, dict):
        return {name: _walk(item, change, redactor, keep, _key(name)) for name, item in value.items()}
    if isinstance(value, Reading) and _is_withheld(value, redactor):
        value = msgspec.structs.replace(value, quote=WITHHELD)
    if isinstance(value, msgspec.Struct):
        # A fact hands its key down to its value; a reading's words stand beside it and are free text.
        fields = {
            f: _walk(getattr(value, f), change, redactor, keep, key if isinstance(value, Fact) and f == "value" else "")
            for f in value.__struct_fields__
            if f not in keep
        }
        return msgspec.structs.replace(value, **fields)
    return value


def _is_withheld(reading: Reading, redactor: Redactor) -> bool:
    """Whether the reading quotes a line whose names were not learnt."""
    first, line = redactor.withheld.get(reading.artifact, 0), _LINE.match(reading.place)
    return bool(first) and (line is None or int(line[1]) >= first)


def _key(name: str) -> str:
    """What a fact's name says of its value: the name of a variable, else the last word."""
    return name if name.startswith("env.") else name.rsplit(".", 1)[-1]


def _redact_variable(name: str, value: str, change: Callable[[str], str], redactor: Redactor) -> str:
    """The value of a variable, changed as it would be behind its name: that alone may tell that it is a secret."""
    if SECRET_NAME.search(name):
        return redactor.secret(value)
    return change(f"{name}={value}").partition("=")[2]
