"""An event of GitHub's issues, and what its reporter wrote. https://docs.github.com/webhooks/webhook-events-and-payloads"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Union

import msgspec

MARK = "<!-- rocm-doctor:triage -->"
"""First line of our comment: we find it again by this line and its author."""
_ACTIONS = ("opened", "edited", "reopened", "created")
_LONGEST = 400_000
"""Characters of all that the reporter wrote, at most: six of the longest comments that GitHub takes."""


class Silence(Exception):
    """There is nothing to answer; the text has the reason."""


class User(msgspec.Struct, frozen=True):
    """An account. `type` is `Bot` for an app."""

    login: str = ""
    type: str = "User"


class GithubIssue(msgspec.Struct, frozen=True):
    """An issue; `pull_request` is set for a pull request, whose comments come as events of an issue, too."""

    number: int
    html_url: str = ""
    title: str = ""
    body: Union[str, None] = None
    user: Union[User, None] = None
    pull_request: Union[dict[str, object], None] = None


class Comment(msgspec.Struct, frozen=True):
    """A comment on an issue."""

    id: int
    body: str = ""
    user: Union[User, None] = None


class Event(msgspec.Struct, frozen=True):
    """The payload of `issues` and `issue_comment`; other fields are ignored."""

    action: str = ""
    issue: Union[GithubIssue, None] = None
    comment: Union[Comment, None] = None


class IssueText(NamedTuple):
    """What the reporter wrote, title first, our own comment if there is one, and the address of the issue."""

    text: str
    ours: Comment | None
    address: str


def read_event(event: Event, comments: Sequence[Comment], author: str) -> IssueText:
    """The reporter's words of an event. Raises Silence for an event that needs no answer."""
    issue, comment = event.issue, event.comment
    if issue is None:
        raise Silence("the event has no issue")
    if issue.pull_request is not None:
        raise Silence("a pull request, not an issue")
    if event.action not in _ACTIONS:
        raise Silence("the event changes no text")
    if issue.user is None or issue.user.type == "Bot":
        raise Silence("the issue was opened by a bot")
    if comment and not _has_author(comment, issue.user.login):
        raise Silence("the comment is not the reporter's")
    by_id = {each.id: each for each in [*comments, *([comment] if comment else [])]}
    answers = [_drop_quotes(each.body) for _, each in sorted(by_id.items()) if _has_author(each, issue.user.login)]
    ours = next((each for each in by_id.values() if _has_author(each, author) and each.body.startswith(MARK)), None)
    text = "\n\n".join([issue.title, issue.body or "", *answers])
    return IssueText(
        text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}", ours, issue.html_url
    )


def _has_author(comment: Comment, login: str) -> bool:
    return comment.user is not None and comment.user.login == login


def _drop_quotes(body: str) -> str:
    """An answer without what it quotes, which may be our own comment."""
    return "\n".join(line for line in body.split("\n") if not line.startswith(">"))
