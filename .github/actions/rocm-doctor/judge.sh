#!/usr/bin/env bash
# The step of the composite action: options from the environment, annotations on standard output, Markdown in the job's summary.
# Ends with the exit code of rocm-doctor, whatever is written where.
set -u

args=()
add() {
  if [ -n "$2" ]; then
    args+=("$1" "$2")
  fi
}

if [ -n "${ENVIRONMENT:-}" ]; then
  args+=(check --python "$ENVIRONMENT")
  while IFS= read -r gpu; do
    add --gpu "$gpu"
  done <<< "${GPU:-declared}"
else
  args+=(lint)
  while IFS= read -r path; do
    [ -n "$path" ] && args+=("$path")
  done <<< "${PATHS:-.}"
  while IFS= read -r gpu; do
    add --gpu "$gpu"
  done <<< "${GPU:-}"
  add --python "${PYTHON:-}"
fi
add --rocm "${ROCM:-}"
add --fail-on "${FAIL_ON:-}"
add --baseline "${BASELINE:-}"

report="${RUNNER_TEMP:-/tmp}/rocm-doctor.json"
args+=(--format markdown -o "${GITHUB_STEP_SUMMARY:-/dev/null}" --format json -o "$report")
if [ -n "${SARIF:-}" ]; then
  args+=(--format sarif -o "$SARIF")
fi
args+=(--format github)

rm -f "$report"
said=$(mktemp)
"${DOCTOR:-rocm-doctor}" "${args[@]}" 2>"$said"
code=$?
cat "$said" >&2
if [ "$code" -gt 1 ] && [ "$code" -ne 3 ]; then
  words=$(tail -n 3 "$said")
  encoded=${words//'%'/'%25'}
  echo "::error title=rocm-doctor did not judge::${encoded//$'\n'/'%0A'}"
  printf '## rocm-doctor did not judge (exit code %s)\n\n```text\n%s\n```\n' "$code" "${words//'```'/}" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
fi
if [ -s "$report" ] && [ -n "${GITHUB_OUTPUT:-}" ]; then
  # A report for each target: the worst verdict.
  for verdict in problems undetermined ready; do
    if grep -q "^ \{1,3\}\"verdict\": \"$verdict\",*$" "$report"; then
      echo "verdict=$verdict" >> "$GITHUB_OUTPUT"
      break
    fi
  done
fi
exit "$code"
