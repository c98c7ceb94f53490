#!/usr/bin/env bash
# Everything that must hold before a change is accepted.
#   scripts/test.sh all      the console, the page of the report and their tests, format, lints, the workspace's tests,
#                            reports and the console in a browser, and the tests against real systems (testbeds/)
#   scripts/test.sh fast     the tests that wait for nothing, in less than a minute after the build
#   scripts/test.sh beds     only the tests against real systems
# Knobs (environment): COSMARK_TEST_BEDS="swift versitygw" runs only these beds, COSMARK_TEST_SECONDS bounds the whole.
#
# A bed whose program takes minutes to build (minio) runs where it was built before, or is asked for by name.
# A bed that cannot run on this machine is reported by a line "SKIPPED bed NAME: why"; a bed that should run and does
# not is a failure. So is it with the page of the report (without Node.js) and with the browser. Test programs run two at
# once, but for those that measure (scripts/test_programs.sh). Tests that fail beside others run once more alone
# (scripts/repeat_failed.sh): those that pass then count as passed, and as flaky. At the end stands a table of the
# phases, and as the last line "N passed, N failed, N skipped, N flaky": passed and failed add up what the test programs
# report, plus one failure for each phase that failed otherwise; skipped are the ignored tests that no bed ran. Exit
# code: 0 if at least one test passed and none failed, 1 otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The beds, and how the names of their tests in crates/cli/tests/beds.rs begin.
BEDS=(swift keystone ceph versitygw minio nginx-dav apache-dav azurite fake-gcs)
declare -A TESTS_OF=(
  [swift]=swift_ [keystone]=keystone_ [ceph]=ceph_ [versitygw]=versitygw_ [minio]=minio_
  [nginx-dav]=webdav_ [apache-dav]=digest_ [azurite]=azure_ [fake-gcs]=gcs_
)

# For up: only beds that were asked for by name are built if that takes long.
[[ -n ${COSMARK_TEST_BEDS:-} ]] || export COSMARK_TESTBED_BUILD=${COSMARK_TESTBED_BUILD:-no}

# Tests of systems that have no bed here: ignored, and said so.
NO_BED=()

# The same selection of packages in every cargo test, so that nothing is built twice with other features.
CARGO_TEST=(cargo test --workspace --locked)

# What waits for nothing: the unit tests and the rules.
FAST_TESTS=(--lib --bins --test architecture --test docs --test interface --test gate --test choosing --test conversion
  --test diagnostics --test library --test limits --test selectors --test settings --test shares --test cosbench_keys
  --test http_no_alloc --test judge --test conformance --test requests)

WORK=$(mktemp -d)
OUTPUT=$WORK/output # of the phase that runs
CHILD=''            # its process
BESIDE=''           # the process of the phases that run beside the others
BED_UP=''           # the bed that must be stopped at the end
PASSED=0 FAILED=0 IGNORED=0 RUN_BY_BEDS=0 FLAKY=0
PHASES=() # a line of the table each
DEADLINE=${COSMARK_TEST_SECONDS:-4800}

finish() {
  trap - EXIT INT TERM
  [[ -z $CHILD ]] || kill "$CHILD" 2>/dev/null || true # timeout(1) passes it on to its whole group
  [[ -z $BESIDE ]] || kill "$BESIDE" 2>/dev/null || true
  stop_bed
  rm -rf "$WORK"
}
trap finish EXIT
trap 'exit 130' INT TERM

# phase NAME SECONDS COMMAND...: run it under a time limit, its output shown as it comes and kept in OUTPUT.
phase() {
  local name=$1 limit=$2 began=$SECONDS left=$((DEADLINE - SECONDS)) status=0 reader
  shift 2
  ((left > 1)) || left=1
  ((limit <= left)) || limit=$left
  printf '\n== %s\n' "$name"
  : >"$OUTPUT"
  timeout --kill-after=30 "$limit" "$@" >"$OUTPUT" 2>&1 </dev/null &
  CHILD=$!
  tail -n +1 -s 0.2 -f --pid="$CHILD" "$OUTPUT" &
  reader=$!
  wait "$CHILD" || status=$?
  CHILD=''
  wait "$reader" || true
  if ((status == 124 || status == 137)); then printf 'TIMED OUT after %s s\n' "$limit"; fi
  printf '\n== %s: exit code %s after %s s\n' "$name" "$status" $((SECONDS - began))
  PHASES+=("$(printf '%6s s  %s%s' $((SECONDS - began)) "$name" "$( ((status)) && echo ": exit code $status")")")
  return "$status"
}

# test_phase NAME SECONDS COMMAND...: a phase that is counted.
test_phase() {
  local status=0
  phase "$@" || status=$?
  count "$status"
}

