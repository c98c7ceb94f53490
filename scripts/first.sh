#!/usr/bin/env bash
# Runs a command first among programs, where it may: at a high priority, and where Linux shares processors out by session
# before it looks at priorities (autogroups, see sched(7)), with one for the session, too, until the command has ended.
#   scripts/first.sh COMMAND [ARGUMENT..]
set -u
group=/proc/self/autogroup
before=$(sed -n 's/.* nice //p' "$group" 2>/dev/null)
if [ -n "$before" ] && { echo -19 >"$group"; } 2>/dev/null; then
  trap 'echo "$before" >"$group"' EXIT
fi
if [ "$(nice -n -19 nice 2>/dev/null)" = -19 ]; then
  nice -n -19 "$@"
else
  "$@"
fi
