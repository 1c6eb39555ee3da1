"""Calls of doors to choose from: lines of texts, drawn lines, machines and wishes, damaged entries, files and texts."""

from __future__ import annotations

import ast
import contextlib
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import planted
from faults import ROOT
from planted_tickets import tickets

from calls.doors import SMALL, but, every_entry, few_builds
from calls.writer import TooMuch
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Value
from rocm_doctor.plan.formats import FORMATS
from rocm_doctor.probes import PROBES
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.sources import bundle
from rocm_doctor.sources.paste import cut

replace = msgspec.structs.replace

T = TypeVar("T")
WIDEST = 160
"""Characters of a line that is offered to redaction."""
PLANS = 600
DAMAGED = 2
"""Damaged copies of one entry that are offered."""
DRAWN = 3000
READ = 4000
EDITS = 500
"""Lines that are drawn for redaction, lines of texts, and changes of a small matrix that are offered."""


def offered(door: str, written: Callable[[Any], str]) -> Iterator[str]:
    """Calls of a door to choose from; `written` has a value as Python."""
    if door == "redaction":
        lines = _some(dict.fromkeys(line for text in _texts() for line in _lines(text)), READ)
        yield from (f"({line!r})" for line in lines)
        yield from (f"({line!r}, user='ada')" for line in lines if "ada" in line)
        yield from _lines_drawn(random.Random(1))
        yield from (f"({one!r}, {then!r}{machine})" for one, then, machine in _one_after_another(random.Random(1)))
    elif door == "plan":
        yield from _machines(random.Random(1))
    elif door == "matrix folder":
        yield from (f"({', '.join(map(repr, edit))})" for edit in _some(_edits(), EDITS))
    elif door == "probes":
        for name, texts in _to_read(random.Random(1)):
            with contextlib.suppress(TooMuch):
                yield f"({', '.join([repr(name), *map(written, texts)])})"
    elif door == "matrix":
        for values in _damaged(random.Random(1)):
            with contextlib.suppress(Exception):  # what is too long to be written
                yield f"({', '.join(map(written, values))}{',' if len(values) == 1 else ''})"


def _some(every: Iterable[T], most: int) -> list[T]:
    found = list(every)
    return random.Random(0).sample(found, min(most, len(found)))


