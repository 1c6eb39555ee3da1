"""Triage: comments on saved events of GitHub, hostile ones among them, and the steps of the action with a `gh` that only writes down."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from rocm_doctor.cli import cli
from rocm_doctor.integrations.triage import Comment, Event, Triage, triage
from rocm_doctor.integrations.triage.event import MARK, GithubIssue, User
from rocm_doctor.matrix import load

ROOT = Path(__file__).resolve().parents[1]
EVENTS = {path.stem: path for path in sorted((ROOT / "tests" / "triage").glob("*.json"))}
BOT = "github-actions[bot]"
ACTION = ROOT / ".github" / "actions" / "triage"


def answered(event: Event, *comments: Comment) -> Triage:
    return triage(event, comments, BOT, load())


def event(name: str) -> Event:
    return msgspec.json.decode(EVENTS[name].read_bytes(), type=Event)


@cache
def comment_on(name: str) -> str:
    return answered(event(name)).comment


def by_bot(body: str, number: int = 5) -> Comment:
    return Comment(number, body, User(BOT, "Bot"))


def test_there_are_forty_events() -> None:
    assert len(EVENTS) == 40


@pytest.mark.parametrize("name", [n for n in EVENTS if n.startswith("other-")])
def test_a_report_on_other_hardware_gets_no_comment(name: str) -> None:
    assert answered(event(name))[1:] == ("", 0)


@pytest.mark.parametrize("name", [n for n in EVENTS if n.startswith("real-")])
def test_a_report_on_an_amd_gpu_gets_a_cause_or_commands(name: str) -> None:
    comment = comment_on(name)
    assert "cause" in comment
    assert "/diagnosis/" in comment or "**To find out.**" in comment


@pytest.mark.parametrize("name", EVENTS)
def test_nothing_of_the_issue_is_markup_in_the_comment(name: str) -> None:
    page = MarkdownIt("commonmark", {"html": True}).enable("table").render(comment_on(name))
    assert set(re.findall(r"<([a-z]\w*)", page)) <= {"h3", "p", "code", "pre", "a", "ul", "li", "sub", "strong"}
    for address in re.findall(r'(?:href|src)="([^"]*)"', page):
        assert re.match(
            r"https://github\.com/rocm-doctor/|https://rocm-doctor\.github\.io/|https://redirect\.github\.com/[\w.-]+/[\w.-]+/(issues|pull|discussions)/\d+$",
            address,
        )
    text = re.sub(r"<(code|pre|a)[ >].*?</\1>", "", page, flags=re.S)
    assert not re.search(r"@\w|#\d|\bGH-\d|://|\bwww\.|\$", text, re.I), text
    assert not re.search(r"(?m)^\s*::|##\w*\[", comment_on(name))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)


def test_a_pasted_report_brings_facts_and_no_words() -> None:
    assert answered(event("hostile-report")).comment == ""
    runner = CliRunner().invoke(cli, ["check", "--example", "--format", "markdown"])
    issue = msgspec.structs.replace(event("real-vague").issue, body=runner.output)  # type: ignore[type-var]
    assert "HSA\\_OVERRIDE\\_GFX\\_VERSION=10.3.0 makes gfx906 load" in answered(Event("opened", issue)).comment


def test_a_comment_fits_into_an_issue_whatever_was_pasted() -> None:
    """GitHub takes 65,536 characters."""
    done = CliRunner().invoke(cli, ["check", "--example", "--format", "json"])
    long = done.output.replace("10.3.0", "10.3.0" + "A" * 60_000).replace("Vega 20", "Vega 20" + "@everyone " * 9_000)
    issue = msgspec.structs.replace(event("real-vague").issue, body=long)  # type: ignore[type-var]
    comment = answered(Event("opened", issue)).comment
    assert "cause" in comment
    assert len(comment) < 20_000


def test_an_issue_is_not_similar_to_itself() -> None:
    found = event("real-comfyui-docker-187")
    own = "https://github.com/YanWenKun/ComfyUI-Docker/issues/187"
    assert "ComfyUI-Docker/issues/187" in answered(found).comment
    assert found.issue
    again = msgspec.structs.replace(found, issue=msgspec.structs.replace(found.issue, html_url=own))
    assert "ComfyUI-Docker/issues/187" not in answered(again).comment


def test_only_the_reporter_is_answered() -> None:
    assert answered(event("hostile-stranger")).why == "the comment is not the reporter's"
    assert "pull request" in answered(event("other-pr")).why
    assert answered(Event("labeled", event("real-vague").issue)).why == "the event changes no text"
    assert answered(Event()).why == "the event has no issue"


def test_an_answer_of_the_reporter_replaces_our_comment() -> None:
    first = answered(event("real-vague"))
    assert "lacks" in first.comment
    assert first.replaces == 0
    said = Comment(9, "> **quoted**\nRX 7900 XTX\nRuntimeError: HIP error: invalid device function", User("reporter-1"))
    second = answered(msgspec.structs.replace(event("real-vague"), action="created", comment=said), by_bot(first.comment))
    assert "Likely cause" in second.comment
    assert second.replaces == 5
    third = answered(msgspec.structs.replace(event("real-vague"), action="edited"), by_bot(second.comment), said)
    assert third[:3] == ("the comment is up to date", "", 0)


def test_our_comment_is_taken_back_when_nothing_is_left_to_say() -> None:
    issue = msgspec.structs.replace(event("real-vague").issue, title="ROCm works now", body="RX 7900 XTX, thanks, all good")  # type: ignore[type-var]
    found = answered(Event("edited", issue), by_bot(f"{MARK}\nold"))
    assert "no longer holds" in found.comment
    assert found.replaces == 5


def test_a_strangers_comment_with_our_mark_is_not_ours() -> None:
    stranger = Comment(6, f"{MARK}\nevil", User("someone"))
    assert answered(event("real-vague"), stranger).replaces == 0


@pytest.mark.parametrize("text", ["", "[]", "{", '{"issue": {"number": "1"}}', '{"issue": 3}', "[" * 100_000])
def test_a_file_that_is_no_event_is_a_usage_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "event.json"
    path.write_text(text)
    assert CliRunner().invoke(cli, ["triage", str(path)]).exit_code == 2


GH = """#!/bin/sh
case "$*" in *"comments?per_page"*) cat "$COMMENTS"; exit 0;; esac
for last; do :; done
printf '%s\\n' "$*" >> "$CALLS"; cat "$last" >> "$CALLS"; printf '\\n' >> "$CALLS"
"""


def steps(tmp_path: Path, name: str, comments: list[dict[str, Any]], **inputs: str) -> tuple[list[str], str, str]:
    """The calls to GitHub, the log and the summary of the action's last step."""
    tools = tmp_path / "bin"
    tools.mkdir(exist_ok=True)
    for tool, text in (
        ("gh", GH),
        ("rocm-doctor", f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m rocm_doctor "$@"\n'),
    ):
        (tools / tool).write_text(text)
        (tools / tool).chmod(0o755 | stat.S_IXUSR)
    (tmp_path / "comments.json").write_text(json.dumps(comments))
    (calls := tmp_path / "calls").write_text("")
    (summary := tmp_path / "summary.md").write_text("")
    env = os.environ | {
        "PATH": f"{tools}:{os.environ['PATH']}", "GITHUB_EVENT_PATH": str(EVENTS[name]), "GITHUB_REPOSITORY": "octo/train",
        "GITHUB_STEP_SUMMARY": str(summary), "CALLS": str(calls), "COMMENTS": str(tmp_path / "comments.json"), "MODE": "comment",
        "AUTHOR": BOT, **inputs,
    }  # fmt: skip
    done = subprocess.run(["bash", str(ACTION / "triage.sh")], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return calls.read_text().splitlines(), done.stdout + done.stderr, summary.read_text()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("jq"), reason="no jq here")
def test_the_action_posts_once_and_then_updates(tmp_path: Path) -> None:
    posted, log, summary = steps(tmp_path, "hostile-shell", [])
    assert [line.split(" --input")[0] for line in posted[::2]] == [
        "api --silent --method POST repos/octo/train/issues/134/comments",
    ]
    body = json.loads(posted[1])["body"]
    assert body == summary
    assert "touch" not in log
    ours = {"id": 77, "body": f"{MARK}\nold", "user": {"login": BOT, "type": "Bot"}}
    evil = {"id": 66, "body": f"{MARK}\nold", "user": {"login": "evil", "type": "User"}}
    updated, _, _ = steps(tmp_path, "hostile-shell", [evil, ours])
    assert updated[0].startswith("api --silent --method PATCH repos/octo/train/issues/comments/77 --input ")
    assert steps(tmp_path, "hostile-shell", [ours | {"body": body}])[0] == []


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("jq"), reason="no jq here")
def test_the_action_is_silent_or_writes_the_summary_only(tmp_path: Path) -> None:
    assert steps(tmp_path, "other-cuda-oom", [])[::2] == ([], "")
    calls, _, summary = steps(tmp_path, "real-vague", [], MODE="summary")
    assert calls == []
    assert summary.startswith(MARK)


