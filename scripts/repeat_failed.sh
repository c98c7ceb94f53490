#!/usr/bin/env bash
# Runs the tests that failed once more, each alone: a test that one unlucky moment beside others made fail passes then.
#   scripts/repeat_failed.sh LOG [--ignored] COMMAND..
# LOG is what COMMAND (`cargo test` with a selection of packages) printed; --ignored: for tests that are ignored, which
# is how the tests of the test beds are marked. For each test one line is printed:
#   FLAKY NAME: failed beside others, passed alone
#   FAILED NAME: failed twice
# A FLAKY line is a defect of the test, to be fixed. More than 5 failed tests, and programs that crashed, are no unlucky
# moment: nothing is run again then (COSMARK_REPEAT_MOST: as many, where their cause is known and mended). Exit code: 0 if
# every failed test passed alone, 1 otherwise.
set -euo pipefail
MOST=${COSMARK_REPEAT_MOST:-5} # failed tests
LIMIT=900                      # seconds for one test

log=$1
shift
kind_of_test=()
if [[ ${1:-} == --ignored ]]; then
  kind_of_test=(--ignored)
  shift
fi
output=$(mktemp)
trap 'rm -f "$output"' EXIT

mapfile -t rows < <(awk -f "$(dirname "${BASH_SOURCE[0]}")/cargo_log.awk" "$log" | grep -v '^count')
if ((${#rows[@]} > MOST)); then
  printf '%s tests failed: more than %s are not repeated\n' "${#rows[@]}" "$MOST"
  exit 1
fi

status=0
for row in "${rows[@]}"; do
  IFS=$'\t' read -r kind selection name <<<"$row"
  if [[ $kind == broken ]]; then
    printf 'FAILED %s: the program ended without a result\n' "$selection"
    status=1
    continue
  fi
  if [[ $selection == - ]]; then
    printf 'FAILED %s: it cannot be run alone\n' "$name"
    status=1
    continue
  fi
  # shellcheck disable=SC2086 # "--test NAME" is two words
  if timeout --kill-after=30 "$LIMIT" "$@" $selection -- "${kind_of_test[@]}" --exact "$name" >"$output" 2>&1 </dev/null &&
    awk -f "$(dirname "${BASH_SOURCE[0]}")/cargo_log.awk" "$output" | grep -q $'^count\t[1-9]'; then
    printf 'FLAKY %s: failed beside others, passed alone\n' "$name"
  else
    sed 's/^/    | /' "$output" # not to be taken for the log of a program
    printf 'FAILED %s: failed twice\n' "$name"
    status=1
  fi
done
exit "$status"
