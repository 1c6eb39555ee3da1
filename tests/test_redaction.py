"""No secret leaves: seeded hosts, users, homes, tokens, ids and addresses, and the things that only look like one."""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from called import called
from hypothesis import given
from hypothesis import strategies as st

from rocm_doctor import pipeline
from rocm_doctor.bounded.texts import lower
from rocm_doctor.matrix import load
from rocm_doctor.model import Artifact, Command, Fact, Finding, Gpu, Reading, Report, Snapshot
from rocm_doctor.probes.python import env
from rocm_doctor.probes.read.result import Artifacts
from rocm_doctor.redaction import redactor as redactor_module
from rocm_doctor.redaction import unknown as unknown_module
from rocm_doctor.redaction import vocabulary
from rocm_doctor.redaction.find import every_rule, structure_searches
from rocm_doctor.redaction.hints import Hints
from rocm_doctor.redaction.known import is_anonymous, is_distinctive
from rocm_doctor.redaction.redactor import Redactor, this_machine
from rocm_doctor.redaction.shared import learn_artifacts, redact_artifacts, redact_report, redact_snapshot
from rocm_doctor.reports import FORMATS, RenderOptions, render
from rocm_doctor.sources.paste import cut

CAPTURES = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "captures"
NAME = st.from_regex(r"[a-z][a-z0-9]{3,9}", fullmatch=True).filter(lambda n: is_distinctive(n) and not is_anonymous("user", n))
HEX = "0123456789abcdef"


def _hex(n: int) -> st.SearchStrategy[str]:
    return st.text(HEX, min_size=n, max_size=n).filter(lambda t: len(set(t)) > 3 and any(c.isdigit() for c in t))


@pytest.fixture
def rules_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redaction without the search for words that are not known."""
    monkeypatch.setattr(redactor_module, "searches", lambda text, *_: structure_searches(text))


SECRETS = st.fixed_dictionaries(
    {
        "host": NAME.map(lambda n: n + "-ws7"),
        "user": NAME.map(lambda n: n + "q9"),
        "hf": st.from_regex(r"[A-Za-z0-9]{34}", fullmatch=True).map(lambda t: "hf_" + t),
        "key": _hex(40),
        "serial": st.from_regex(r"PCB[0-9]{6}-[0-9]{4}", fullmatch=True),
        "uuid": st.uuids().map(str).filter(lambda u: len(set(u)) > 4),
        "gpu": _hex(16),
        "ip": st.ip_addresses(v=4).map(str).filter(lambda a: a.split(".")[0] not in ("0", "127", "255")),
        "ip6": st.tuples(_hex(4), _hex(4), _hex(4)).map(lambda g: f"2001:db8:{g[0]}::{g[1]}:{g[2]}".replace(":0", ":1")),
        "mac": st.lists(st.text(HEX, min_size=2, max_size=2), min_size=6, max_size=6).map(":".join),
    }
)


def _text(s: dict[str, str]) -> str:
    return f"""{s["user"]}@{s["host"]}:~/lora$ python train.py
Linux {s["host"]} 6.8.0-45-generic #45-Ubuntu SMP
File "/home/{s["user"]}/lora/train.py", line 12, in <module>
  Uuid:                    GPU-{s["gpu"]}
