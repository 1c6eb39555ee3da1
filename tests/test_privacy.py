"""Nothing that identifies a person or a machine, and no secret, is in anything that is shared; nothing technical is lost."""

from __future__ import annotations

import html
import io
import json
import re
import zipfile
from functools import cache
from pathlib import Path

import msgspec
import pytest
from called import called
from planted import FIRST, SECOND, Plant, plants
from planted_tickets import Ticket, tickets

from rocm_doctor.bounded.texts import lower
from rocm_doctor.model import Artifact, Finding, Reading, Report, Snapshot
from rocm_doctor.redaction import redactor as redactor_module
from rocm_doctor.redaction import shared as shared_module
from rocm_doctor.redaction import unknown as unknown_module
from rocm_doctor.redaction import vocabulary
from rocm_doctor.redaction.find import every_rule
from rocm_doctor.redaction.known import load_known
from rocm_doctor.redaction.redactor import Redactor
from rocm_doctor.redaction.rules import RedactionRule, RuleSet
from rocm_doctor.redaction.secrets import secret_rules
from rocm_doctor.redaction.shared import learn_artifacts, redact_artifacts, redact_plain, redact_report, redact_snapshot
from rocm_doctor.reports import FORMATS, RenderOptions, render
from rocm_doctor.sources import bundle

SECRET_KINDS = {"token", "named key", "url", "private key"}
ALL = [*plants(FIRST, 20261121), *plants(SECOND, 20261122)]
few_or_all_plants = pytest.mark.parametrize(
    "planted", [pytest.param(ALL[::4], id="a fourth"), pytest.param(ALL, id="all", marks=pytest.mark.slow)]
)


@cache
def _shared(text: str) -> dict[str, str]:
    """What leaves about one ticket, by format: each line of it is quoted in the report."""
    artifacts = [Artifact("log/ticket.log", "bundle", text)]
    known_names = learn_artifacts(artifacts, Redactor())
    lines = tuple(Reading("log/ticket.log", f"line {n}", line) for n, line in enumerate(text.splitlines(), 1))
    finding = Finding(
        "access.permission", "title", "error", "high", "cause", subject=lines[0].quote, evidence=lines, advice=lines[-1].quote
    )
    snapshot = Snapshot(errors=lines)
    report = redact_report(Report(1, "0", "0", "problems", "summary", (finding,), (), snapshot), known_names)
    # The report is redacted before a format is chosen: which formats show it goes by turns.
    styles = dict.fromkeys(("json", "markdown", FORMATS[len(text) % len(FORMATS)]))
    out = {style: render(style, report, RenderOptions(verbose=True)) for style in styles}
    if len(text) % 2:
        out["probe"] = msgspec.json.encode(redact_snapshot(snapshot, known_names)).decode()
    else:
        out["audit"] = json.dumps(redact_plain({"place": text, text: [text]}, Redactor()), ensure_ascii=False)
    packed = zipfile.ZipFile(io.BytesIO(bundle.write(redact_artifacts(artifacts, Redactor()), {})))
    out["bundle"] = "\n".join(packed.read(name).decode() for name in packed.namelist())
    return out


def _leaks(planted: list[Plant]) -> list[str]:
    return [
        f"{style}: {secret} of {plant.text!r}"
        for plant in planted
        for style, text in _folded(plant.text).items()
        for secret in plant.secrets
        if secret.casefold() in text
    ]


def test_two_hundred_and_more_are_planted_in_twelve_kinds() -> None:
    assert len({plant.kind for plant in ALL}) == len({plant.kind for plant in ALL[::4]}) == 12
    assert sum(len(plant.secrets) for plant in ALL) >= 400
    assert sum(len(ticket.planted) for ticket in TICKETS) >= 700


@few_or_all_plants
def test_no_planted_token_leaves_in_any_format(planted: list[Plant]) -> None:
    assert _leaks([plant for plant in planted if plant.kind in SECRET_KINDS]) == []


@few_or_all_plants
def test_at_most_two_in_a_hundred_names_hosts_and_addresses_leave(planted: list[Plant]) -> None:
    names = [plant for plant in planted if plant.kind not in SECRET_KINDS]
    chances = sum(len(plant.secrets) * len(_shared(plant.text)) for plant in names)
    leaks = _leaks(names)
    assert len(leaks) <= 0.02 * chances, "\n".join(leaks)


