#!/usr/bin/env bash
# Runs the test programs of the workspace several at once, because most of what they do is waiting; cargo runs one after
# the other. Programs that measure time run after the others, alone or in pairs.
#   scripts/test_programs.sh [--beside | --alone] FILE
# FILE is what `scripts/built.sh list` wrote; --beside: only those that run beside others; --alone: only those that do not.
# What a program prints is shown when it has ended, in the form in which cargo prints it, with its seconds. Exit code: 0 if
# all passed, 1 otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
AT_ONCE=$(($(nproc) + 1))

# By the directory of the package and the name of the program. Those that take long begin first, so that none is left over
# at the end; those that start many servers beside one that computes.
FIRST=(cli/survive controller/verdict_bench cli/attack cli/distributed certify/truth cli/cluster cli/cli cli/service)
# Their tests wait for servers, time limits and runs of a given length, each for its own (two thirds of a processor
# are what the busiest of them use): more of them at once than processors, three times as many, or twice where others leave no
# time.
WAITING=(cli/survive cli/attack cli/distributed cli/cluster certify/truth cli/service cli/history adaptors/s3_live)
WAITING_AT_ONCE=$((3 * $(nproc)))
# They sleep, or wait for time limits, nearly all of their time (what each used of a processor stands behind its output),
# and start nothing that computes: one after the other they run beside the others and take no place from them.
IDLE=(faults/cosmark_faults adaptors/lies)
# Their figures another program on the same processors would change.
ALONE=(engine/windows engine/share)
# These measure, too, but what they assert holds beside one other such program, and mostly they wait. The longest first.
IN_PAIRS=(cli/truth cli/verdict cli/goals)

part=all
case ${1:-} in
  --beside | --alone)
    part=${1#--}
    shift
    ;;
esac
[[ $# == 1 && -s $1 ]] || {
  awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0" >&2
  exit 2
}
programs=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM

# crowded: whether for a second there are always twice as many tasks that could run as there are processors.
crowded() {
  local look
  for look in 1 2 3 4 5; do
    # Without the one that counts them. A kernel that does not say it is none that is crowded.
    awk -v most=$((2 * $(nproc))) '$1 == "procs_running" { busy = ($2 - 1 >= most) } END { exit !busy }' \
      /proc/stat 2>/dev/null || return 1
    ((look == 5)) || sleep 0.25
  done
}

# job COMMAND..: run it, and show what it printed when it is over.
job() {
  local output=$work/$BASHPID
  "$@" >"$output" 2>&1 </dev/null || : >"$work/failed"
  flock "$work/shown" cat "$output"
  rm "$output"
}

# run_all AT_ONCE: the programs whose lines come in.
run_all() {
  local most=$1 running=0 key directory source program more
  while IFS=$'\t' read -r key directory source program; do
    if ((running == most)); then
      wait -n || true
      running=$((running - 1))
    fi
    more=()
    if [[ " ${WAITING[*]} " == *" $key "* ]]; then more=(--test-threads "$WAITING_AT_ONCE"); fi
    job scripts/built.sh program "$directory" "$source" "$program" "${more[@]}" &
    running=$((running + 1))
  done
  wait
}

# named KEY..: the programs of these names, in this order.
named() {
  local key
  for key; do awk -F '\t' -v key="$key" '$1 == key' "$programs"; done
}

if [[ $part != alone ]] && crowded; then WAITING_AT_ONCE=$((2 * $(nproc))); fi

named "${FIRST[@]}" >"$work/beside"
named "${IDLE[@]}" >"$work/idle"
named "${IN_PAIRS[@]}" >"$work/pairs"
named "${ALONE[@]}" >"$work/alone"
grep -vxF -f "$work/beside" -f "$work/idle" -f "$work/pairs" -f "$work/alone" "$programs" >>"$work/beside" || true
if [[ $part != alone ]]; then
  # Each in a shell of its own: one that waits for the next of its programs to end must not take the other's for it.
  run_all 1 <"$work/idle" &
  run_all "$AT_ONCE" <"$work/beside" &
  wait
fi
if [[ $part != beside ]]; then
  run_all 2 <"$work/pairs"
  run_all 1 <"$work/alone"
fi
[[ ! -e $work/failed ]]