ROCR_VISIBLE_DEVICES=GPU-{s["gpu"]}
root=UUID={s["uuid"]} ro quiet
"Serial Number": "{s["serial"]}", card {s["serial"]}
HF_TOKEN={s["hf"]} and again {s["hf"]}
WANDB_API_KEY: {s["key"]}
MASTER_ADDR={s["ip"]}  inet {s["ip"]}/24  tcp://{s["ip"]}:29500
inet6 {s["ip6"]}/64  link/ether {s["mac"]} brd ff:ff:ff:ff:ff:ff
"""


@given(SECRETS)
def test_no_seeded_secret_survives(secrets: dict[str, str]) -> None:
    redactor = Redactor(secrets["host"], secrets["user"], f"/home/{secrets['user']}")
    out = redactor.text(_text(secrets))
    assert [kind for kind, secret in secrets.items() if secret in out] == []
    assert redactor.text(out) == out


@given(SECRETS)
def test_names_are_learnt_from_the_text_itself(secrets: dict[str, str]) -> None:
    out = Redactor().text(_text(secrets))
    assert secrets["user"] not in out
    assert secrets["host"] not in out


def test_the_same_secret_gets_the_same_pseudonym() -> None:
    out = Redactor("", "", "").text(
        "Uuid: GPU-5f2a1b3c4d5e6f70\nROCR_VISIBLE_DEVICES=GPU-5f2a1b3c4d5e6f70\nUnique ID: 0x5f2a1b3c4d5e6f70\n"
        "unique_id 6857323328435023728\nUuid: GPU-5f2a1b3c4d5e6f71\n"
    )
    tails = [line.split()[-1].rsplit("=", 1)[-1].removeprefix("GPU-") for line in out.splitlines()]
    assert len(set(tails[:4])) == 1, out
    assert tails[4] != tails[0]


@pytest.mark.parametrize(
    "kept",
    [
        "ROCm version : 6.3.0.1",
        "AMDSMI Library version: 24.2.0.0",
        "pytorch-triton-rocm==3.0.0.1",
        "Version: 5.7.0.50700-63~22.04",
        "torch>=2.9.1.0",
        "rocm 6.3.0.1",
        "SMC firmware version: 00.54.29.00",
        "Linux-5.15.167.4-microsoft-standard-WSL2",
        "0000:03:00.0 VGA",
        "pci_bdf 0000:c1:00.0",
        "gfx906:sramecc+:xnack-",
        "gfx90a",
        "HSA_OVERRIDE_GFX_VERSION=10.3.0",
        "at::native::gpu_kernel c10::hip::HIPException c10::Error",
        "12:34:56 step 4",
        "max_new_tokens=25600000 pad_token_id: 151645a7",
        '"eos_token": "<|im_end|>"',
        "listening on 127.0.0.1:8000 and 0.0.0.0",
        "/opt/rocm-6.3.0/lib/librocblas.so.4.3.60300",
        "uses: actions/checkout@v4.1.7",
        "git+ssh://git@github.com/ROCm/flash-attention",
        "Serial Number: N/A",
        "Uuid: GPU-XX",
        "DMI: Gigabyte X570",
        "root@",
        "/root/train.py",
        "tokenizer.json sha",
        "VBIOS 113-D1640200-043",
        "unique_id 0",
        "uid=0(root)",
        "the password is required",
        "your token is invalid",
        "docker.io/rocm/pytorch@sha256:" + "3f1ab2c4" * 8,
        "TOKENIZERS_PARALLELISM=false",
        "wandb: Currently logged in as: root",
    ],
)
def test_what_only_looks_like_a_secret_stays(kept: str) -> None:
    assert Redactor("wavebox", "jmiller", "/home/jmiller").text(kept) == kept


def test_what_a_private_key_holds_is_removed_whatever_it_looks_like() -> None:
    text = "-----BEGIN PRIVATE KEY-----\nshort words only here\nMIGH+AgEA\n-----END PRIVATE KEY-----\nthe next line, to jane.roe@kestrel.example\n"
    out = Redactor("wavebox", "jmiller", "/home/jmiller").text(text)
    assert "words" not in out
    assert "MIGH" not in out
    assert "jane.roe@" not in out
    assert "the next line" in out


def commands_in(value: object) -> Iterator[str]:
    """The text of each Command within a structure of the matrix."""
    if isinstance(value, Command):
        yield value.text
    elif isinstance(value, msgspec.Struct):
        yield from commands_in([getattr(value, name) for name in value.__struct_fields__])
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from commands_in(item)


def test_no_command_of_the_matrix_is_damaged_in_a_ticket() -> None:
    matrix = load()
    names = [name for name in vars(type(matrix)) if not name.startswith("_")]  # private ones keep what other tests asked for
    commands = {text for name in names for text in commands_in(getattr(matrix, name))}
    assert len(commands) > 300
    redactor = Redactor("wavebox", "jmiller", "/home/jmiller")
    assert [text for text in sorted(commands) if redactor.text(text) != text] == []


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Driver: 32.0.1.2 at 192.168.4.17", "192.168.4.17"),
        ("https://bob:s3cretpw@pypi.example.org/simple", "s3cretpw"),
        ("https://ghp_abcdefghijklmnop1234@github.com/x", "ghp_abcdefghijklmnop1234"),
        ("password=hunter22", "hunter22"),
        ("Authorization: Bearer abcdef0123456789", "abcdef0123456789"),
        ("C:\\Users\\Jane Roe\\train.py", "Jane Roe"),
        ("mail jane.roe@example.org now", "jane.roe@example.org"),
        ("[jroe@box7 ~]$ rocminfo", "jroe"),
        ("Nov 21 09:01:02 mybox7 kernel: amdgpu: reset", "mybox7"),
        ("/Users/jroe/x.py", "jroe"),
        ("uid=1000(jroe) gid", "jroe"),
        ("[c10d] connect to 10.20.30.40:29500 failed", "10.20.30.40"),
        ("IPv6 fe80::1ff:fe23:4567:890a", "fe80::1ff:fe23:4567:890a"),
        ("aa-bb-cc-dd-ee-0f", "aa-bb-cc-dd-ee-0f"),
        ("AMD_SECRET_KEY=a1b2c3d4e5", "a1b2c3d4e5"),
        ("export AWS_SECRET_ACCESS_KEY=abcdefgh1jklmnop", "abcdefgh1jklmnop"),
        ("the password is hunter22, by the way", "hunter22"),
        ("wandb: Currently logged in as: jroe (rocfolk) to https://api.wandb.ai", "jroe"),
        ("wandb: Currently logged in as: jroe (rocfolk). Use `wandb login --relogin`", "rocfolk"),
        ("BOOT_IMAGE=/vmlinuz root=PARTUUID=1a2b3c4d-02 ro", "1a2b3c4d-02"),
        ("UUID=12AB-34CD /boot/efi vfat", "12AB-34CD"),
        ("12:cpu:/docker/" + "3f1ab2c4" * 8, "3f1ab2c4"),
        ("/kubepods/besteffort/pod0e1f/" + "3f1ab2c4" * 8, "3f1ab2c4"),
        ("/var/lib/docker/containers/" + "3f1ab2c4" * 8 + "/hostname", "3f1ab2c4"),
        ("4:memory:/some_runner/5138e802f75f8139ed0f7aa31c13d2b4\n0::/", "5138e802f75f8139"),
        ("0::/system.slice/docker-" + "3f1ab2c4" * 8 + ".scope", "3f1ab2c4"),
        ("Linux version 6.18.4 (jmiller@threadripper) (gcc 15.3.0) #1 SMP", "jmiller"),
        ("Linux version 6.18.4 (jmiller@threadripper) (gcc 15.3.0) #1 SMP", "threadripper"),
        ("wandb login 0123456789abcdef0123456789abcdef01234567 token: x1y2z3w4v5", "x1y2z3w4v5"),
    ],
)
def test_secrets_in_their_usual_dress(text: str, secret: str) -> None:
    assert secret not in Redactor().text(text)


def test_a_blank_in_a_home_stays_a_blank() -> None:
    assert " " in Redactor().text(r"C:\Users\Jane Roe\train.py").split("\\")[2]


def test_a_json_key_is_never_touched() -> None:
    out = Redactor("wavebox", "jmiller", "/data/people/jmiller").text(
        json.dumps({"jmiller": "jmiller", "ip": "10.1.2.3", "home": "/data/people/jmiller/x"})
    )
    assert list(json.loads(out)) == ["jmiller", "ip", "home"]
    assert json.loads(out)["home"] == "/home/<user-1>/x"
    assert json.loads(out)["jmiller"] == "<user-1>"


def test_artifacts_learn_from_each_other() -> None:
    artifacts = [
        Artifact("log/jmiller-run.log", "bundle", "jmiller's run on wavebox"),
        Artifact("etc/hostname", "bundle", "wavebox\n"),
        Artifact("py/interpreter", "bundle", "prefix: /home/jmiller/venv"),
        Artifact("sys/class/drm/card0/device/unique_id", "live", "5f2a1b3c4d5e6f70\n"),
        Artifact("cmd/rocminfo", "live", "Uuid: GPU-5f2a1b3c4d5e6f70"),
    ]
    clean = redact_artifacts(artifacts)
    whole = "\n".join(a.name + a.text for a in clean)
    assert "jmiller" not in whole
    assert "wavebox" not in whole
    assert clean[3].text.strip() == clean[4].text.removeprefix("Uuid: GPU-")
    assert clean[0].name == "log/<user-1>-run.log"


def _report(text: str, gpu_id: str) -> Report:
    snapshot = Snapshot({"env.TORCH_HOME": Fact(text, (Reading("env", "line 1", text),))}, (Gpu({"uuid": Fact(gpu_id)}),), True)
    finding = Finding(
        "access.permission",
        "t " + text,
        "error",
        "high",
        text,
        evidence=(Reading("env", "line 1", text),),
        sources=("https://example.org/10.1.2.3",),
        fingerprint="10.9.9.9",
    )
    return Report(1, "0.1.0", "2026.11", "problems", text, (finding,), (), snapshot)


def test_a_report_keeps_its_keys_and_loses_its_secrets() -> None:
    report = _report("/home/jmiller/x at 10.20.30.40", "GPU-5f2a1b3c4d5e6f70")
    clean = redact_report(report, Redactor("wavebox", "jmiller", "/home/jmiller"))
    text = msgspec.json.encode(clean).decode()
    assert not [s for s in ("jmiller", "10.20.30.40", "5f2a1b3c4d5e6f70") if s in text]
    assert list(clean.snapshot.facts) == ["env.TORCH_HOME"]
    assert clean.findings[0].sources == report.findings[0].sources
    assert clean.findings[0].fingerprint == "10.9.9.9"
    assert clean.summary == clean.findings[0].cause


@given(SECRETS)
def test_no_seeded_secret_is_in_any_shared_format(secrets: dict[str, str]) -> None:
    text = _text(secrets)
    readings = tuple(Reading("paste/text", f"line {n}", line) for n, line in enumerate(text.splitlines(), 1))
    finding = Finding(
        "access.permission",
        text,
        "error",
        "high",
        text,
        evidence=readings,
        advice=text,
        commands=(Command(text),),
        settle=Command(text),
    )
    snapshot = Snapshot({"env.ROCR_VISIBLE_DEVICES": Fact(f"GPU-{secrets['gpu']}", readings)}, (), True, readings)
    report = Report(1, "0.1.0", "m", "problems", text, (finding,), (), snapshot, disputes=(text,))
    clean = redact_report(report, Redactor(secrets["host"], secrets["user"], f"/home/{secrets['user']}"))
    for name in FORMATS:
        shared = render(name, clean, RenderOptions(verbose=True))
        assert [kind for kind, secret in secrets.items() if secret in shared] == [], name


@pytest.mark.skipif(not CAPTURES.is_dir(), reason="the corpus of captures is not at hand")
def test_real_captures_keep_their_line_count_and_their_gpus() -> None:
    for path in sorted(CAPTURES.glob("*/*.txt")):
        text = path.read_text("utf-8", "replace")
        out = Redactor("wavebox", "jmiller", "/home/jmiller").text(text)
        assert out.count("\n") == text.count("\n"), path
        assert out.count("gfx") == text.count("gfx"), path


def test_this_machine_is_known_without_being_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocm_doctor.redaction.redactor.this_machine", this_machine)
    monkeypatch.setenv("USER", "jmiller")
    monkeypatch.setenv("HOME", "/data/people/jmiller")
    monkeypatch.setattr("platform.node", lambda: "wavebox.lab.example")
    text = "jmiller on wavebox: /data/people/jmiller/train.py, wavebox.lab.example"
    clean = redact_artifacts([Artifact("log/x", "live", text)])
    assert clean[0].text == "<user-1> on <host-2>: /home/<user-1>/train.py, <host-1>"


def test_the_name_of_a_variable_tells_that_its_value_is_a_secret() -> None:
    facts = {
        "env.WANDB_API_KEY": Fact("onlyletters"),
        "env.HF_TOKEN": Fact("x"),
        "env.USER": Fact("jroe"),
        "env.TORCH_HOME": Fact("/data/jroe/torch"),
        "env.HSA_OVERRIDE_GFX_VERSION": Fact("10.3.0"),
        "env.TOKENIZERS_PARALLELISM": Fact("false"),
    }
    clean = redact_snapshot(Snapshot(facts), Redactor())
    assert [fact.value for fact in clean.facts.values()] == [
        "<token-1>", "<token-2>", "<user-1>", "/data/<user-1>/torch", "10.3.0", "false",
    ]  # fmt: skip
    assert list(clean.facts) == list(facts)
    assert redact_snapshot(clean, Redactor()) == clean


def test_a_captured_environment_is_read_without_its_secrets() -> None:
    text = "HIP_VISIBLE_DEVICES=0\nWANDB_API_KEY=onlyletters\nTOKENIZERS_PARALLELISM=false\nDB_PWD=short\nPWD=/srv\n"
    facts = env.probe(Artifacts([Artifact("env", "bundle", text)])).facts
    assert list(facts) == ["env.", "env.HIP_VISIBLE_DEVICES", "env.TOKENIZERS_PARALLELISM", "env.PWD"]


def test_facts_in_json_are_redacted_unless_asked_for(tmp_path: Path) -> None:
    (tmp_path / "env").write_text("TORCH_HOME=/home/jroe/torch\n")
    for asked, there in (([], False), (["--no-redact"], True)):
        assert ("jroe" in called("probe", str(tmp_path), "--format", "json", *asked).stdout) is there


def test_other_hosts_of_a_domain_are_found_without_a_sign() -> None:
    out = Redactor().text(
        "ssh ada@gpu1.kestrel.dev\nthen wiki.kestrel.dev and mail to x@kestrel.dev, not kestrel.devel or huggingface.co\n"
    )
    assert "kestrel.dev " not in out
    assert "kestrel" not in out
    assert "huggingface.co" in out


@pytest.mark.parametrize(
    ("name", "found"),
    [("wombex", True), ("ab", False), ("abx", True), ("error", False), ("node7", False), ("rank12", False), ("node71", True)],
)
def test_a_name_is_looked_for_elsewhere_where_it_is_one(name: str, found: bool) -> None:
    assert is_distinctive(name) is found


def test_a_table_with_its_header_again_and_again() -> None:
    table = "USER         PID TTY\nwombexa      471 pts/0\nUSER         PID TTY\nwombexb      472 pts/1\n"
    out = Redactor().text(table)
    assert out.count("USER         PID TTY") == 2
    assert "wombex" not in out


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("mac a1b2.c3d4.e5f6.", "mac a1b2.c3d4.e5f6."),
        ("mac a1b2.c3d4.e5f6 x", "mac <mac-1> x"),
        ("za1b2.c3d4.e5f6 x", "za1b2.c3d4.e5f6 x"),
        ("1234.5678.9012 x", "1234.5678.9012 x"),
        ("ssh ada@23.183.40.77, pw", "ssh <user-1>@<ip-1>, pw"),
        ("MASTER_ADDR=2.38.119.191", "MASTER_ADDR=<ip-1>"),
        ("rocm-smi 2.38.119.191", "rocm-smi 2.38.119.191"),
        ("x eth0 2.38.119.191<0> and y 2.38.119.191<x", "x eth0 <ip-1><0> and y 2.38.119.191<x"),
        ("x 2.38.119.191:29500 y", "x <ip-1>:29500 y"),
        ("docker rm " + "ab1" * 21 + "c", "docker rm <container-1>"),
        ("a sum " + "ab1" * 21 + "c of it", "a sum " + "ab1" * 21 + "c of it"),
        ("Host: MS-7D78", "Host: MS-7D78"),
        ("hostname: wombexa-7", "hostname: <host-1>"),
        ("node: x86_64-linux-gnu-7", "node: x86_64-linux-gnu-7"),
        ("fe80::1ff:fe23:4567:890a ok", "<ip-1> ok"),
        ("c10d::x and 12:34:56 and ::1", "c10d::x and 12:34:56 and ::1"),
        ("network 24.2.0.0 and 10.2.0.0 ok", "network 24.2.0.0 and <ip-1> ok"),
    ],
)
def test_addresses_and_what_looks_like_them(text: str, out: str) -> None:
    assert Redactor().text(text) == out


@pytest.mark.parametrize(
    "written",
    [
        "export WANDB_API_KEY={}",
        "password: {}",
        "Authorization: Bearer {}",
        "https://u:{}@host.example/x",
        "the secret is {}",
        "sig={}&x",
    ],
)
def test_a_token_that_a_quote_cuts_off_is_replaced(written: str) -> None:
    token = "Qz7aKfP2mWn9LsV4xRtY8bHc"
    redactor = Redactor()
    redactor.learn(written.format(token))
    assert token[:8] not in redactor.replace(written.format(token).partition(token)[0] + token[:12])


HINTED = (
    'me@box:~$ ls /home/wombexa\nFile "C:\\\\Users\\\\Wombexa\\\\x.py"\n\\\\\\\\srv\\x\nserial: 0A1B2C3D4E\nssh wombex@box.example.org\n',
    *(path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "tickets").glob("*"))[:20] if path.is_file()),
)


def _occurrences(words: str, text: str) -> Iterator[int]:
    at = text.find(words)
    while at >= 0:
        yield at
        at = text.find(words, at + 1)


@pytest.mark.parametrize("text", HINTED)
@pytest.mark.parametrize("piece", [50, 5_000])
def test_hints_are_found_as_by_a_search_for_each(text: str, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hints are found by letters of the words in a piece of the text: none is missed, at the ends of pieces neither."""
    monkeypatch.setattr(vocabulary, "_BLOCK", piece)
    hints = {hint for rule in every_rule() for hint in rule.hints}
    low = lower(text[:5_000])
    longest: dict[int, str] = {}
    for hint in sorted(hints, key=len):
        longest |= {at: hint for at in _occurrences(hint, low) if low[at - 1 : at + 1] != "\\\\"}
    ruled = {at for run in re.finditer(r"(.)\1{7,}", low) for at in range(run.start() + 1, run.end())}
    found = list(Hints(hints).places(low))
    assert [one for one in found if one[0] not in ruled] == sorted(one for one in longest.items() if one[0] not in ruled) != []