TICKETS = [
    ticket
    for name in (
        "third",
        "fourth",
        "fifth",
        "sixth",
        "seventh",
        "eighth",
        "ninth",
        "tenth",
        "eleventh",
        "twelfth",
        "thirteenth",
        "fourteenth",
        "fifteenth",
        "sixteenth",
        "rules",
    )
    for ticket in tickets(name, 20261122)
]


some = pytest.mark.parametrize(
    "some", [pytest.param(TICKETS[::12], id="a twelfth"), pytest.param(TICKETS, id="all", marks=pytest.mark.slow)]
)


@cache
def _folded(text: str) -> dict[str, str]:
    return {style: shared.casefold() for style, shared in _shared(text).items()}


def _spelled(value: str) -> set[str]:
    """The value as the formats escape it."""
    return {value, html.escape(value), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}


def _leaked(ticket: Ticket, value: str, kind: str) -> list[str]:
    words = [value, *(w for w in value.split() if len(w) > 3)] if kind == "person" else [value]
    forms = {form.casefold() for word in words for form in _spelled(word)}
    return [style for style, text in _folded(ticket.text).items() if any(form in text for form in forms)]


@some
def test_whole_tickets_keep_their_secrets(some: list[Ticket]) -> None:
    planted = [(ticket, value, kind) for ticket in some for kind, value in ticket.planted]
    found = [(ticket.name, value, kind) for ticket, value, kind in planted if _leaked(ticket, value, kind)]
    assert not [one for one in found if one[2] in ("token", "password")]
    assert len(found) <= 0.02 * len(planted), found


@some
def test_whole_tickets_keep_what_is_technical(some: list[Ticket]) -> None:
    lost = [
        (ticket.name, word)
        for ticket in some
        for word in ticket.kept
        for style in ("bundle", "json", "markdown")
        if not any(form in _shared(ticket.text)[style] for form in {*_spelled(word), word.replace("_", "\\_")})
    ]
    assert len(lost) <= 0.01 * sum(len(ticket.kept) for ticket in some) * 3, lost


def test_every_rule_has_an_example() -> None:
    """A rule that finds nothing in all that is planted is one that no test would miss. Most are seen while all search together;
    those that another one was faster than search alone."""
    seen: set[RedactionRule] = set()

    def noted(rule: RedactionRule) -> RedactionRule:
        def accept(match: re.Match[str]) -> bool:
            taken = rule.accept is None or rule.accept(match)
            if taken and any(value and not name.startswith("of_") for name, value in match.groupdict().items()):
                seen.add(rule)
            return taken

        return rule._replace(accept=accept)

    texts = [(text, lower(text)) for text in (*(plant.text for plant in ALL), *(ticket.text for ticket in TICKETS))]

    def is_idle(rule: RedactionRule) -> bool:
        alone = RuleSet([rule])
        return not any(True for pair in texts for _ in alone.find(*pair))

    together = RuleSet([noted(rule) for rule in every_rule()])
    for pair in texts:
        list(together.find(*pair))
    assert [rule.pattern.source for rule in every_rule() if rule not in seen and is_idle(rule)] == []


@some
def test_redaction_of_what_is_redacted_changes_nothing(some: list[Ticket]) -> None:
    for text in [*(plant.text for plant in ALL[::4]), *(ticket.text for ticket in some)]:
        out = Redactor().text(text)
        assert Redactor().text(out) == out, text