def test_no_input_or_event_reaches_a_shell_as_text() -> None:
    import yaml

    text = (ACTION / "action.yml").read_text("utf-8")
    described = yaml.safe_load(text)
    for step in described["runs"]["steps"]:
        assert set(re.findall(r"\$\{\{\s*(.*?)\s*\}\}", step["run"])) <= {"github.action_path"}
    assert "github.event" not in text
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(described["inputs"])


def opened(title: str, body: str = "") -> Event:
    return Event("opened", GithubIssue(1, "https://github.com/octo/train/issues/1", title, body, User("octocat")))


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("crashes on my 7900 XTX", ""),
        ("AMD 7900 XTX", "does not work"),
        ("9070 XT with OOM", ""),
        ("My R9700 gives NaN", ""),
        ("Memory access fault by GPU node-1 (Agent handle: 0x5581) on address 0x7f", ""),
    ],
)
def test_what_check_can_read_of_a_gpu_is_about_an_amd_gpu(title: str, body: str) -> None:
    found = answered(opened(title, body))
    assert found.comment, found.why
    assert "uvx --from git+https://" in found.comment or "Likely cause" in found.comment


def test_a_reporter_is_asked_for_one_command_that_needs_nothing_of_ours() -> None:
    comment = answered(opened("crashes on my 7900 XTX")).comment
    [asked] = re.findall(r"```sh\n(.*?)\n```", comment, re.S)
    assert re.fullmatch(r"uvx --from git\+https://\S+ rocm-doctor check .*", asked)
    for name in EVENTS:
        commands = "\n".join(re.findall(r"\*\*To find out.*?```sh\n(.*?)\n```", comment_on(name), re.S))
        assert all(line.startswith("uvx ") for line in commands.splitlines())