@pytest.mark.parametrize("sign", ["/", "~", "\\", "---"])
def test_of_a_ruler_only_the_ends_are_places(sign: str) -> None:
    places = list(Hints([sign, "home"]).places(f"x {sign * 50_000}home"))
    assert len(places) <= 8
    assert (places[0][0], places[-1][1]) == (2, "home")


def test_a_path_behind_a_ruler_is_found() -> None:
    assert Redactor().text("/" * 40 + "home/wombex/run") == "/" * 40 + "home/<user-1>/run"


def test_texts_of_one_report_share_the_unknown_words_that_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ones are read whole whatever the others hold."""
    monkeypatch.setattr(unknown_module, "_LONG", 5_000)
    monkeypatch.setattr(vocabulary, "_BLOCK", 5_000)
    monkeypatch.setattr(redactor_module, "MOST_UNKNOWN", 8_000)
    letters = random.Random(3)

    def noise() -> str:
        return "\n".join("".join(letters.choices("abcdefghijklmnopqrstuvwxyz", k=9)) for _ in range(6_700))

    small, *large = [
        Artifact(name, "paste", text) for name, text in (("a", "ssh wombex@eiderbox"), *((str(n), noise()) for n in range(4)))
    ]
    redactor = learn_artifacts([*large, small])
    withheld = [redactor.withheld[one.name] for one in large]
    assert withheld == sorted(set(withheld), reverse=True)
    assert redactor.replace(small.text) == "ssh <user-1>@<host-1>"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "conda list\nquozzle-cublas     13.1.1.3     pypi_0    pypi\nwombex    0.6.2    pypi_0\n",
            "-cublas     13.1.1.3",
        ),
        ("the subnet is fine, on subnet, too", "on subnet, too"),
    ],
)
def test_what_a_list_of_packages_names_is_no_person(text: str, kept: str) -> None:
    assert kept in Redactor().text(text)


def test_a_pseudonym_is_read_whole_from_a_bundle_that_is_checked_again() -> None:
    text = "*******\nAgent 2\n*******\n  Name:       gfx1100\n  Uuid:       GPU-<uuid-1>\n  Device Type:  GPU\n"
    report = pipeline.judge(cut(text, "paste"), load())
    assert "GPU-<uuid-1>" in msgspec.json.encode(report).decode()
    shared = msgspec.json.encode(redact_report(report)).decode()
    assert "<uuid-1>>" not in shared
    assert not re.search(r"<uuid-1(?!>)", shared)


@pytest.mark.skipif(sys.platform == "win32", reason="reads the system's list of users")
def test_the_login_is_known_where_no_variable_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    for name in ("USER", "LOGNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: pwd.struct_passwd(("wombexkim", "x", 4711, 4711, "", "/x", "/bin/sh")))
    host, user, home = this_machine()
    assert Redactor(host, user, home).text("video render wombexkim") == "video render <user-1>"


@pytest.mark.parametrize(
    "kept",
    [
        "quozzle                   13.1.1.3          h1908fcd_202    conda-forge",
        "  - quozzle=11.2.3.4=rocm62_py312h3c4b7d3_305",
        "  + quozzle-c  5.2.0.1  py3.11_cuda11.8_cudnn8.7.0_0  pytorch     Cached",
        "quozzle 75.1 9_wombexblas",
        "conda-forge/linux-64::quozzle-9e-nompi_py312h568fe1b_102",
        "https://conda.anaconda.org/conda-forge/linux-64/quozzle-2024.2-pyhd8ed1ab_1.conda#0123456789abcdef0123456789abcdef",
        "/home/conda/feedstock_root/build_artifacts/quozzle_1732697924943/work",
        "quozzle @ file:///croot/quozzle_1732732445543/work",
    ],
)
def test_a_build_of_conda_tells_a_package_from_a_name(kept: str) -> None:
    assert Redactor().text(kept) == kept


@pytest.mark.parametrize("text", ["groups: video render kim\n", "uid: 1000\ngroups: kim adm sudo\njoined: kim render\n"])
def test_a_private_group_is_known_without_its_user(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocm_doctor.redaction.redactor.this_machine", lambda: ("", "", ""))
    snapshot = Snapshot({"user.groups": Fact(("kim", "video"), (Reading("user/groups", "line 1", text.split("\n")[-2]),))})
    assert "kim" not in redact_artifacts([Artifact("user/groups", "live", text)])[0].text
    assert redact_snapshot(snapshot).facts["user.groups"].value == ("<group-1>", "video")


@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 8))])
def test_redaction_changes_neither_findings_nor_their_order(part: int) -> None:
    rows = (Path(__file__).parent.parent / "fixtures" / "reports" / "real.jsonl").read_text("utf-8").splitlines()
    for row in rows[part::80]:
        text = json.loads(row)["text"]
        clean = Redactor().text(text)
        if clean != text:
            before, after = ([one.id for one in pipeline.judge(cut(t, "paste"), load()).findings] for t in (text, clean))
            assert before == after, text[:200]
