#!/usr/bin/env bash
# The step of the composite action: options from the environment, annotations on standard output, Markdown in the job's summary.
# Ends with the exit code of rocm-doctor, whatever is written where.
set -u

args=()
while IFS= read -r path; do
  [ -n "$path" ] && args+=("$path")
done <<< "${PATHS:-.}"

add() {
  if [ -n "$2" ]; then
    args+=("$1" "$2")
  fi
}
add --gpu "${GPU:-}"
add --rocm "${ROCM:-}"
add --python "${PYTHON:-}"
add --target "${TARGET:-}"
add --fail-on "${FAIL_ON:-}"
add --baseline "${BASELINE:-}"

report="${RUNNER_TEMP:-/tmp}/rocm-doctor.json"
args+=(--format markdown -o "${GITHUB_STEP_SUMMARY:-/dev/null}" --format json -o "$report")
if [ -n "${SARIF:-}" ]; then
  args+=(--format sarif -o "$SARIF")
fi
args+=(--format github)

"${DOCTOR:-rocm-doctor}" lint "${args[@]}"
code=$?
if [ -s "$report" ] && [ -n "${GITHUB_OUTPUT:-}" ]; then
  sed -n 's/^ "verdict": "\([a-z]*\)",*$/verdict=\1/p' "$report" | head -n 1 >> "$GITHUB_OUTPUT"
fi
exit "$code"