def _texts() -> Iterator[str]:
    """Texts of the tests of redaction, planted secrets, and reports that were written."""
    import corpus

    for name in ("redaction", "privacy", "attack", "questions"):
        tree = ast.parse((ROOT / "tests" / f"test_{name}.py").read_text(encoding="utf-8"))
        yield from (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    yield from (plant.text for plant in planted.plants({**planted.FIRST, **planted.SECOND}, 1))
    for path in sorted((ROOT / "tests" / "tickets").glob("*.txt")):
        yield from (ticket.text for ticket in tickets(path.stem, 4))
    yield from (entry.text for entry in corpus.load()[::40] if not entry.real)


def _lines(text: str) -> Iterator[str]:
    """Each line, and each with the next."""
    lines = text.split("\n")
    for line, after in zip(lines, [*lines[1:], ""]):
        if line.strip() and len(line) <= WIDEST:
            yield line
            if after.strip() and len(after) <= WIDEST:
                yield f"{line}\n{after}"


PASTES = 60
COPIES = 6
"""Texts of its tests, of machines and of reports that one probe is given, and damaged copies of each text."""
LONGEST = 600
"""Characters of a text that a probe is given."""


def _to_read(draw: random.Random) -> Iterator[tuple[str, list[str | Artifact]]]:
    """Each probe with the text of its docstring, texts of tests and of machines that it may read, and damaged copies of them."""
    import corpus
    from expected_parts import PASTED
    from test_probe_examples import sample

    tests = ROOT / "tests"
    machines = [one for folder in sorted((ROOT / "fixtures").glob("*-*")) for one in bundle.read(folder)]
    reports = [entry.text for entry in corpus.load() if not entry.testing][::10]
    pasted = [(text, Artifacts(cut(text, "paste"))) for text in [*reports, *(text for path in PASTED for text in _said(path))]]
    for name, reads in PROBES:
        shown = sample(import_module(f"rocm_doctor.probes.{name}").__doc__ or "").items
        texts: list[Sequence[str | Artifact]] = [[*shown], *([one] for one in shown)]
        for text in _few(
            [text for path in sorted(tests.glob(f"test_probe_{name.rpartition('.')[2]}*.py")) for text in _said(path)], draw
        ):
            texts += [[text], [replace(shown[0], text=text, missing=None)]]
        texts += [[one] for one in _few([one for one in machines if Artifacts([one]).mention(*reads)], draw)]
        texts += [[text] for text in _few([text for text, cuts in pasted if cuts.mention(*reads)], draw)]
        for one in texts:
            yield name, [_part(text, draw) for text in one]
            yield from ((name, [_part(_damaged_text(text, draw), draw) for text in one]) for _ in range(COPIES))


def _said(path: Path) -> Iterator[str]:
    """The texts of several words in a test, whole and by paragraphs."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield from dict.fromkeys([node.value, *node.value.split("\n\n")])


def _few(every: list[T], draw: random.Random) -> list[T]:
    return draw.sample(every, min(len(every), PASTES))


def _part(one: str | Artifact, draw: random.Random) -> str | Artifact:
    """The text, or some lines of it that are one after another."""
    if isinstance(one, Artifact):
        return replace(one, text=str(_part(one.text, draw)))
    if len(one) <= LONGEST:
        return one
    lines = one.split("\n")
    first = draw.randrange(len(lines))
    return "\n".join(lines[first:])[:LONGEST]


def _damaged_text(one: str | Artifact, draw: random.Random) -> str | Artifact:
    """The text with a word or a line lost, doubled, cut or changed."""
    if isinstance(one, Artifact):
        return replace(one, text=str(_damaged_text(one.text, draw)))
    pieces = one.splitlines(True) if draw.random() < 0.4 else re.findall(r"\s+|[\w.-]+|[^\w\s]+", one)
    for _ in range(draw.choice((1, 1, 2, 4)) if pieces else 0):
        n = draw.randrange(len(pieces))
        word, other = pieces[n], draw.choice(pieces)
        pieces[n] = draw.choice(
            (
                "",
                word + word,
                word[: len(word) // 2],
                other,
                word.upper(),
                word.lower(),
                re.sub(r"\d", "7", word),
                f"{word}x",
                f" {word}",
            )
        )
    return "".join(pieces)


VALUES = (
    "ab", "abc", "hunter", "hunter2", "Hunter", "HUNTER22", "blue42", "Zq7Lm2X", "Zq7Lm2Xw", "zq7lm2xw", "ZqLmXwKf", "correcthorse", "correcthorses",
    "correct-horse-battery", "Zq7Lm2Xw9Kf4Hd1Bs3", "Zq7Lm2Xw9Kf4Hd1Bs3V", "Zq7Lm2Xw9Kf4Hd1Bs3Vn", "4f8a1c0b9d2e7f6a5b3c8d1e0f9a2b4", "4f8a1c0b9d2e7f6a5b3c8d1e0f9a2b4c",
    "2024", "123456", "12345678", "1.2.3", "true", "default", "none", "$TOKEN", "<token>", "***", "gfx906", "rocm6.4", "/opt/rocm", "disabled", "granite", "quokkat", "Quokkat", "",
)  # fmt: skip
"""Values beside a key: of each length and kind that the rules tell apart."""
KEYS = (
    "password", "Password", "PASSWORD", "passwd", "pw", "pass", "secret", "token", "api_key", "API_KEY", "key", "KEY", "session", "--token", "--password", "DB_PASSWORD", "HF_TOKEN",
    "db-pass", "auth", "pin", "max_tokens", "tokenizer", "key_size", "x-api-key", "user", "login", "host", "node", "serial", "name", "code", "email", "licence", "account", "uuid", "IP",
)  # fmt: skip
BETWEEN = (
    ": ",
    ":",
    "=",
    " = ",
    " is ",
    " was ",
    " ",
    " '",
    ' "',
    ': "',
    "='",
    ": `",
    " -> ",
    "|",
    " for ",
    " of ada is ",
    "\n",
    ": <",
)
HOSTS = (
    "eagle", "trainbox", "granite-nas", "gpu01", "node-7", "mi300-lab", "k8s-worker-3", "busy-bee", "eagle.corp.example", "login1.hpc.kestrel.ac.uk", "kestrel.de", "github.com", "localhost",
    "10.1.2.3", "192.168.1.20", "8.8.8.8", "7.2.1.0", "172.16.4.1", "127.0.0.1", "0.0.0.0", "10.0.0.0/8", "255.255.255.0", "fe80::1", "2001:db8::42", "::1", "00:1a:2b:3c:4d:5e", "001a.2b3c.4d5e",
    "4f8a1c0b-9d2e-4f6a-8b3c-8d1e0f9a2b4c", "GPU-4f8a1c0b9d2e7f6a", "(030) 1234567", "212-555-0142", "030/123 45 67", "AB12C-DE34F-GH56I-JK78L", "ABCD-1234-EF56-7890", "sha256:" + "4f" * 32,
    "ab" * 32, "fine-tuned", "self-hosted", "memory-bound", "wombex-trainer", "torch-fork", "unticked", "virtualised", "unexpectdly", "wombexley", "Theodora", "Kestrel", "QUOKKA", "quokka42", "Миша", "東京",
)  # fmt: skip
"""Names and numbers that are or are not those of a machine or a person."""
FRAMES = (
    "{0}", "on {0}", "on {0}, it hangs", "it hangs on {0} since today", "ssh {0}", "ssh ada@{0}", "ssh -J {0} x", "$ ssh {0}", "from {0}.", "by {0}", "https://{0}/x", "https://ada:{1}@{0}/x", "http://{0}:8080",
    "s3://{0}/runs", "git@{0}:team/x.git", "/home/{0}/x", "/data/{0}/x.py", "C:\\Users\\{0}\\x", "{0}:~$ ls", "root@{0}:/# ls", "[{0}] ok", "<{0}> hi", "{0}: yes I did", "Hi {0},", "Thanks {0}", "{0} said it is fine",
    "asked {0}", "my name is {0}", "cc @{0}", "{0} wrote:", "-- {0}", "Reported-by: {0}", "export HOST={0}", "--name {0}", "docker run {0}", "the {0} of torch", "torch-{0}", "{0}-torch", "{0}_x", "x.{0}", "{0}.py", "import {0}",
    "version {0}", "rocm {0}", "== {0}", "with {0} and {1}", '"{0}": "{1}"', "{0}={1}", "das ist {0} und nicht gut", "der Fehler ist mit {0} noch da", "le {0} est pas dans la", "0::/docker/{0}", "/var/lib/docker/containers/{0}", "{0}\n{1}",
    "Card series: {0}", "model name: {0}", "[PATCH] {0}", "at 0x7f3a {0}", "commit {0}", "{0} ({1})", "error in {0} at {1}", "bash: {0}: command not found", "WARNING {0} is low", "I think {0} might be busy.",
)  # fmt: skip
"""Lines in which it depends on what is around a word whether it is one."""


def _lines_drawn(draw: random.Random) -> Iterator[str]:
    assigned = [f"{before}{key}{between}{value}{end}" for key, between, value in product(KEYS, BETWEEN, VALUES)
                for before, end in [draw.choice((("", ""), ("", "."), ("the ", ""), ("  ", '"'), ("my_", "'"), ("x.", ","), ("", " and")))]]  # fmt: skip
    framed = [
        frame.format(draw.choice(HOSTS), draw.choice(HOSTS + VALUES))
        for frame in FRAMES
        for _ in range(DRAWN // len(FRAMES) // 2)
    ]
    framed += [frame.format(host, "x") for frame, host in product(FRAMES, HOSTS)]
    yield from (f"({line!r})" for line in dict.fromkeys([*_some(assigned, DRAWN), *_some(framed, DRAWN)]))


def _one_after_another(draw: random.Random) -> Iterator[tuple[str, str, str]]:
    """Two texts of one report: what the first gives away is replaced in the second, whole or cut off; and machines that know their names."""
    found = planted.plants({**planted.FIRST, **planted.SECOND}, 3)
    for plant in draw.sample(found, min(len(found), 400)):
        secret = draw.choice(plant.secrets) if plant.secrets else plant.text
        part = draw.choice(
            (
                secret,
                secret.upper(),
                secret.split("@")[-1],
                secret.split(".")[0],
                secret.split(" ")[0],
                f"x{secret}",
                f"{secret}_1",
            )
        )
        cut = f"{'the log of the run on the machine says at its end that it was ' * 2}{secret[: max(4, len(secret) * 2 // 3)]}"
        yield plant.text, draw.choice((f"see {part} again", part, f"{part}-{part}", f'"{part}": 1', cut, cut)), ""
    machines = ({"host": "trainbox.kestrel.example", "user": "adalove", "home": "/home/adalove"}, {"user": "ada", "home": "/srv/people/adalove"}, {"home": "C:\\Users\\adalove"}, {"home": "D:\\people\\adalove\\"},
                {"user": "root", "home": "/root"}, {"host": "localhost", "home": "/"}, {"host": "node-1", "user": "user"}, {"home": "/home/adalove/"}, {"user": "AdaLove"})  # fmt: skip
    said = (
        "adalove",
        "/home/adalove/x",
        "/srv/people/adalove/runs",
        "trainbox",
        "trainbox.kestrel.example",
        "TRAINBOX",
        "C:\\Users\\adalove\\x",
        "D:\\people\\adalove\\x",
        "/root/x",
        "localhost",
        "ADALOVE",
        "adalove_1",
        "adaloved",
        "kestrel",
    )
    for machine, one, then in product(machines, said, said[::3]):
        yield one, then, "".join(f", {name}={value!r}" for name, value in machine.items())


def _machines(draw: random.Random) -> Iterator[str]:
    catalog = few_builds()
    names, targets = sorted(catalog.packages), sorted(catalog.matrix.gfx)
    choices: dict[str, tuple[str, ...]] = {
        "python": ("3.9", "3.10", "3.11", "3.13", "3.14", ""),
        "system": ("linux", "windows", "wsl"),
        "driver": ("inbox", "6.3.6", "6.8.5", "6.10.5", "6.12.12", "6.16.6", "30.10", "9.9", "26.1.1"),
        "kernel": ("5.15.0-119-generic", "6.8.0-60-generic", "6.14.0-37-generic", "6.18.0"),
        "glibc": ("2.27", "2.31", "2.39"),
        "index": ("rocm6", "rocm7", "repo.radeon.com", "nightly"),
        "form": (*FORMATS,),
    }
    here = (
        {"torch": "2.9.0+cu128"},
        {"torch": "2.9.1+rocm6.4", "transformers": "4.40.0"},
        {"bitsandbytes": "0.43.0"},
        {"numpy": "1.26.4"},
    )
    for _ in range(PLANS):
        wish = " ".join([draw.choice(("", "full", "lora", "qlora")), *draw.sample(names, draw.choice((0, 0, 1, 2)))]).strip()
        given: dict[str, Any] = {"wish": wish} if wish else {}
        given |= {name: draw.choice(values) for name, values in choices.items() if draw.random() < 0.3}
        given |= {"here": draw.choice(here)} if draw.random() < 0.2 else {}
        given |= {"facts": _facts(draw)} if draw.random() < 0.4 else {}
        yield f"({draw.choice(targets)!r}{''.join(f', {name}={value!r}' for name, value in given.items())})"


def _edits() -> Iterator[tuple[str, ...]]:
    """Changes of tests/small_matrix: a line less, doubled, or with another value, and whole files."""
    for path in sorted(one for one in SMALL.rglob("*") if one.is_file()):
        file, text = path.relative_to(SMALL).as_posix(), path.read_text(encoding="utf-8")
        yield from ((file, "", new) for new in ("", "- 5\n", "{}\n", "x: [\n", "a: 1\n"))
        for line in dict.fromkeys(text.splitlines()):
            key, colon, value = line.partition(": ")
            yield from ((file, line + "\n", ""), (file, line, f"{line}\n{line}"), (file, line, f"{line} "))
            for other in ("", "[]", "5", "{}", "[x]", '"x"', "2030-01-01", "{a: b}", '"a b"', "[{a: 1}]") if colon else ():
                yield file, line, f"{key}: {other}"
            yield from ((file, word, f"{word}x") for word in value.split() if word.strip("[]{},:"))


def _facts(draw: random.Random) -> dict[str, Value]:
    """What was read of a machine."""
    from expected import MACHINE, UNREAD

    of_stacks = tuple(name for name in MACHINE if name.startswith(("env.", "code.", "soname.")))
    names = (*draw.sample(tuple(MACHINE), draw.choice((0, 1, 2))), *draw.sample(of_stacks, draw.choice((1, 2))))
    found = {name: draw.choice(MACHINE[name]) for name in names}
    found |= {"os": draw.choice(("Ubuntu 24.04.1 LTS", "Fedora Linux 42", "Arch Linux"))} if draw.random() < 0.5 else {}
    return {name: value for name, value in found.items() if value is not UNREAD}


def _damaged(draw: random.Random) -> Iterator[tuple[Any, ...]]:
    """Entries with a field damaged, alone and beside what they refer to."""
    from expected_parts import damaged

    matrix = load()
    every = [
        *every_entry().values(),
        *matrix.rows,
        *matrix.gfx.values(),
        *matrix.env.values(),
        *matrix.programs.values(),
        *matrix.diagnoses.values(),
    ]
    for one in every:
        for _ in range(DAMAGED):
            field, bad = damaged(one, draw)
            yield (but(one, **{field: bad}),)
    for peak in matrix.peaks:
        beside = [one for one in matrix.gfx.values() if one.gfx == peak.gfx]
        rates = [one for one in matrix.rates.values() if one.family in {target.family for target in beside}][:1]
        for _ in range(DAMAGED):
            field, bad = damaged(peak, draw)
            yield (but(peak, **{field: bad}), *beside, *rates)
    for row in draw.sample(list(matrix.rows), 80):
        other = but(row, key="other", status=draw.choice(("works", "broken", "wrong")))
        field, bad = damaged(other, draw)
        yield from ((row, other), (row, but(other, **{field: bad})), (row, row))
        yield (row, matrix.diagnoses[row.diagnosis])
    for target in matrix.gfx.values():
        yield (target, but(target, gfx="gfx900"))
        yield from ((target, one) for one in matrix.support if target.gfx in one.scope)
