#!/usr/bin/env bash
# The step of the composite action: the event in a file, the answer in files, and `gh api` for what is to be posted. No text of the issue
# becomes an argument, a variable or a line of this log.
set -euo pipefail

answer=$(mktemp -d)
issue=$(jq -r '.issue.number // empty | numbers' "$GITHUB_EVENT_PATH")
if [ -z "$issue" ]; then
  echo "no issue in this event"
  exit 0
fi

# The first hundred comments: ours is one of the first.
gh api "repos/$GITHUB_REPOSITORY/issues/$issue/comments?per_page=100" > "$answer/comments.json"

"${DOCTOR:-rocm-doctor}" triage "$GITHUB_EVENT_PATH" --comments "$answer/comments.json" --author "$AUTHOR" -o "$answer"

if [ -f "$answer/comment.md" ]; then
  cat "$answer/comment.md" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
fi
if [ "$MODE" != comment ]; then
  exit 0
fi
if [ -f "$answer/comment-id" ]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$(cat "$answer/comment-id")" --input "$answer/comment.json"
elif [ -f "$answer/comment.json" ]; then
  gh api --silent --method POST "repos/$GITHUB_REPOSITORY/issues/$issue/comments" --input "$answer/comment.json"
fi
