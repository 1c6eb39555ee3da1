"""Triage of an issue: an event of the tracker comes in, a comment comes out, or the reason to be silent.

`event.py` takes the reporter's words out of the event, `subject.py` decides whether they are about an AMD GPU, `comment.py` writes the
comment. Nothing is sent from here: .github/actions/triage posts the files that `rocm-doctor triage` wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from rocm_doctor import pipeline
from rocm_doctor.bounded import Unreadable
from rocm_doctor.integrations.triage.comment import take_back, write_comment
from rocm_doctor.integrations.triage.event import Comment, Event, Silence, read_event
from rocm_doctor.integrations.triage.subject import concerns_amd
from rocm_doctor.matrix import Matrix
from rocm_doctor.model import Artifact
from rocm_doctor.redaction.shared import learn_artifacts, redact_report
from rocm_doctor.reports.json import read as read_report
from rocm_doctor.reports.neutral import clean, defuse
from rocm_doctor.sources.paste import cut

__all__ = ["Comment", "Event", "Triage", "triage"]


class Triage(NamedTuple):
    """What to post: `comment` (empty: nothing), and the id of the comment to replace (0: a new one). `why`: the reason in words."""

    why: str
    comment: str = ""
    replaces: int = 0


def triage(
    event: Event,
    comments: Sequence[Comment],
    author: str,
    matrix: Matrix,
) -> Triage:
    """The answer to an event, with an empty comment if there is nothing to post. `comments`: those of the issue; `author`: the
    account that posts."""
    try:
        issue = read_event(event, comments, author)
        artifacts = [_facts_only(artifact) for artifact in cut(issue.text, "the report")]
        # Beside another artifact a report is judged anew.
        report = pipeline.judge([*artifacts, Artifact("triage", "paste")], matrix, source="the report", kind="capture")
        if not concerns_amd(report, issue.text, matrix):
            raise Silence("the report is not about an AMD GPU")
    except Silence as silence:
        return Triage(str(silence))
    words = write_comment(
        clean(redact_report(report, learn_artifacts(artifacts))), matrix, issue.address, first=issue.ours is None
    )
    text = defuse(words.text if words.text else take_back(issue.ours))
    if issue.ours and issue.ours.body.replace("\r\n", "\n").strip() == text.strip():
        return Triage("the comment is up to date")
    return Triage(words.why, text, issue.ours.id if issue.ours else 0)


def _facts_only(artifact: Artifact) -> Artifact:
    """The artifact; an earlier report of ours without its words, which a stranger may have written. Its facts are judged again."""
    if not artifact.name.startswith("report/") or artifact.missing:
        return artifact
    try:
        report = read_report(artifact.text.encode(errors="replace"))
    except Unreadable:
        return artifact
    bare = msgspec.structs.replace(
        report, findings=(), questions=(), undecided=(), differential=(), solved=(), checks=(), disputes=(), summary=""
    )
    return msgspec.structs.replace(artifact, text=msgspec.json.encode(bare).decode())