# count STATUS: adds the "test result:" lines of the last phase up in RESULT_*. A test program that ended without one is
# a failure, and so is a phase that fails without a failed test (it did not compile, or took too long). "FLAKY" lines are
# counted.
count() {
  local status=$1 broken
  awk -f scripts/cargo_log.awk "$OUTPUT" >"$WORK/results"
  IFS=$'\t' read -r _ RESULT_PASSED RESULT_FAILED RESULT_IGNORED < <(grep '^count' "$WORK/results")
  broken=$(grep -c '^broken' "$WORK/results" || true)
  RESULT_FAILED=$((RESULT_FAILED + broken))
  if ((status && RESULT_FAILED == 0)); then RESULT_FAILED=1; fi
  PASSED=$((PASSED + RESULT_PASSED)) FAILED=$((FAILED + RESULT_FAILED))
  FLAKY=$((FLAKY + $(grep -c '^FLAKY ' "$OUTPUT" || true)))
}

# ---- phases that run beside others ------------------------------------------------------------------------------

# What waits for the network, for Node.js or for one processor runs while cargo builds: one after the other, in a process
# of their own, each with its output and its end in files of WORK. `collect` shows them in their turn.
beside() {
  local bed child=''
  trap '[[ -z $child ]] || kill "$child" 2>/dev/null; exit 143' TERM
  aside() { # FILE SECONDS COMMAND...
    local file=$WORK/$1 limit=$2 began=$SECONDS status=0
    shift 2
    timeout --kill-after=30 "$limit" "$@" >"$file.out" 2>&1 </dev/null &
    child=$!
    wait "$child" || status=$?
    child=''
    printf '%s %s\n' "$status" $((SECONDS - began)) >"$file.new"
    mv "$file.new" "$file.end"
  }
  aside console-build 900 scripts/console.sh build --if-possible
  aside console-test 600 scripts/console.sh test --if-possible
  aside deny 600 scripts/deny.sh
  aside python-install 600 scripts/python.sh install --if-possible
  # What fails here fails again, and is counted, where the bed is started.
  for bed in ${COSMARK_TEST_BEDS:-"${BEDS[@]}"}; do
    [[ -z ${TESTS_OF[$bed]:-} ]] || aside "bed-$bed" 1200 "testbeds/$bed/up" --install
  done
}

# collect FILE NAME: wait for a phase that runs beside; its output is then that of the last phase.
collect() {
  local file=$WORK/$1 name=$2 status seconds
  while [[ ! -e $file.end ]] && ((SECONDS < DEADLINE)); do sleep 0.2; done
  [[ -e $file.end ]] || printf '124 %s\n' "$SECONDS" >"$file.end"
  read -r status seconds <"$file.end"
  printf '\n== %s\n' "$name"
  touch "$file.out"
  cp "$file.out" "$OUTPUT"
  cat "$OUTPUT"
  printf '\n== %s: exit code %s after %s s, beside others\n' "$name" "$status" "$seconds"
  PHASES+=("$(printf '%6s s  %s, beside others%s' "$seconds" "$name" "$( ((status)) && echo ": exit code $status")")")
  return "$status"
}

# test_collect FILE NAME: the same, and it is counted.
test_collect() {
  local status=0
  collect "$@" || status=$?
  count "$status"
}

# repeat_failed [--ignored] COMMAND...: what the last test phase, which ran COMMAND (for ignored tests), reported as
# failed runs once more alone.
repeat_failed() {
  local again
  ((RESULT_FAILED)) || return 0
  cp "$OUTPUT" "$WORK/log"
  phase 'tests that failed, alone' 1200 scripts/repeat_failed.sh "$WORK/log" "$@" || true
  again=$(grep -c '^FLAKY ' "$OUTPUT" || true)
  PASSED=$((PASSED + again)) FAILED=$((FAILED - again)) FLAKY=$((FLAKY + again))
}

summarize() {
  printf '\n== phases\n'
  printf '%s\n' "${PHASES[@]}"
  printf '%6s s  %s\n\n' "$SECONDS" 'all'
  printf '%s passed, %s failed, %s skipped, %s flaky\n' "$PASSED" "$FAILED" \
    $((IGNORED > RUN_BY_BEDS ? IGNORED - RUN_BY_BEDS : 0)) "$FLAKY"
  ((FAILED == 0 && PASSED > 0)) || exit 1
}

# must_pass NAME SECONDS COMMAND...: a phase without which the rest is not worth running.
must_pass() {
  phase "$@" && return 0
  FAILED=$((FAILED + 1))
  summarize
}

# ---- the tests against real systems ----------------------------------------------------------------------------

stop_bed() {
  local bed=$BED_UP
  BED_UP=''
  [[ -z $bed ]] || timeout 120 "testbeds/$bed/down" </dev/null || echo "FAILED bed $bed: down failed"
}

