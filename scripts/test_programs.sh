#!/usr/bin/env bash
# Runs the test programs of the workspace two at once, because most of what they do is waiting; cargo runs one after the
# other. Programs that measure time run alone, after the others.
#   scripts/test_programs.sh [--doc] COMMAND..
# COMMAND is `cargo test` with a selection; --doc: the examples in the documentation of these packages, too. What a program
# prints is shown when it has ended, in the form in which cargo prints it, with its seconds. Exit code: 0 if all passed, 1
# otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
AT_ONCE=2

# By the name of the program: those that take long begin first, so that none is left over at the end, and those whose
# figures another program on the same processors would change.
FIRST=(cluster distributed attack survive cli service)
ALONE=(truth goals verdict windows share)

with_documentation=''
if [[ ${1:-} == --doc ]]; then
  with_documentation=yes
  shift
fi
command=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM

# Lines "NAME TAB PACKAGE'S DIRECTORY TAB SOURCE TAB PROGRAM" from what cargo tells of each program that it built.
"${command[@]}" --no-run --message-format=json-render-diagnostics >"$work/built"
sed -n '/"test":true},"features":/ {
  s|.*"manifest_path":"\([^"]*\)/Cargo.toml".*"target":{.*"name":"\([^"]*\)","src_path":"\([^"]*\)".*"executable":"\([^"]*\)".*|\2\t\1\t\3\t\4|p
}' "$work/built" | sort -u >"$work/programs"
[[ -s $work/programs ]] || {
  echo 'cargo names no test program: its messages have another form than this script reads'
  exit 1
}

# run_program DIRECTORY SOURCE PROGRAM: as cargo does, in the package's directory.
run_program() {
  local began=$SECONDS source=${2#"$1/"} status=0
  [[ $source == tests/* ]] || source="unittests $source"
  printf '     Running %s (%s)\n' "$source" "${3#"$PWD/"}"
  (cd "$1" && CARGO_MANIFEST_DIR=$1 "$3") || status=$?
  printf '%s s\n\n' $((SECONDS - began))
  return "$status"
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
  local most=$1 running=0 directory source program
  while IFS=$'\t' read -r _ directory source program; do
    if ((running == most)); then
      wait -n || true
      running=$((running - 1))
    fi
    job run_program "$directory" "$source" "$program" &
    running=$((running + 1))
  done
  wait
}

# named NAME..: the programs of these names, in this order.
named() {
  local name
  for name; do awk -F '\t' -v name="$name" '$1 == name' "$work/programs"; done
}

named "${FIRST[@]}" >"$work/beside"
named "${ALONE[@]}" >"$work/alone"
grep -vxF -f "$work/beside" -f "$work/alone" "$work/programs" >>"$work/beside" || true
[[ -z $with_documentation ]] || job "${command[@]}" --doc --no-fail-fast
run_all "$AT_ONCE" <"$work/beside"
run_all 1 <"$work/alone"
[[ ! -e $work/failed ]]
