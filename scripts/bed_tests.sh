#!/usr/bin/env bash
# Starts test beds, runs the tests that need them, and stops those that it started.
#   scripts/bed_tests.sh FILE BED=PREFIX..
# FILE is what `scripts/built.sh list` wrote; the tests of a bed are those of the programs `beds` whose names begin with
# PREFIX. The beds come up one after the other, each with its tests; all go down at the end, the last one first, because one
# may stand on another's processes. A bed that was up before stays up.
#
# A bed that cannot run on this machine is a line "SKIPPED bed NAME: why", one that should run and does not a line
# "FAILED bed NAME: why". Tests that fail run once more, each alone (scripts/repeat_failed.sh), on a bed that is made anew
# where it does not run or serve whole any more (a line "FLAKY bed NAME: why"). Exit code: 0 if nothing failed, 1 otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($# >= 2)) && [[ -s $1 ]] || {
  awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0" >&2
  exit 2
}
BUILT=$1
shift
# Replicators look at all that tests have ever written and deleted: each half minute that is half a processor.
export SWIFT_COPY_INTERVAL=${SWIFT_COPY_INTERVAL:-150}
# Beside other lanes, on a machine that does more than that.
export COSMARK_TESTBED_UP_SECONDS=${COSMARK_TESTBED_UP_SECONDS:-1100}
AGAIN_SECONDS=180 # for one that is up already
BUILT_RUN=(scripts/built.sh run "$BUILT")
WORK=$(mktemp -d)
OUTPUT=$WORK/output # of the step that runs
CHILD=''            # its process
UP=()               # the beds that must be stopped
STATUS=0            # what this script ends with

# Nothing may cut this short, and each step of it is bounded.
finish() {
  local bed code=$1
  trap '' INT TERM HUP
  trap - EXIT
  if [[ -n $CHILD ]]; then
    kill "$CHILD" 2>/dev/null || true # timeout(1) passes it on to its whole group
    wait "$CHILD" 2>/dev/null || true
  fi
  while ((${#UP[@]})); do
    bed=${UP[-1]}
    unset 'UP[-1]'
    timeout 300 "testbeds/$bed/down" </dev/null || {
      printf 'FAILED bed %s: down failed\n' "$bed"
      code=$((code ? code : 1))
    }
  done
  rm -rf "$WORK"
  exit "$code"
}
trap 'finish "$?"' EXIT
trap 'finish 143' INT TERM HUP

# step NAME SECONDS COMMAND..: its output shown as it comes, and kept in OUTPUT.
step() {
  local name=$1 limit=$2 began=$SECONDS status=0 reader
  shift 2
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
  return "$status"
}

failed() {
  STATUS=1
  printf 'FAILED %s\n' "$*"
}

# make_anew BED: without the data that it has.
make_anew() {
  step "bed $1: wipe" 300 "testbeds/$1/down" --wipe || true
  step "bed $1: up, made anew" 1200 "testbeds/$1/up"
}

# lacks_a_part BED: whether one that this has brought up does not run whole any more, or runs and does not serve: the data of a
# Ceph that was kept through many runs may never become clean, with all its daemons alive.
lacks_a_part() {
  local status=0
  [[ " ${UP[*]} " == *" $1 "* ]] || return 1
  timeout 300 "testbeds/$1/status" --quiet </dev/null || status=$?
  ((status != 1)) || return 0
  # It is up, so that this takes no longer than its proofs.
  ! COSMARK_TESTBED_UP_SECONDS=$AGAIN_SECONDS step "bed $1: up again" 600 "testbeds/$1/up"
}

# bring_up BED: 0 up, 77 it cannot run here, otherwise it failed.
bring_up() {
  local bed=$1 status=0 is_ours=''
  # One that is down would stay up in the end where this does not hear of it.
  timeout 300 "testbeds/$bed/status" --quiet </dev/null || status=$?
  if ((status == 3)); then
    is_ours=yes
    UP+=("$bed")
  fi
  status=0
  step "bed $bed: up" 1200 "testbeds/$bed/up" || status=$?
  if ((status != 0 && status != 77)) && [[ -n $is_ours ]]; then
    # Its data were kept from an earlier run, and what a machine that lost its power kept of them may be damaged.
    status=0
    make_anew "$bed" || status=$?
    if ((status == 0)); then
      printf 'FLAKY bed %s: did not come up on the data that it kept, came up without them\n' "$bed"
    fi
  fi
  return "$status"
}

run_bed() {
  local bed=$1 prefix=$2 status=0 tests=()
  mapfile -t tests < <("${BUILT_RUN[@]}" --test beds -- --ignored --list |
    sed -n "s/^\(\(.*::\)\?$prefix.*\): test\$/\1/p")
  if ((${#tests[@]} == 0)); then
    printf 'NOTE bed %s: no test of the programs "beds" begins with %s\n' "$bed" "$prefix"
    return 0
  fi
  bring_up "$bed" || status=$?
  if ((status == 77)); then
    printf 'SKIPPED bed %s: %s\n' "$bed" "$(sed -n 's/^skipped: //p' "$OUTPUT" | tail -n 1)"
  elif ((status)); then
    failed "bed $bed: up ended with exit code $status; its ${#tests[@]} tests did not run"
  else
    # One at a time: what they measure and break is the same bed.
    step "bed $bed: tests" 4800 "${BUILT_RUN[@]}" --test beds -- --ignored --test-threads=1 --exact "${tests[@]}" && return 0
    cp "$OUTPUT" "$WORK/log"
    if lacks_a_part "$bed"; then
      # A daemon that does not start any more, for one, makes all tests fail that come after.
      make_anew "$bed" || {
        failed "bed $bed: it lost a part, and was not to be made anew"
        return 0
      }
      printf 'FLAKY bed %s: it did not run or serve whole after its tests, and was made anew\n' "$bed"
      export COSMARK_REPEAT_MOST=${#tests[@]}
    fi
    step "bed $bed: tests that failed, alone" 2400 scripts/repeat_failed.sh "$WORK/log" --ignored "${BUILT_RUN[@]}" || STATUS=1
    unset COSMARK_REPEAT_MOST
  fi
}

for pair; do run_bed "${pair%%=*}" "${pair#*=}"; done
finish "$STATUS"