@pytest.mark.parametrize(
    "kept",
    [
        "Linux Mint 22.2",
        "Rocky Linux release 9.3",
        "Red Hat Enterprise Linux Server 8.10",
        "SUSE Linux Enterprise 15.5",
        "pytorch_release_2.3.0",
        "git clone git@github.com:ROCm/x.git # the fork",
        "https://github.com/ROCm/ROCm/issues/1",
        "CMake 3.29.0.1",
        "AMDSMI 24.2.0.0",
        "torch 13.1.1.3",
        "root@gfx1100:~# rocminfo",
        "root@strix:~# ls",
        "Linux 7900xtx 6.8.0-45-generic #45-Ubuntu SMP",
        "HSA_OVERRIDE_GFX_VERSION=10.3.0 makes gfx1100 load gfx1030",
        "pip install torch --index-url https://download.pytorch.org/whl/rocm6.2",
        "https://huggingface.co/meta-llama/Llama-3.1-8B/tree/main",
        "user: What is the capital of France?",
        "def connect(host: str = 'localhost', port: int = 29500)",
        "key=model.layers.0.self_attn.q_proj.weight",
        "pad_token_id=151645 max_tokens: 4096, tokenizer: LlamaTokenizerFast",
        "commit 0123456789abcdef0123456789abcdef01234567",
        "docker run -it --device=/dev/kfd --group-add render rocm/pytorch:latest",
        "sha256:" + "ab" * 32,
        "crw-rw---- 1 root render 226, 128 Nov 21 09:00 /dev/dri/renderD128",
        "/home/user/x and /home/ubuntu/y",
        "threading.local() and from werkzeug.local import x",
        "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!",
        "Author: PyTorch Team",
        "localhost:29500 refused, [W socket.cpp:464] to [localhost]:29500",
        "groups=0(root),44(video),109(render)",
        "User=llm, as root it works",
        "layers offloaded, then on the first token:\n\n\nggml_cuda_compute_forward: RMS_NORM failed",
        "/home/user/bitsandbytes/csrc/ops.hip",
        "gpu:0 connected to cuda:0",
        "sk-learn-compatible-estimators-for-everyone",
        "sudo: a password is required; the token is invalid and the key is missing",
        "pass --device=/dev/kfd to docker, or pass HSA_OVERRIDE_GFX_VERSION=10.3.0",
        "all tests pass: 41 passed, the second pass: 3.1 s",
        "Hi all, hello everyone! Dear maintainers, thanks in advance",
        "Docker says no. Ollama reported 0 GPUs. AMD confirmed it",
        "it works from source but not from wheels, on Ubuntu, on Debian and on Windows",
        "on branch main, git checkout develop, conda activate rocm",
        "docker run --name vllm rocm/vllm:latest",
        "PR #12345, issue #4471, order of 10000 steps, exit code is 134",
        "ssh key, ssh keys, ssh access, ssh is fine",
        "host: Linux, Node: 1, Welcome to Ubuntu!",
        "<details> more, <summary> text",
        "unexpectdly it honours a comparision of virtualised and deselected ones",
        "it busy-waits until the loop ends and is not done",
        "Bump ninja from 1.11.1.1 to 1.11.1.3",
        "mlflow.tracking.fluent: Experiment",
        "14m02s, g4bf699d31, m16n8k16, virbr0",
    ],
)
def test_nothing_technical_is_lost(kept: str) -> None:
    assert Redactor().text(kept) == kept


def test_any_number_of_names_is_known_everywhere() -> None:
    prompts = "".join(f"[quux{n}a@kaz{n}b x]$ ls\n" for n in range(2_000))
    out = Redactor().text(prompts + "and quux1999a met kaz1998b")
    assert "quux" not in out
    assert "kaz" not in out


def test_more_names_than_are_replaced_are_withheld_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redactor_module, "PLACES", 400)
    monkeypatch.setattr(shared_module, "_LARGE", 1_000)
    lines = [f"[quux{n}a@kaz{n}b x]$ python x.py" for n in range(500)]
    log = "\n".join(["kernel 6.8.0", *lines, "RuntimeError: HIP error: invalid device function on kaz499b"])
    artifacts = [Artifact("log/x.log", "bundle", log), Artifact("env", "bundle", "HOSTNAME=wombex7\n")]
    redactor = Redactor()
    shared = {a.name: a.text for a in redact_artifacts(artifacts, redactor)}
    assert shared["log/x.log"].startswith("kernel 6.8.0\n[<user-")
    assert shared["log/x.log"].endswith(redactor_module.WITHHELD)
    assert not {"quux", "kaz", "wombex7"} & {w for text in shared.values() for w in ("quux", "kaz", "wombex7") if w in text}
    line = redactor.withheld["log/x.log"]
    assert 10 < line < 500
    quotes = (Reading("log/x.log", "line 2", lines[0]), Reading("log/x.log", "line 502", "on kaz499b"))
    made = redact_snapshot(Snapshot(errors=quotes), redactor)
    assert [e.quote for e in made.errors] == [
        "[<user-1>@<host-2> x]$ python x.py",
        redactor_module.WITHHELD,
        redactor_module.WITHHELD.strip("[]"),
    ]
    assert made.errors[-1].place == f"line {line}"


