#!/usr/bin/env bash
# Everything that must hold before a change is accepted.
#   scripts/test.sh all      the console, the page of the report and their tests, format, lints, the workspace's tests,
#                            reports and the console in a browser, and the tests against real systems (testbeds/)
#   scripts/test.sh fast     the tests that wait for nothing, in less than a minute after the build
#   scripts/test.sh beds     only the tests against real systems
# Knobs (environment): COSMARK_TEST_BEDS="swift versitygw" runs only these beds, COSMARK_TEST_SECONDS bounds the whole.
#
# Lints cost no build of their own: clippy's compiler builds our crates with their tests (scripts/linted.sh).
# Most tests wait more than they compute. First run those of the workspace, several programs at once
# (scripts/test_programs.sh), beside Swift's beds, which take longest; then what else does not measure, in three more lanes
# side by side: Ceph's beds, the browser, and Python with the other beds. Last the programs that measure run alone.
#
# A bed whose program takes minutes to build (minio) runs where it was built before, or is asked for by name.
# A bed that cannot run on this machine is reported by a line "SKIPPED bed NAME: why"; a bed that should run and does
# not is a failure. So is it with the page of the report (without Node.js) and with the browser. Tests that fail beside
# others run once more by themselves (scripts/repeat_failed.sh): those that pass then count as passed, and as flaky. At the end
# stands a table of the phases, and as the last line "N passed, N failed, N skipped, N flaky": passed and failed add up what
# the test programs report, plus one failure for each phase that failed otherwise; skipped are the ignored tests that no bed
# ran. Exit code: 0 if at least one test passed and none failed, 1 otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The beds, and how the names of their tests in crates/cli/tests/beds.rs begin.
BEDS=(swift keystone ceph versitygw minio nginx-dav apache-dav azurite fake-gcs)
declare -A TESTS_OF=(
  [swift]=swift_ [keystone]=keystone_ [ceph]=ceph_ [versitygw]=versitygw_ [minio]=minio_
  [nginx-dav]=webdav_ [apache-dav]=digest_ [azurite]=azure_ [fake-gcs]=gcs_
)

# Beds that follow each other, in lanes side by side: one may stand on another's processes, and all stay up until the end of
# their lane. What stands in none runs in the last one. Keystone's proxy stands on the storage nodes of Swift, which Swift's
# tests break, and its load would be in their figures: it waits for them. This lane takes longest and begins first. The
# others share no port, process or disk, and take less: they follow the tests of Python, MinIO's behind those of seconds.
BED_LANES=('swift keystone' 'ceph' 'versitygw nginx-dav apache-dav azurite fake-gcs minio')

# For up: only beds that were asked for by name are built if that takes long.
[[ -n ${COSMARK_TEST_BEDS:-} ]] || export COSMARK_TESTBED_BUILD=${COSMARK_TESTBED_BUILD:-no}

# Tests of systems that have no bed here: ignored, and said so.
NO_BED=()

# The same selection of packages in every cargo test, so that nothing is built twice with other features.
CARGO_TEST=(cargo test --workspace --locked)
CLIPPY=$(command -v clippy-driver || true)

# What waits for nothing: the unit tests and the rules.
FAST_TESTS=(--lib --bins --test architecture --test docs --test interface --test gate --test choosing --test conversion
  --test diagnostics --test library --test limits --test selectors --test settings --test shares --test cosbench_keys
  --test http_no_alloc --test judge --test conformance --test requests)

WORK=$(mktemp -d)
OUTPUT=$WORK/output # of the phase that runs
BUILT=$WORK/built   # the test programs
CHILD=''            # the process of the phase
declare -A LANES=() # the processes of the lanes, by name
PASSED=0 FAILED=0 IGNORED=0 RUN_BY_BEDS=0 FLAKY=0
PHASES=() # a line of the table each
DEADLINE=${COSMARK_TEST_SECONDS:-14400}

