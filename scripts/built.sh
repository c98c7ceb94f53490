#!/usr/bin/env bash
# The test programs that cargo has built, run without cargo: what lints or builds meanwhile does not hold them up.
#   scripts/built.sh list COMMAND..
#       COMMAND is `cargo test` with a selection. Builds what it selects, and writes a line for each test program:
#       "PACKAGE/NAME TAB PACKAGE'S DIRECTORY TAB SOURCE TAB PROGRAM", PACKAGE being the directory's own name.
#   scripts/built.sh run FILE SELECTION [-- ARGUMENT..]
#       SELECTION is `--test NAME`, `--lib`, `--bins` or `--examples`. Runs these programs of FILE, which holds such lines,
#       one after the other with the arguments, and prints what cargo prints. Exit code: 0 if all passed, 1 otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

list() {
  local built programs
  built=$("$@" --no-run --message-format=json-render-diagnostics)
  programs=$(sed -n '/"test":true},"features":/ {
    s|.*"manifest_path":"\([^"]*\)/Cargo.toml".*"target":{.*"name":"\([^"]*\)","src_path":"\([^"]*\)".*"executable":"\([^"]*\)".*|\2\t\1\t\3\t\4|p
  }' <<<"$built" | awk -F '\t' -v OFS='\t' '{ package = $2; sub(/.*\//, "", package); $1 = package "/" $1; print }' | sort -u)
  [[ -n $programs ]] || {
    echo 'cargo names no test program: its messages have another form than this script reads' >&2
    exit 1
  }
  printf '%s\n' "$programs"
}

# program DIRECTORY SOURCE PROGRAM ARGUMENT..: as cargo does, in the package's directory.
program() {
  local source=${2#"$1/"} status=0 TIMEFORMAT='%0R s, %0U + %0S s of a processor'
  [[ $source == tests/* ]] || source="unittests $source"
  printf '     Running %s (%s)\n' "$source" "${3#"$PWD/"}"
  time (cd "$1" && CARGO_MANIFEST_DIR=$1 "${@:3}") || status=$?
  echo
  return "$status"
}

run() {
  local file=$1 name='' kind=$2 directory source path status=0 key
  shift 2
  if [[ $kind == --test ]]; then
    name=$1
    shift
  fi
  [[ ${1:-} != -- ]] || shift
  while IFS=$'\t' read -r key directory source path <&3; do
    case $kind in
      --test) [[ $source == "$directory"/tests/* && ${key#*/} == "$name" ]] ;;
      --lib) [[ $source == */lib.rs && $source != "$directory"/tests/* ]] ;;
      --bins) [[ $source == "$directory"/src/* && $source != */lib.rs ]] ;;
      --examples) [[ $source == "$directory"/examples/* ]] ;;
      *) exit 2 ;;
    esac || continue
    program "$directory" "$source" "$path" "$@" 3<&- || status=1
  done 3<"$file"
  return "$status"
}

case ${1:-} in
  list | run) "$@" ;;
  program) "$@" ;; # for scripts/test_programs.sh
  *)
    awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0" >&2
    exit 2
    ;;
esac