def test_what_follows_more_unknown_words_than_are_replaced_is_withheld(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random words are not searched to their end: each would cost a look at what is around it."""
    monkeypatch.setattr(redactor_module, "MOST_UNKNOWN", 200)
    monkeypatch.setattr(unknown_module, "_LONG", 1_000)
    monkeypatch.setattr(vocabulary, "_BLOCK", 1_000)
    letters = "bcdfghjklm"
    words = ["Qx" + "".join(letters[int(digit)] for digit in f"{n:04}") for n in range(2_000)]
    out = Redactor().text("kernel 6.8.0\n" + "\n".join(words))
    assert out.startswith("kernel 6.8.0\n<name-1>")
    assert out.endswith(redactor_module.WITHHELD)
    assert not any(word in out for word in words)


def test_a_secret_that_a_quote_cuts_off_is_known_by_its_beginning() -> None:
    whole = "loading with " + "x " * 60 + "HF_TOKEN=hf_abcdEFGH0123456789abcdEFGH0123"
    redactor = learn_artifacts([Artifact("log/x", "paste", whole)], Redactor())
    assert "hf_abcdEF" not in redactor.replace(whole[:-20])


def test_every_shape_of_a_token_has_its_source() -> None:
    assert list(secret_rules())
    for shape in load_known().tokens:
        assert shape.source.startswith("https://"), shape.service
        assert bool(shape.prefixes) != bool(shape.pattern), shape.service


def test_bundle_shows_what_it_replaced_and_its_names_are_redacted(tmp_path: Path) -> None:
    (tmp_path / "in" / "log").mkdir(parents=True)
    (tmp_path / "in" / "log" / "kfischer.log").write_text("[kfischer@wombex7 x]$ run\nHF_TOKEN=hf_abcdefgh0123456789abcdefgh\n")
    out = tmp_path / "kfischer.zip"
    told = called("bundle", str(tmp_path / "in"), "-o", str(out), "--show").stdout
    assert "<user-1>" in told
    assert "kfischer" in told
    assert "log/kfischer.log line 1" in told
    assert "hf_abcdefgh0123" not in told
    with zipfile.ZipFile(out) as packed:
        whole = "\n".join([*packed.namelist(), *(packed.read(name).decode() for name in packed.namelist())])
    assert "kfischer" not in whole
    assert "wombex7" not in whole


def test_what_the_artifacts_give_away_is_replaced_in_a_report_that_quotes_another_line(tmp_path: Path) -> None:
    text = "[kfischer@wombex7 x]$ python x.py\nRuntimeError: HIP error: invalid device function on wombex7 of kfischer\n"
    (tmp_path / "t.txt").write_text(text)
    for style in ("json", "markdown"):
        told = called("check", str(tmp_path / "t.txt"), "--no-smoke", "--format", style).stdout
        assert "invalid device function" in told
        assert "kfischer" not in told
        assert "wombex7" not in told


def test_audit_in_json_is_redacted_unless_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "kfischer" / "lib"
    folder.mkdir(parents=True)
    (folder / "libx.so").write_bytes(b"\x7fELF")
    assert "kfischer" not in called("audit", str(folder), "--format", "json").stdout
    assert "kfischer" in called("audit", str(folder), "--format", "json", "--no-redact").stdout


@pytest.mark.parametrize("format_", ["json", "sarif", "markdown", "github"])
def test_a_repository_keeps_the_names_that_its_readers_know(tmp_path: Path, format_: str) -> None:
    token = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ123456ab"[:34]
    (tmp_path / "compose.amd.yml").write_text(
        f"services:\n  kestrelmodel:\n    image: rocm/pytorch:latest\n    command: python train.py\n    devices: [/dev/kfd]\n    environment: [HF_TOKEN={token}, OWNER=jane.roe@kestrel.example]\n"
    )
    (tmp_path / "requirements-rocm.txt").write_text("torch @ file:///croot/kestrelbuild_1732732445543/work\n")
    said = called("lint", str(tmp_path), "--gpu", "gfx1100", "--format", format_, "-v", USER="quinnmarlow").stdout
    assert "kestrelmodel" in said
    assert "kestrelbuild" in said
    assert token not in said
    assert "jane.roe@" not in said
    assert not re.search(r"<(?:name|host|place)-\d", said)