# A lane ends its phase, and that stops the beds that it started: all of it is bounded, and waited for.
finish() {
  trap - EXIT
  trap '' INT TERM HUP
  local running
  mapfile -t running < <(jobs -rp)
  ((${#running[@]} == 0)) || kill "${running[@]}" 2>/dev/null || true # timeout(1) passes it on to its whole group
  wait
  rm -rf "$WORK"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

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
# counted; a phase may have run its failed tests once more itself.
count() {
  local status=$1 broken again
  awk -f scripts/cargo_log.awk "$OUTPUT" >"$WORK/results"
  IFS=$'\t' read -r _ RESULT_PASSED RESULT_FAILED RESULT_IGNORED < <(grep '^count' "$WORK/results")
  broken=$(grep -c '^broken' "$WORK/results" || true)
  RESULT_RUN=$((RESULT_PASSED + RESULT_FAILED))
  RESULT_FAILED=$((RESULT_FAILED + broken + $(grep -c '^FAILED bed ' "$OUTPUT" || true)))
  if ((status && RESULT_FAILED == 0)); then RESULT_FAILED=1; fi
  again=$(grep -c '^FLAKY .*: failed beside others, passed alone$' "$OUTPUT" || true)
  PASSED=$((PASSED + RESULT_PASSED + again)) FAILED=$((FAILED + RESULT_FAILED - again))
  FLAKY=$((FLAKY + $(grep -c '^FLAKY ' "$OUTPUT" || true)))
}

# ---- lanes: phases that run beside others -----------------------------------------------------------------------

# lane NAME FUNCTION..: runs the functions in a process of its own, in which `aside` runs one phase after the other. A lane
# ends when this script is gone, too.
lane() {
  local name=$1
  shift
  exec {SHOWN}>&1
  (
    trap - EXIT
    child='' watch='' own=$BASHPID
    # shellcheck disable=SC2016 # each value at its time
    trap 'trap "" TERM HUP; kill $child $watch 2>/dev/null; wait; exit 143' TERM HUP
    # It holds no output: who reads that to its end would wait for it, and it for who reads.
    { tail -s 1 -f --pid=$$ /dev/null && kill "$own"; } {SHOWN}>&- &
    watch=$!
    for function; do $function; done
    kill "$watch" 2>/dev/null || true
  ) >/dev/null 2>&1 </dev/null &
  LANES[$name]=$!
  exec {SHOWN}>&-
  # One processor has no time left while one test waits: its lanes follow each other.
  (($(nproc) > 1)) || wait "${LANES[$name]}" || true
}

# In a lane: aside FILE SECONDS COMMAND...: a phase whose output and end go to files of WORK. What fails in it is shown at
# once, and when it ends.
aside() {
  local file=$WORK/$1 limit=$2 began=$SECONDS status=0
  shift 2
  # What is ended may have beds to stop.
  timeout --kill-after=900 "$limit" "$@" >"$file.out" 2>&1 </dev/null {SHOWN}>&- &
  child=$!
  tail -n +1 -s 0.5 -f --pid="$child" "$file.out" 2>/dev/null |
    sed -u -n "s/^== .*: exit code .*\|^test .* FAILED\$\|^FAILED .*\|^FLAKY .*/-- ${file##*/}: &/p" >&"$SHOWN" &
  wait "$child" || status=$?
  child=''
  printf -- '-- %s: exit code %s after %s s\n' "${file##*/}" "$status" $((SECONDS - began)) >&"$SHOWN"
  printf '%s %s\n' "$status" $((SECONDS - began)) >"$file.new"
  mv "$file.new" "$file.end"
}

# collect FILE NAME: wait for a phase of a lane and show it; its output is then that of the last phase.
collect() {
  local file=$WORK/$1 name=$2 status seconds waiter reader step
  printf '\n== %s\n' "$name"
  touch "$file.out"
  (until [[ -e $file.end ]] || ((SECONDS >= DEADLINE)) || ! kill -0 $$ 2>/dev/null; do sleep 0.2; done) &
  waiter=$!
  tail -n +1 -s 0.2 -f --pid="$waiter" "$file.out" &
  reader=$!
  wait "$waiter" || true
  wait "$reader" || true
  [[ -e $file.end ]] || printf '124 %s\n' "$SECONDS" >"$file.end"
  read -r status seconds <"$file.end"
  cp "$file.out" "$OUTPUT"
  printf '\n== %s: exit code %s after %s s, beside others\n' "$name" "$status" "$seconds"
  PHASES+=("$(printf '%6s s  %s, beside others%s' "$seconds" "$name" "$( ((status)) && echo ": exit code $status")")")
  # Its steps, if it has some.
  while IFS= read -r step; do PHASES+=("$step"); done < <(
    sed -n 's/^== \(.*\): exit code 0 after \([0-9]*\) s$/\2\t\1/p; s/^== \(.*\): exit code \([0-9]*\) after \([0-9]*\) s$/\3\t\1: exit code \2/p' "$OUTPUT" |
      awk -F '\t' '{ printf "%10s s  %s\n", $1, $2 }'
  )
  return "$status"
}

# test_collect FILE NAME: the same, and it is counted.
test_collect() {
  local status=0
  collect "$@" || status=$?
  count "$status"
}

# What waits for the network, for Node.js or for one processor, while cargo builds.
prepare() {
  local bed
  aside programs 900 scripts/setup.sh all
  aside console-build 900 scripts/console.sh build --if-possible
  aside console-test 600 scripts/console.sh test --if-possible
  aside deny 600 scripts/deny.sh
  aside site 600 python3 scripts/site.py --if-possible
  aside python-install 2400 scripts/python.sh install --if-possible
  # What fails here fails again, and is counted, where the bed is started.
  for bed in "${ASKED_BEDS[@]}"; do aside "bed-$bed" 1200 "testbeds/$bed/up" --install; done
}

# cargo holds its directory: what needs cargo runs before.
# With --doc it starts a compiler for each crate, also where the manifest says that there are no examples. So it runs
# all, by names that examples alone have; that it finds none is a failure.
# shellcheck disable=SC2016 # in the shell that it is for
documentation() {
  local judge='/^ +Doc-tests / { examples = 1 } examples && /^test result: ok[.] [1-9]/ { ran = 1 } { print } END { exit !ran }'
  aside documentation 1800 bash -o pipefail -c 'judge=$1; shift; "$@" 2>&1 | awk "$judge"' documentation "$judge" \
    "${CARGO_TEST[@]}" --color never --no-fail-fast -- '(line'
}

# The binary of `make demo` is built with fewer features: that it is, without a warning, and says what it lacks.
# With the renderer of PNG and PDF, which that has not either: without it crates that all others stand on have other features,
# and are compiled once more. So is cosmark-report, and what stands on it, without the name of its own default.
# shellcheck disable=SC2016 # in the shell that it is for
lean() {
  local judge='/^(warning|error)/ { found = 1 } /^test result: ok[.] [1-9]/ { ran = 1 } { print }'
  judge+=' END { exit found || !ran }'
  aside lean 1800 bash -o pipefail -c 'judge=$1; shift; "$@" alone 2>&1 | awk "$judge"' lean "$judge" \
    "${CARGO_TEST[@]}" --color never --no-default-features --features raster,cosmark-report/default --bin cosmark
}

# What clippy said when it built the test programs: each word of it is a failure.
lint() {
  if [[ -z $CLIPPY ]]; then
    test_phase lints 60 sh -c 'echo "clippy is not there; run: rustup component add clippy"; exit 1'
    return
  fi
  test_phase lints 60 awk '/^(warning|error)/ { found = 1 } found { print } END { exit found }' "$WORK/list"
}

# On a machine that does other things a lane takes five times as long. What hangs in it ends by limits of its own.
python_tests() { aside python-test 4000 scripts/python.sh test --if-possible; }
browser() {
  # A try, and one more of each, as long as console.sh lets them be.
  aside live 6600 scripts/console.sh live --if-possible
  # The demo, a try, and one more.
  aside reports 5000 scripts/console.sh browser --if-possible
}

# repeat_failed FAILED LOG: what a phase of the workspace's tests reported as failed in LOG runs once more alone.
repeat_failed() {
  local again
  (($1)) || return 0
  cp "$2" "$WORK/log"
  phase 'tests that failed, alone' 2400 scripts/repeat_failed.sh "$WORK/log" scripts/built.sh run "$BUILT" || true
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

# beds_of LANE: of those that are asked for, in the order of the lane, as bed_tests.sh takes them.
beds_of() {
  local bed beds=()
  read -ra beds <<<"${BED_LANES[$1]}"
  if (($1 == ${#BED_LANES[@]} - 1)); then
    for bed in "${BEDS[@]}"; do [[ " ${BED_LANES[*]} " == *" $bed "* ]] || beds+=("$bed"); done
  fi
  for bed in "${beds[@]}"; do
    if [[ " ${ASKED_BEDS[*]} " == *" $bed "* ]]; then printf '%s=%s\n' "$bed" "${TESTS_OF[$bed]}"; fi
  done
}

bed_lane() { # LANE
  local beds
  mapfile -t beds < <(beds_of "$1")
  ((${#beds[@]} == 0)) || aside "beds-$1" 9000 scripts/bed_tests.sh "$BUILT" "${beds[@]}"
}
first_beds() { bed_lane 0; }
second_beds() { bed_lane 1; }
third_beds() { bed_lane 2; }

collect_beds() {
  local lane beds
  for lane in "${!BED_LANES[@]}"; do
    mapfile -t beds < <(beds_of "$lane")
    ((${#beds[@]})) || continue
    test_collect "beds-$lane" "beds ${beds[*]%%=*}"
    RUN_BY_BEDS=$((RUN_BY_BEDS + RESULT_RUN))
  done
}

# Sets ASKED_BEDS.
ask_for_beds() {
  local bed
  ASKED_BEDS=()
  for bed in ${COSMARK_TEST_BEDS:-"${BEDS[@]}"}; do
    if [[ -n ${TESTS_OF[$bed]:-} ]]; then ASKED_BEDS+=("$bed"); else
      FAILED=$((FAILED + 1))
      printf 'FAILED bed %s: there is no such bed; there are: %s\n' "$bed" "${BEDS[*]}"
    fi
  done
}

# Every bed test is some bed's. Sets BED_TESTS to their number.
check_bed_tests() {
  local name bed known tests=()
  mapfile -t tests < <(timeout 300 scripts/built.sh run "$BUILT" --test beds -- --ignored --list | sed -n 's/: test$//p')
  BED_TESTS=${#tests[@]}
  if ((BED_TESTS == 0)); then
    FAILED=$((FAILED + 1))
    printf 'FAILED bed tests: the program "beds" names none\n'
  fi
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
}

# build SELECTION..: the test programs, and their list.
build() {
  must_pass 'tests: build' 4500 "${CARGO_TEST[@]}" "$@" --no-run
  scripts/built.sh list "${CARGO_TEST[@]}" --color never "$@" >"$BUILT" 2>"$WORK/list" || {
    cat "$WORK/list"
    FAILED=$((FAILED + 1))
    summarize
  }
}

case ${1:-} in
  all)
    ask_for_beds
    export COSMARK_SHOTS=no # nobody looks at the pictures of the console
    [[ -z $CLIPPY ]] || export RUSTC_WORKSPACE_WRAPPER=$PWD/scripts/linted.sh
    lane prepare prepare
    must_pass 'format' 600 cargo fmt --all --check -- --color never
    # Where they cannot be installed, each test that misses one fails and says how.
    collect programs 'programs that tests start: install' || true
    # The binary embeds the pages.
    test_collect console-build 'console and report page: build'
    build
    lint
    test_collect console-test 'console and report page: tests'
    test_collect deny 'licences and known faults of dependencies'
    test_collect site 'documents as a site'
    # Tests run while nothing installs or builds.
    collect python-install 'Python package: install' || true
    for bed in "${ASKED_BEDS[@]}"; do collect "bed-$bed" "bed $bed: install" || true; done
    check_bed_tests
    lane cargo documentation lean
    lane swift first_beds
    test_phase 'tests' 3600 scripts/test_programs.sh --beside "$BUILT"
    IGNORED=$RESULT_IGNORED
    repeat_failed "$RESULT_FAILED" "$OUTPUT"
    lane ceph second_beds
    lane browser browser
    lane others python_tests third_beds
    test_collect documentation 'examples in the documentation'
    IGNORED=$((IGNORED + RESULT_IGNORED))
    test_collect lean 'the binary of the demo'
    test_collect python-test 'Python package: tests'
    test_collect live 'console in a browser'
    test_collect reports 'reports in a browser'
    collect_beds
    test_phase 'tests that measure' 2700 scripts/test_programs.sh --alone "$BUILT"
    IGNORED=$((IGNORED + RESULT_IGNORED))
    repeat_failed "$RESULT_FAILED" "$OUTPUT"
    ;;
  fast)
    build "${FAST_TESTS[@]}"
    test_phase 'tests that wait for nothing' 600 scripts/test_programs.sh "$BUILT"
    IGNORED=$RESULT_IGNORED
    ;;
  beds)
    ask_for_beds
    build --test beds
    check_bed_tests
    IGNORED=$BED_TESTS
    lane swift first_beds
    lane ceph second_beds
    lane others third_beds
    collect_beds
    ;;
  *)
    awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0" >&2
    exit 2
    ;;
esac
printf '\n'
finish
summarize
