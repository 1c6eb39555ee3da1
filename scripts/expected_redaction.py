"""The page of tests/expected with planted secrets and a report after redaction."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import msgspec

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
import planted
from planted_tickets import tickets

from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact, Fact, Finding, Gpu, Reading, Report, ReportKind, Snapshot, Unknown, Value
from rocm_doctor.redaction.redactor import Redactor
from rocm_doctor.redaction.shared import having_read, redact_artifacts, redact_plain, redact_report, redact_snapshot

replace = msgspec.structs.replace
SHAPES = ("{0}: Zq7Lm2Xw9Kf4", "{0}=Zq7Lm2Xw9Kf4", "--{0} quokkat", "quokkat@{0}", "quokkat.{0}", "/{0}/quokkat/x", "{0} quokkat")
"""Lines in which a word of the redaction's tables decides whether what stands beside it is a name or a secret."""


def redacted(matrix: Matrix) -> str:
    """Planted secrets after redaction: what is replaced, by what, and what stays."""
    plants = [*planted.plants(planted.FIRST, 1), *planted.plants(planted.SECOND, 2)]
    lines = ["# Written by scripts/regen.py: the secrets of tests/planted.py and of tickets after redaction, with random values."]
    for plant in plants:
        lines += ["", f"== {plant.kind}", Redactor("trainbox", "ada", "/home/ada").text(plant.text)]
    for ticket in (*tickets("rules", 3), *tickets("fifth", 4)):
        lines += ["", f"== ticket: {ticket.name}", Redactor().text(ticket.text)]
    for module in ("addresses", "fields", "folders", "known", "machines", "people", "persons", "secret_names", "secrets"):
        lines += ["", f"== the words of {module}.py in lines of common shapes"]
        lines += (" ; ".join(Redactor().text(shape.format(word)) for shape in SHAPES) for word in _words(module))
    lines += [line for kind in ("machine", "repository") for line in _report(kind)]
    return "\n".join(lines) + "\n"


def _report(kind: ReportKind) -> Iterator[str]:
    """A report and its artifacts, whose names are learnt from all of them, with a log that is withheld from some line on."""
    facts: dict[str, Value] = {
        "gpu.uuid": "GPU-4f8a1c0b9d2e7f6a", "board.serial": "PF3XQ81Z", "hostname": "eagle-7", "host.id": "12", "env.HF_TOKEN": "Zq7Lm2Xw9Kf4Hd1Bs3Vn", "env.API_KEY": "", "env.USER": "adalove",
        "env.PATH": "/home/adalove/bin:/opt/rocm/bin", "user.groups": ("adalove", "render"), "kernel": "6.8.0-60-generic", "vram_bytes": 17163091968, "pkg.torch": None, "place": Unknown("denied"),
    }  # fmt: skip
    artifacts = [
        Artifact("host/hostname", "bundle", "eagle-7\n"), Artifact("dmi/product_serial", "bundle", "PF3XQ81Z\n"), Artifact("fs/etc/machine-id", "bundle", ""), Artifact("etc/hostname", "bundle", "localhost"),
        Artifact("log/of-adalove.log", "bundle", "adalove@eagle-7:~$ ssh wombex@10.1.2.3\nthe token is Zq7Lm2Xw9Kf4Hd1Bs3Vn\n", note="read as adalove"),
        Artifact("log/long.log", "bundle", "".join(f"name: wombex{n}y\n" for n in range(400))),
    ]  # fmt: skip
    redactor = Redactor("eagle-7.corp.example", "adalove", "/home/adalove")
    redactor._left = 400
    having_read(artifacts, redactor)
    readings = tuple(Reading(artifact, place, f"{artifact} wombex399y adalove") for artifact, place in
                     (("log/long.log", "line 1"), ("log/long.log", "line 399"), ("log/long.log", "fact"), ("log/of-adalove.log", "line 2")))  # fmt: skip
    snapshot = Snapshot(
        {name: Fact(value, readings[:1]) for name, value in facts.items()},
        (Gpu({"uuid": Fact("4f8a1c0b9d2e7f6a")}),),
        errors=readings,
    )
    one = Finding(
        "adalove", "Seen on eagle-7", "error", "high", "/home/adalove/x.py fails.", evidence=readings, subject="eagle-7"
    )
    report = Report(
        1,
        "0.1.0",
        "2026.11.22",
        "problems",
        "eagle-7 fails",
        (one,),
        (),
        snapshot,
        "bundle of adalove",
        kind=kind,
        host="eagle-7",
    )
    left = [f"{a.name} | {a.note} | {a.text[:200]!r} {len(a.text)}" for a in redact_artifacts(artifacts, redactor)]
    plain = redact_plain({"/home/adalove/x": ["eagle-7", 5, ("wombex@10.1.2.3",)]}, Redactor("eagle-7", "adalove"))
    made = [
        redact_report(report, redactor),
        redact_report(replace(report, snapshot=Snapshot({}), host=""), redactor),
        redact_snapshot(snapshot, redactor),
    ]
    yield from ("", f"== a report of a {kind}", *left, f"{plain}", f"withheld: {redactor.withheld}")
    yield from (line for value in made for line in msgspec.json.encode(value).decode().replace("},", "},\n").split("\n"))
    yield from (f"{one.pseudonym} {one.shown} {one.first}" for one in redactor.replaced[:12])


def _words(module: str) -> Iterator[str]:
    """Every word in the tables of a module."""
    for table in vars(import_module(f"rocm_doctor.redaction.{module}")).values():
        if isinstance(table, (frozenset, tuple)):
            yield from sorted(one for one in table if isinstance(one, str) and one.isprintable() and "{" not in one)