# run_bed BED TEST...: start it, run the tests, stop it unless it was up before.
run_bed() {
  local bed=$1 status=0
  shift
  timeout 60 "testbeds/$bed/status" --quiet </dev/null || status=$?
  if ((status == 3)); then BED_UP=$bed; fi
  status=0
  phase "bed $bed: up" 1200 "testbeds/$bed/up" || status=$?
  if ((status != 0 && status != 77)) && [[ -n $BED_UP ]]; then
    # Its data were kept from an earlier run, and what a machine that lost its power kept of them may be damaged.
    phase "bed $bed: wipe" 120 "testbeds/$bed/down" --wipe || true
    status=0
    phase "bed $bed: up, made anew" 1200 "testbeds/$bed/up" || status=$?
    if ((status == 0)); then
      FLAKY=$((FLAKY + 1))
      printf 'FLAKY bed %s: did not come up on the data that it kept, came up without them\n' "$bed"
    fi
  fi
  if ((status == 77)); then
    BED_UP=''
    printf 'SKIPPED bed %s: %s\n' "$bed" "$(sed -n 's/^skipped: //p' "$OUTPUT" | tail -n 1)"
  elif ((status)); then
    FAILED=$((FAILED + 1))
    printf 'FAILED bed %s: up ended with exit code %s; its %s tests did not run\n' "$bed" "$status" $#
  else
    # One at a time: the tests measure, and they share the machine with what they measure.
    test_phase "bed $bed: tests" 1200 "${CARGO_TEST[@]}" --test beds -- --ignored --test-threads=1 --exact "$@"
    RUN_BY_BEDS=$((RUN_BY_BEDS + RESULT_PASSED + RESULT_FAILED))
    repeat_failed --ignored "${CARGO_TEST[@]}"
  fi
  stop_bed
}

run_beds() {
  local bed name tests=() mine known
  phase 'bed tests: list' 1800 "${CARGO_TEST[@]}" --test beds -- --ignored --list || {
    FAILED=$((FAILED + 1))
    return 0
  }
  mapfile -t tests < <(sed -n 's/: test$//p' "$OUTPUT")
  if [[ $1 == beds ]]; then IGNORED=${#tests[@]}; fi
  # A test may stand in a module: its own name says which bed it needs.
  for name in "${tests[@]}"; do
    known=''
    for bed in "${BEDS[@]}"; do if [[ ${name##*::} == "${TESTS_OF[$bed]}"* ]]; then known=yes; fi; done
    for prefix in "${NO_BED[@]}"; do
      if [[ ${name##*::} == "$prefix"* ]]; then
        known=yes
        printf 'SKIPPED test %s: there is no bed for it yet\n' "$name"
      fi
    done
    if [[ -z $known ]]; then
      FAILED=$((FAILED + 1))
      printf 'FAILED bed test %s: its name begins with none of: %s\n' "$name" "${TESTS_OF[*]}"
    fi
  done
  for bed in ${COSMARK_TEST_BEDS:-"${BEDS[@]}"}; do
    [[ -n ${TESTS_OF[$bed]:-} ]] || {
      FAILED=$((FAILED + 1))
      printf 'FAILED bed %s: there is no such bed; there are: %s\n' "$bed" "${BEDS[*]}"
      continue
    }
    mine=()
    for name in "${tests[@]}"; do if [[ ${name##*::} == "${TESTS_OF[$bed]}"* ]]; then mine+=("$name"); fi; done
    if ((${#mine[@]})); then
      run_bed "$bed" "${mine[@]}"
    else
      printf 'NOTE bed %s: no test in crates/cli/tests/beds.rs begins with %s\n' "$bed" "${TESTS_OF[$bed]}"
    fi
  done
}

case ${1:-} in
  all)
    beside &
    BESIDE=$!
    must_pass 'format' 120 cargo fmt --all --check -- --color never
    # The binary embeds the pages.
    test_collect console-build 'console and report page: build'
    must_pass 'lints' 2400 cargo clippy --workspace --all-targets --locked -- -D warnings
    test_collect console-test 'console and report page: tests'
    must_pass 'tests: build' 2700 "${CARGO_TEST[@]}" --no-run
    test_collect deny 'licences and known faults of dependencies'
    # Tests run while nothing installs or builds.
    collect python-install 'Python package: install' || true
    for bed in ${COSMARK_TEST_BEDS:-"${BEDS[@]}"}; do
      [[ -z ${TESTS_OF[$bed]:-} ]] || collect "bed-$bed" "bed $bed: install" || true
    done
    test_phase 'tests' 2700 scripts/test_programs.sh --doc "${CARGO_TEST[@]}"
    IGNORED=$RESULT_IGNORED
    repeat_failed "${CARGO_TEST[@]}"
    test_phase 'Python package: tests' 600 scripts/python.sh test --if-possible
    test_phase 'reports in a browser' 900 scripts/console.sh browser --if-possible
    test_phase 'console in a browser' 1200 scripts/console.sh live --if-possible
    run_beds all
    ;;
  fast)
    must_pass 'tests: build' 2700 "${CARGO_TEST[@]}" "${FAST_TESTS[@]}" --no-run
    test_phase 'tests that wait for nothing' 600 scripts/test_programs.sh "${CARGO_TEST[@]}" "${FAST_TESTS[@]}"
    IGNORED=$RESULT_IGNORED
    ;;
  beds) run_beds beds ;;
  *)
    awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0" >&2
    exit 2
    ;;
esac
printf '\n'
finish
summarize
