# shellcheck shell=bash
# What every test bed shares: directories, packages, processes, readiness, faults, and the four verbs up, down,
# status and faults. Sourced by testbeds/*/bed.sh; running it does nothing.
#
# A bed's bed.sh calls `bed_init NAME` and defines:
#   bed_install        install its programs, if it has some of its own; may run again at any time
#   bed_prepare        install and configure; may run again at any time
#   bed_processes      print the names of its processes, in starting order
#   bed_start NAME     start one of them (through process_start)
#   bed_port NAME      print "HOST PORT" of the one, or nothing if it does not listen
#   bed_check          prove by real requests that the service works
#   bed_endpoints      print how to reach it
#   bed_target TARGET  print the process-name glob of a fault target, nothing for one that has no process of its own (a
#                      drive); fail if there is no such target
#   bed_targets        print the fault targets on one line
# and may define:
#   bed_version        print name, version and variant of the system on one line, for status
#   bed_release        called by down, after the processes ended
#   bed_spares         print the names of what lies in its directory and down --wipe has to leave: another set of data uses it
#   bed_stays NAME     called after faults started it again: wait, for a bounded time, until it can be said to stay up; die if
#                      it ended, or is not taken back
#   bed_fault_begins VERB TARGET   called before each verb of faults that changes something
#   bed_noticed TARGET, bed_whole TARGET   what faults noticed and faults whole say
#   DEVICE_TARGETS     a glob of the targets that have a device, with bed_device_fail TARGET, bed_device_heal TARGET
#   BED_VERBS          further verbs of faults, with bed_fault VERB TARGET [ARGUMENT], which notes what is in force as
#                      faults/TARGET.VERB, and bed_fault_lift TARGET VERB, which ends it and removes the note
#   LIFTED_LAST        a glob of those notes whose fault can only be lifted when what was killed runs again
#   bed_check_knobs    read the knobs of up and die where they are wrong or this machine cannot do what they ask for; for a
#                      script possible, which calls bed_possible
#   bed_limits_proof   die unless what stands for hardware holds
#   bed_limits         print what stands for hardware and holds now, a line each, for status; see limits.sh
#
# Each bed has one knob from here, NAME_MEMORY (SWIFT_MEMORY=2G): so much memory for all its processes together.
#
# Rules kept here: loopback addresses only; only processes that a bed recorded (PID, start time, boot, program) are
# ever signalled; only a directory that a bed made is ever deleted; every wait is bounded.

EXIT_SKIPPED=77 # a bed that cannot run on this machine (automake's and meson's number for "skipped")
EXIT_DOWN=3     # status: nothing of the bed is running

PATH=$PATH:/usr/sbin:/sbin
umask 022

say() { printf '%s: %s\n' "${BED_NAME:-setup}" "$*"; }
warn() { printf '%s: %s\n' "${BED_NAME:-setup}" "$*" >&2; }
die() {
  warn "error: $*"
  exit 1
}
skip() {
  printf 'skipped: %s\n' "$*"
  exit "$EXIT_SKIPPED"
}

# usage [STATUS]: print the comment block at the head of the running script and exit.
usage() {
  ((${1:-0} == 0)) || exec >&2
  awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0"
  exit "${1:-0}"
}

is_root() { [[ $(id -u) == 0 ]]; }

# ---- directories -----------------------------------------------------------------------------------------------

# bed_init NAME [BASE]: set the bed's directories. Makes nothing. BASE replaces the default base directory.
bed_init() {
  local home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
  BED_NAME=$1
  TESTBED_DIR=$(realpath -m -- "${COSMARK_TESTBED_DIR:-${2:-$home/.cache/cosmark-testbeds}}")
  # The paths are written into configuration files of several syntaxes.
  [[ $TESTBED_DIR =~ ^/[A-Za-z0-9/._+-]+$ ]] ||
    die "'$TESTBED_DIR': set COSMARK_TESTBED_DIR to a path of letters, digits and / . _ + - only"
  BED_DIR=$TESTBED_DIR/$BED_NAME
  RUN_DIR=$BED_DIR/run
  LOG_DIR=$BED_DIR/log
  FAULT_DIR=$BED_DIR/faults
  TOOLS_DIR=$TESTBED_DIR/tools # programs that were installed for the beds; `down --wipe` keeps them
}

# Make the bed's directories and hold its lock until the script ends: one up, down or fault at a time.
bed_open() {
  mkdir -p "$RUN_DIR" "$LOG_DIR" "$FAULT_DIR" "$TOOLS_DIR" || die "cannot write $BED_DIR; set COSMARK_TESTBED_DIR"
  : >>"$BED_DIR/.cosmark-testbed"
  exec 9>"$BED_DIR/.lock"
  flock -w 600 9 || die "another command holds $BED_DIR/.lock for 10 minutes; end it and try again"
}

# render TEMPLATE OUTPUT KEY=VALUE...: replace each @KEY@. A placeholder that is left over is an error.
render() {
  local text key pair
  text=$(<"$1")
  for pair in "${@:3}"; do
    key=${pair%%=*}
    text=${text//"@$key@"/"${pair#*=}"}
  done
  [[ ! $text =~ @[A-Z_]+@ ]] || die "$1: nothing was given for ${BASH_REMATCH[0]}"
  printf '%s\n' "$text" >"$2"
}

# ---- packages --------------------------------------------------------------------------------------------------

# need_packages PROBE=PACKAGES...: install Debian packages whose probe (a command, or a file by absolute path) is
# missing. PACKAGES may be several, separated by commas. Without root or apt: say what to install, exit 77.
need_packages() {
  local pair probe more packages=()
  for pair in "$@"; do
    probe=${pair%%=*}
    if [[ $probe == /* ]]; then [[ -e $probe ]] && continue; else command -v "$probe" >/dev/null && continue; fi
    IFS=, read -ra more <<<"${pair#*=}"
    packages+=("${more[@]}")
  done
  ((${#packages[@]})) || return 0
  [[ -z ${LOOKING:-} ]] || ! is_root || return 0
  if ! command -v apt-get >/dev/null; then
    skip "no apt-get here; install by your system's means what Debian calls: ${packages[*]}"
  elif ! is_root; then
    skip "packages are missing; run: sudo apt-get install -y --no-install-recommends ${packages[*]}"
  fi
  say "installing ${packages[*]}"
  apt_install "${packages[@]}" 9>&-
}

# Install without starting the packages' own services (policy-rc.d(8)): a bed runs its own copy on its own port.
apt_install() (
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if [[ ! -e /usr/sbin/policy-rc.d ]]; then
    trap 'rm -f "$log" /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 755 /usr/sbin/policy-rc.d
  fi
  export DEBIAN_FRONTEND=noninteractive
  install=(timeout 900 apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@")
  "${install[@]}" >"$log" 2>&1 </dev/null && exit 0
  # The package lists of a fresh or an old machine are missing or stale: fetch them and try once more.
  timeout 300 apt-get -q update >>"$log" 2>&1 </dev/null
  "${install[@]}" >>"$log" 2>&1 </dev/null && exit 0
  tail -n 20 "$log" >&2
  die "apt-get could not install: $*"
)

# ---- processes -------------------------------------------------------------------------------------------------
# A process is recorded in run/NAME.pid as "PID START BOOT PROGRAM" and leads its own session, so that its workers
# are found by session number. PID and START (clock ticks since boot, proc(5)) together name one process for good;
# BOOT tells records of an earlier boot apart.

BOOT_ID=$(</proc/sys/kernel/random/boot_id)

# process_ticks PID: its start time, field 22 of stat; the command name before it may hold spaces and brackets.
process_ticks() {
  local stat
  { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
  read -ra stat <<<"${stat##*) }"
  printf '%s\n' "${stat[19]}"
}

process_is_zombie() { grep -q '^State:[[:space:]]*[ZX]' "/proc/$1/status" 2>/dev/null; }

# process_record NAME: set REC_PID, REC_TICKS, REC_PROGRAM from its pid file; fail if there is none of this boot.
process_record() {
  local boot
  REC_PID='' REC_TICKS='' REC_PROGRAM=''
  [[ -f $RUN_DIR/$1.pid ]] || return 1
  read -r REC_PID REC_TICKS boot REC_PROGRAM <"$RUN_DIR/$1.pid" || return 1
  [[ $REC_PID =~ ^[1-9][0-9]*$ && $boot == "$BOOT_ID" ]]
}

process_is_alive() {
  process_record "$1" && [[ $(process_ticks "$REC_PID") == "$REC_TICKS" ]] && ! process_is_zombie "$REC_PID"
}

# process_members NAME...: the PIDs of their sessions. Where a leader is gone, its orphans: same session, same program,
# started no earlier. Where its number now belongs to another process: nothing.
process_members() {
  local name pid sid state ticks
  local -A orphans_of=()
  for name in "$@"; do
    process_record "$name" || continue
    if [[ ! -e /proc/$REC_PID ]]; then
      orphans_of[$REC_PID]="$REC_TICKS $REC_PROGRAM"
    elif [[ $(process_ticks "$REC_PID") == "$REC_TICKS" ]]; then
      orphans_of[$REC_PID]=
    fi
  done
  ((${#orphans_of[@]})) || return 0
  while read -r pid sid state; do
    [[ $state != Z* && -v orphans_of[$sid] ]] || continue
    if [[ ${orphans_of[$sid]} ]]; then
      read -r REC_TICKS REC_PROGRAM <<<"${orphans_of[$sid]}"
      ticks=$(process_ticks "$pid") || continue
      [[ $ticks -ge $REC_TICKS && $(readlink "/proc/$pid/exe") == "$REC_PROGRAM" ]] || continue
    fi
    printf '%s\n' "$pid"
  done < <(ps -e -o pid=,sid=,stat=)
}

# process_names [GLOB]: names on record that match.
process_names() {
  local file name
  for file in "$RUN_DIR"/*.pid; do
    [[ -e $file ]] || continue
    name=${file##*/} name=${name%.pid}
    # shellcheck disable=SC2053 # the right side is a pattern on purpose
    [[ $name == ${1:-*} ]] && printf '%s\n' "$name"
  done
  return 0
}

# process_start NAME COMMAND...: start it in a session of its own, output to log/NAME.log, and record it.
process_start() {
  local name=$1 program ticks
  shift
  program=$(command -v "$1") || die "$1 is not installed"
  program=$(realpath "$program")
  # Logs are kept for reading after a failure, but bounded.
  if [[ $(stat -c %s "$LOG_DIR/$name.log" 2>/dev/null || echo 0) -gt 20000000 ]]; then
    mv "$LOG_DIR/$name.log" "$LOG_DIR/$name.log.1"
  fi
  (process_enter "$name" && cd / && exec setsid "$@" </dev/null >>"$LOG_DIR/$name.log" 2>&1 9>&-) &
  local pid=$!
  ticks=$(process_ticks "$pid") || die "$name ended at once; see $LOG_DIR/$name.log"
  printf '%s %s %s %s\n' "$pid" "$ticks" "$BOOT_ID" "$program" >"$RUN_DIR/$name.pid"
}

# process_enter NAME: take this shell into the groups of that process.
process_enter() { memory_enter && { ! declare -F limits_enter >/dev/null || limits_enter "$1"; }; }

# anything_runs: whether a process of the bed does.
anything_runs() {
  local names
  mapfile -t names < <(process_names)
  ((${#names[@]})) && [[ -n $(process_members "${names[@]}") ]]
}

# process_signal SIGNAL NAME...: to every process of those sessions.
process_signal() {
  local pid
  for pid in $(process_members "${@:2}"); do kill "-$1" "$pid" 2>/dev/null || true; done
}

# process_kill NAME...: SIGKILL until nothing is left, so that a worker forked meanwhile does not escape.
process_kill() {
  local deadline=$((SECONDS + 60))
  while ((SECONDS < deadline)); do
    [[ -n $(process_members "$@") ]] || return 0
    process_signal KILL "$@"
    sleep 0.05
  done
  die "processes $(process_members "$@" | tr '\n' ' ')survive SIGKILL; they are stuck in the kernel"
}

# process_stop GRACE_SECONDS NAME...: TERM to all at once, one shared grace, then KILL; the records are removed.
process_stop() {
  local deadline=$((SECONDS + $1)) name
  shift
  (($#)) || return 0
  process_signal TERM "$@"
  process_signal CONT "$@" # a stopped process acts on TERM only when it goes on
  while ((SECONDS < deadline)) && [[ -n $(process_members "$@") ]]; do sleep 0.2; done
  process_kill "$@"
  for name in "$@"; do rm -f "$RUN_DIR/$name.pid"; done
}

# ---- memory ----------------------------------------------------------------------------------------------------
# NAME_MEMORY (512M, 2G): a control group of the bed's own holds all its processes and the pages of the files that they
# read and write, so that a working set can be larger than the memory of the store. Its group stands in run/memory as
# "VERSION BYTES GROUP". Of version 1 the controller memory, else of version 2; cgroups(7), cgroup-v1/memory.rst and
# cgroup-v2.rst of the kernel.

# memory_group: set MEM_VERSION, MEM_BYTES, MEM_GROUP from the record; fail if there is none.
memory_group() {
  MEM_VERSION='' MEM_BYTES='' MEM_GROUP=''
  [[ -s $RUN_DIR/memory ]] && read -r MEM_VERSION MEM_BYTES MEM_GROUP <"$RUN_DIR/memory"
}

# control_root ONE TWO: print version and directory of a hierarchy that may be written, with the controller called ONE
# in version 1 and TWO in version 2; fail if there is none.
control_root() {
  local place kind options
  while read -r _ place kind options _; do
    [[ $kind == cgroup && ,$options, == *",$1,"* && -w $place ]] || continue
    echo "1 $place"
    return 0
  done </proc/mounts
  while read -r _ place kind _; do
    [[ $kind == cgroup2 && -w $place ]] && grep -qw "$2" "$place/cgroup.controllers" 2>/dev/null || continue
    grep -qw "$2" "$place/cgroup.subtree_control" || echo "+$2" >"$place/cgroup.subtree_control" || continue
    echo "2 $place"
    return 0
  done 2>/dev/null </proc/mounts
  return 1
}

# memory_possible: die where NAME_MEMORY asks for what cannot be.
memory_possible() {
  local knob
  knob=$(basename "$HERE")
  knob=${knob//-/_}
  knob=${knob^^}_MEMORY
  [[ ${!knob:-} =~ ^([1-9][0-9]{0,5}[MG])?$ ]] || die "$knob=${!knob}: use a whole number and M or G, such as 512M"
  [[ -z ${!knob:-} ]] || control_root memory memory >/dev/null ||
    die "$knob=${!knob}: this machine lets nobody limit memory here (control groups of version 1 or 2, and root); leave it out"
}

# memory_prepare: the group that NAME_MEMORY asks for, empty and limited; none without it.
memory_prepare() {
  local knob asked bytes=0 version root group alive
  knob=$(basename "$HERE")
  knob=${knob//-/_}
  knob=${knob^^}_MEMORY
  asked=${!knob:-}
  [[ $asked =~ ^([1-9][0-9]{0,5}[MG])?$ ]] || die "$knob=$asked: use a whole number and M or G, such as 512M"
  [[ -z $asked ]] || bytes=$(numfmt --from=iec "$asked")
  mapfile -t alive < <(process_names)
  if ((${#alive[@]})) && [[ -n $(process_members "${alive[@]}") ]]; then
    memory_group || MEM_BYTES=0
    ((MEM_BYTES == bytes)) ||
      die "the bed is up with $(memory_words "$MEM_BYTES") and $knob asks for $(memory_words "$bytes"); run down first"
    return 0
  fi
  memory_release
  ((bytes)) || return 0
  read -r version root < <(control_root memory memory) ||
    die "$knob=$asked: this machine lets nobody limit memory here (control groups of version 1 or 2, and root); leave it out"
  group=$root/cosmark-$BED_NAME-$(cksum <<<"$BED_DIR" | cut -d' ' -f1)
  mkdir -p "$group" || die "$knob=$asked: $group cannot be made; leave it out"
  printf '%s %s %s\n' "$version" "$bytes" "$group" >"$RUN_DIR/memory"
  if ((version == 1)); then
    # Memory first: that with swap may never be less.
    echo "$bytes" >"$group/memory.limit_in_bytes" || die "$group takes no limit of $bytes bytes"
    [[ ! -e $group/memory.memsw.limit_in_bytes ]] || echo "$bytes" >"$group/memory.memsw.limit_in_bytes" ||
      die "$group takes no limit of $bytes bytes with swap"
  else
    echo "$bytes" >"$group/memory.max" || die "$group takes no limit of $bytes bytes"
    [[ ! -e $group/memory.swap.max ]] || echo 0 >"$group/memory.swap.max" || die "$group takes no limit of swap"
  fi
}

# memory_words BYTES: how much, for people; 0 is no limit.
memory_words() { if (($1)); then echo "at most $(($1 / 1048576)) MiB of memory"; else echo 'no limit of memory'; fi; }

# memory_enter: take this shell into the bed's group, before it becomes one of its processes.
memory_enter() {
  memory_group || return 0
  echo "$BASHPID" >"$MEM_GROUP/cgroup.procs"
}

# memory_state: set MEM_LIMIT, MEM_USED, MEM_KILLED as the kernel has them, and MEM_OUTSIDE, the bed's processes that are not
# in the group.
memory_state() {
  local names pid
  if ((MEM_VERSION == 1)); then
    MEM_LIMIT=$(<"$MEM_GROUP/memory.limit_in_bytes") MEM_USED=$(<"$MEM_GROUP/memory.usage_in_bytes")
    MEM_KILLED=$(awk '$1 == "oom_kill" { print $2 }' "$MEM_GROUP/memory.oom_control")
  else
    MEM_LIMIT=$(<"$MEM_GROUP/memory.max") MEM_USED=$(<"$MEM_GROUP/memory.current")
    MEM_KILLED=$(awk '$1 == "oom_kill" { print $2 }' "$MEM_GROUP/memory.events")
  fi
  MEM_OUTSIDE=()
  mapfile -t names < <(process_names)
  for pid in $(process_members "${names[@]}"); do
    grep -qx "$pid" "$MEM_GROUP/cgroup.procs" || [[ ! -e /proc/$pid ]] || MEM_OUTSIDE+=("$pid")
  done
}

# memory_proof: the limit is what was asked (the kernel counts in pages), and every process is under it; die if not.
memory_proof() {
  memory_group || return 0
  memory_state
  ((MEM_LIMIT <= MEM_BYTES && MEM_LIMIT > MEM_BYTES - $(getconf PAGESIZE))) ||
    die "$MEM_GROUP has a limit of $MEM_LIMIT bytes, not $MEM_BYTES"
  ((${#MEM_OUTSIDE[@]} == 0)) || die "processes ${MEM_OUTSIDE[*]} are not in $MEM_GROUP, so nothing limits their memory"
}

# memory_line: what holds now, on one line, for status; nothing without a limit.
memory_line() {
  local inside
  memory_group || return 0
  if [[ ! -d $MEM_GROUP ]]; then
    echo "memory: $MEM_GROUP is gone, so there is no limit any more"
    return 0
  fi
  memory_state
  inside=$(wc -l <"$MEM_GROUP/cgroup.procs")
  printf 'memory: at most %d MiB for all processes and their files together (control group, version %d), %d processes in it' \
    $((MEM_LIMIT / 1048576)) "$MEM_VERSION" "$inside"
  ((${#MEM_OUTSIDE[@]} == 0)) || printf ', %d outside it' "${#MEM_OUTSIDE[@]}"
  ((${MEM_KILLED:-0} == 0)) || printf ', %d were killed for want of it' "$MEM_KILLED"
  printf '; %d MiB in use\n' $((MEM_USED / 1048576))
}

# memory_release: take the group away; its processes have ended.
memory_release() {
  local try
  memory_group || return 0
  for ((try = 0; try < 300; try++)); do
    [[ -d $MEM_GROUP ]] || break
    rmdir "$MEM_GROUP" 2>/dev/null || sleep 0.1
  done
  [[ ! -d $MEM_GROUP ]] || die "$MEM_GROUP cannot be removed: processes $(tr '\n' ' ' <"$MEM_GROUP/cgroup.procs")are in it"
  rm -f "$RUN_DIR/memory"
}

# ---- readiness -------------------------------------------------------------------------------------------------

# patience SECONDS: for how long something is waited for; not less than a bed has to come up, where its caller says so.
patience() {
  local least=${COSMARK_TESTBED_UP_SECONDS:-0}
  echo $(($1 > least ? $1 : least))
}

port_is_open() { (exec 3<>"/dev/tcp/$1/$2") 2>/dev/null; }

# wait_for_listen NAME DEADLINE: until the process accepts connections. DEADLINE is a value of SECONDS.
wait_for_listen() {
  local host port
  read -r host port <<<"$(bed_port "$1")"
  [[ -n $port ]] || return 0
  until port_is_open "$host" "$port"; do
    process_is_alive "$1" || die "$1 ended; see $LOG_DIR/$1.log"
    ((SECONDS < $2)) || die "$1 does not listen on $host:$port in time; see $LOG_DIR/$1.log"
    sleep 0.1
  done
}

# start_and_wait SECONDS NAME...: start those that do not run, then wait until all of them listen.
start_and_wait() {
  local deadline=$((SECONDS + $1)) name host port missing=()
  shift
  for name in "$@"; do
    if ! process_is_alive "$name"; then missing+=("$name"); fi
  done
  process_kill "${missing[@]}" # orphaned workers of a dead leader would hold the port
  for name in "${missing[@]}"; do
    read -r host port <<<"$(bed_port "$name")"
    if [[ -n $port ]] && port_is_open "$host" "$port"; then
      die "$host:$port is taken by a process that is not ours (ss -ltnp shows it); end it and try again"
    fi
  done
  for name in "${missing[@]}"; do
    bed_start "$name"
    STARTED+=("$name")
  done
  for name in "$@"; do wait_for_listen "$name" "$deadline"; done
}

# http STATUSES OUTPUT URL CURL_ARGS...: one request, its body to the file OUTPUT; fail unless the answer's status is
# among STATUSES ("200 204"). An empty URL stands for one that CURL_ARGS hold.
http() {
  local expected=$1 output=$2 url=$3 answer status
  shift 3
  # The body passes through a file, not a variable: it may hold any bytes.
  answer=$(mktemp)
  status=$(curl -sS -m 120 -o "$answer" -w '%{http_code}' ${url:+"$url"} "$@") || {
    rm -f "$answer"
    die "no answer to: $* $url"
  }
  if [[ " $expected " != *" $status "* ]]; then
    head -c 500 "$answer" | tr -d '\r' | tr -c '[:print:]\n' '?' >&2
    rm -f "$answer"
    die "answered $status, not $expected: $* $url"
  fi
  cat "$answer" >"$output"
  rm -f "$answer"
}

# check_object URL CURL_ARGS...: PUT 4 KiB of random bytes, GET and compare, DELETE, and GET gives 404.
check_object() (
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  head -c 4096 /dev/urandom >"$work/made"
  http '200 201 202 204' /dev/null "$@" -T "$work/made"
  http 200 "$work/got" "$@"
  cmp -s "$work/made" "$work/got" || die "$1 gave back other bytes than were put"
  http '200 202 204' /dev/null "$@" -X DELETE
  http 404 /dev/null "$@"
)

# s3 STATUSES OUTPUT PAYLOAD PATH CURL_ARGS...: one request to S3_ENDPOINT, signed with V4 by curl. The keys go to curl
# in the URL, because an access key may hold a colon, and through a descriptor, to stay out of the process list. Some
# servers insist on the header with the payload's hash.
s3() {
  local hash url=${S3_ENDPOINT/:\/\//://${S3_ACCESS//:/%3A}:${S3_SECRET//:/%3A}@}$4
  hash=$(sha256sum <"$3" | cut -d' ' -f1)
  http "$1" "$2" '' -H "x-amz-content-sha256: $hash" --aws-sigv4 aws:amz:us-east-1:s3 \
    -K <(printf 'url = "%s"\n' "$url") "${@:5}"
}

# check_s3 ENDPOINT ACCESS SECRET BUCKET: make the bucket, the same round trip in it, and remove it.
check_s3() (
  S3_ENDPOINT=$1 S3_ACCESS=$2 S3_SECRET=$3
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  head -c 4096 /dev/urandom >"$work/made"
  s3 '200 409' /dev/null /dev/null "/$4" -X PUT # 409: left over from a check that was interrupted
  s3 200 /dev/null "$work/made" "/$4/object" -T "$work/made"
  s3 200 "$work/got" /dev/null "/$4/object"
  cmp -s "$work/made" "$work/got" || die "$1/$4/object gave back other bytes than were put"
  s3 204 /dev/null /dev/null "/$4/object" -X DELETE
  s3 404 /dev/null /dev/null "/$4/object"
  s3 204 /dev/null /dev/null "/$4" -X DELETE
)

# ---- faults ----------------------------------------------------------------------------------------------------
# A fault in force is a file faults/TARGET.VERB.

now_utc() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }

# The faults in force, as TARGET.VERB.
fault_files() {
  local file
  for file in "$FAULT_DIR"/*; do
    if [[ -e $file ]]; then printf '%s\n' "${file##*/}"; fi
  done
}

# In the order in which they are healed. What was killed comes after the rest: it may need the way that another fault has cut.
fault_files_to_heal() {
  local fault last=() killed=()
  for fault in $(fault_files); do
    # shellcheck disable=SC2053 # the right side is a pattern on purpose
    if [[ $fault == ${LIFTED_LAST:-} ]]; then
      last+=("$fault")
    elif [[ $fault == *.kill ]]; then
      killed+=("$fault")
    else
      printf '%s\n' "$fault"
    fi
  done
  ((${#killed[@]} == 0)) || printf '%s\n' "${killed[@]}"
  ((${#last[@]} == 0)) || printf '%s\n' "${last[@]}"
}

# Lift every fault without starting what was killed: for up, which starts it, and down, which ends everything.
fault_clear_all() {
  local fault names
  for fault in $(fault_files); do
    case $fault in
      *.pause)
        mapfile -t names < <(process_names "$(bed_target "${fault%.pause}")")
        process_signal CONT "${names[@]}"
        ;;
      *.devfail) bed_device_heal "${fault%.devfail}" ;;
      *.kill) ;;
      *) bed_fault_lift "${fault%.*}" "${fault##*.}" ;;
    esac
    rm -f "$FAULT_DIR/$fault"
  done
}

# start_and_stay NAME...: start them again, and wait until the bed says that they stay, if it can tell.
start_and_stay() {
  local name
  start_and_wait "$(patience 60)" "$@"
  if declare -F bed_stays >/dev/null; then for name in "$@"; do bed_stays "$name"; done; fi
}

# fault_do VERB TARGET: apply or lift one fault.
fault_do() {
  local verb=$1 target=$2 glob names=() alive=() name
  glob=$(bed_target "$target") || die "no target '$target'; there are: $(bed_targets)"
  if [[ -n $glob ]]; then
    mapfile -t names < <(process_names "$glob")
    ((${#names[@]})) || die "$target was never started; run up first"
  else
    case $verb in devfail | devheal) ;; *) die "$target has no process of its own, for $verb" ;; esac
  fi
  for name in "${names[@]}"; do
    if process_is_alive "$name"; then alive+=("$name"); fi
  done
  case $verb in
    kill | pause) ((${#alive[@]})) || die "$target is not running; run: faults restart $target" ;;
    devfail | devheal)
      # shellcheck disable=SC2053 # the right side is a pattern on purpose
      [[ $target == ${DEVICE_TARGETS:-} ]] || die "$target has no device that could fail (${DEVICE_TARGETS:-no target} has)"
      ;;
  esac
  # What is made to fail is noted first, so that an interruption half way leaves something to heal.
  case $verb in
    kill)
      : >"$FAULT_DIR/$target.kill"
      process_kill "${names[@]}"
      rm -f "$FAULT_DIR/$target.pause"
      ;;
    restart)
      start_and_stay "${names[@]}"
      rm -f "$FAULT_DIR/$target.kill"
      ;;
    pause)
      : >"$FAULT_DIR/$target.pause"
      # Twice: the first pass may miss a worker that is being forked.
      process_signal STOP "${alive[@]}"
      process_signal STOP "${alive[@]}"
      ;;
    resume)
      process_signal CONT "${names[@]}"
      rm -f "$FAULT_DIR/$target.pause"
      ;;
    devfail)
      [[ ! -e $FAULT_DIR/$target.devfail ]] || die "the device of $target has failed already"
      : >"$FAULT_DIR/$target.devfail"
      bed_device_fail "$target"
      ;;
    devheal)
      [[ -e $FAULT_DIR/$target.devfail ]] || die "the device of $target has not failed"
      bed_device_heal "$target"
      # Healing may have had to end the processes that held the device.
      [[ -e $FAULT_DIR/$target.kill ]] || start_and_stay "${names[@]}"
      rm -f "$FAULT_DIR/$target.devfail"
      ;;
  esac
}

# ---- full devices ----------------------------------------------------------------------------------------------
# A file .filling takes all that is left on a device. It stays where the device goes: through a failure, a down and a boot.

# device_fill PLACE: in steps that halve, until not a block is left.
device_fill() {
  local step end=0
  for ((step = 1 << 40; step >= 4096; step /= 2)); do
    while fallocate -o "$end" -l "$step" "$1/.filling" 2>/dev/null; do end=$((end + step)); done
  done
}

# device_empty PLACE: die where that cannot be done, so that the note of the fault stays.
device_empty() {
  rm -f "$1/.filling" 2>/dev/null || die "$1/.filling cannot be removed; if the device has failed, devheal it first"
}

# device_mounted PLACE TARGET: a filling that no note knows goes: the note was lost with a wipe or a copy of the data.
device_mounted() { [[ -e $FAULT_DIR/$2.fill ]] || device_empty "$1"; }

# device_is_full PLACE: say how little is left; fail if it is more.
device_is_full() {
  local left
  left=$(df --output=avail -B1 "$1" 2>/dev/null | tail -n 1) || return 1
  [[ $left =~ ^\ *[0-9]+$ ]] && ((left < 1 << 20)) || return 1
  say "$1 has ${left// /} bytes left"
}

# fault_proof VERB TARGET: look at the system itself, and not at what was noted: exit 0 and say what is seen if the fault is
# there, 1 if it is not.
fault_proof() {
  local verb=$1 target=$2 glob names=() members pid state still=0 all=0
  glob=$(bed_target "$target") || die "no target '$target'; there are: $(bed_targets)"
  [[ -z $glob ]] || mapfile -t names < <(process_names "$glob")
  case $verb in
    kill)
      ((${#names[@]})) || return 1
      members=$(process_members "${names[@]}")
      [[ -z $members ]] || return 1
      say "none of the ${#names[@]} processes of $target runs"
      ;;
    pause)
      for pid in $(process_members "${names[@]}"); do
        state=$(sed 's/.*) //; s/ .*//' "/proc/$pid/stat" 2>/dev/null) || continue
        all=$((all + 1))
        if [[ $state == [Tt] ]]; then still=$((still + 1)); fi
      done
      ((all > 0 && still == all)) || return 1
      say "all $all processes of $target stand still (state T)"
      ;;
    *)
      declare -F bed_fault_proof >/dev/null || die "this bed cannot prove '$verb'"
      bed_fault_proof "$verb" "$target"
      ;;
  esac
}

# ---- the verbs -------------------------------------------------------------------------------------------------

# bed_up: start what is not running, wait until it serves, prove it, and say how to reach it. If that fails, what
# this call started is ended again.
# bed_up [--install]: with --install only its programs are installed, and nothing is started.
bed_up() {
  case $* in '' | --install) ;; -h | --help) usage ;; *) usage 2 ;; esac
  local began=$SECONDS
  STARTED=()
  bed_open
  if [[ ${1:-} == --install ]]; then
    if declare -F bed_install >/dev/null; then bed_install; fi
    return 0
  fi
  # By whose scripts it was started: those of a bed that nobody has started are not run without a word of the user's.
  realpath -m -- "$(dirname -- "$0")" >"$BED_DIR/.cosmark-testbed"
  trap 'up_failed' EXIT
  memory_prepare
  bed_prepare
  fault_clear_all
  mapfile -t names < <(bed_processes)
  start_and_wait "${COSMARK_TESTBED_UP_SECONDS:-180}" "${names[@]}"
  memory_proof
  ! declare -F bed_limits_proof >/dev/null || bed_limits_proof
  bed_check
  trap - EXIT
  say "up after $((SECONDS - began)) s (${#STARTED[@]} of ${#names[@]} processes started now)"
  bed_endpoints
}

# Runs when the script ends before bed_up was through, be it by an error or by a signal.
up_failed() {
  local status=$? limit
  if ((${#STARTED[@]})); then
    limit=$(memory_line) || limit=''
    [[ -z $limit ]] || warn "$limit"
    warn "not up; ending the ${#STARTED[@]} processes started just now (logs: $LOG_DIR)"
    process_stop 5 "${STARTED[@]}"
    (memory_release) || true # what ran before may still be in it
    warn "if it fails again, what it kept may be damaged: ${0%/*}/down --wipe deletes it, and up makes it anew"
  fi
  if declare -F limits_release >/dev/null && ! anything_runs; then (limits_release) || true; fi
  exit "$((status ? status : 1))"
}

# bed_possible: whether up could do what its knobs ask for, whatever runs and whatever data there are. Makes nothing.
bed_possible() {
  case $* in '') ;; -h | --help) usage ;; *) usage 2 ;; esac
  LOOKING=yes
  # shellcheck disable=SC2034 # SETTINGS is a bed's
  RUN_DIR=/nonexistent SETTINGS=/nonexistent/settings
  memory_possible
  bed_check_knobs
}

# bed_down [--wipe]: end every recorded process; with --wipe also delete the bed's data, configuration and logs.
bed_down() {
  case $* in '' | --wipe) ;; -h | --help) usage ;; *) usage 2 ;; esac
  if [[ ! -e $BED_DIR/.cosmark-testbed ]]; then
    say "down (never started)"
    return 0
  fi
  local names
  bed_open
  mapfile -t names < <(process_names)
  # A limit that cannot be lifted is seen again, and said, where its device is unmounted.
  ! declare -F limits_lift >/dev/null || (limits_lift) || true
  process_stop 10 "${names[@]}"
  fault_clear_all
  if declare -F bed_release >/dev/null; then bed_release; fi
  memory_release
  ! declare -F limits_release >/dev/null || limits_release
  if [[ ${1:-} == --wipe ]]; then
    ! grep -qF " $BED_DIR/" /proc/mounts || die "something is still mounted under $BED_DIR; unmount it and try again"
    bed_wipe
    say "down (${#names[@]} processes ended), data deleted"
  else
    say "down (${#names[@]} processes ended), data kept in $BED_DIR"
  fi
}

# bed_wipe: delete the bed's directory, but for what another set of data uses.
bed_wipe() {
  local name spared=()
  if declare -F bed_spares >/dev/null; then mapfile -t spared < <(bed_spares); fi
  if ((${#spared[@]} == 0)); then
    rm -rf --one-file-system "$BED_DIR"
    return 0
  fi
  local keep=(! -name .cosmark-testbed)
  for name in "${spared[@]}"; do keep+=(! -name "$name"); done
  find "$BED_DIR" -xdev -mindepth 1 -maxdepth 1 "${keep[@]}" -exec rm -rf --one-file-system {} +
  say "${spared[*]} of $BED_DIR stays: another set of data uses it"
}

# memory_of NAME...: processes, and their memory in MB: RSS counts shared pages once per process, PSS once in all.
memory_of() {
  local pid pids=0 rss=0 pss=0 kb
  for pid in $(process_members "$@"); do
    kb=$(awk '/^Rss:/ { r = $2 } /^Pss:/ { p = $2 } END { print r + 0, p + 0 }' "/proc/$pid/smaps_rollup" 2>/dev/null) ||
      continue
    rss=$((rss + ${kb% *})) pss=$((pss + ${kb#* })) pids=$((pids + 1))
  done
  printf '%d processes, RSS %d MB, PSS %d MB\n' "$pids" $((rss / 1024)) $((pss / 1024))
}

# bed_status [--quiet]: exit 0 if all processes run, no fault is in force, and what stands for hardware is there; 1 if
# not, 3 if nothing runs.
bed_status() {
  case $* in '' | --quiet) ;; -h | --help) usage ;; *) usage 2 ;; esac
  local names name up=() faults state limit limits=() code=0
  mapfile -t names < <(bed_processes)
  mapfile -t faults < <(fault_files)
  for name in "${names[@]}"; do
    if process_is_alive "$name"; then
      up+=("$name") state="up   pid $REC_PID"
    else
      state=DOWN
    fi
    [[ ${1:-} == --quiet ]] || printf '%-30s %s\n' "$name" "$state"
  done
  if ((${#up[@]})) && declare -F bed_limits >/dev/null; then mapfile -t limits < <(bed_limits); fi
  if ((${#up[@]} < ${#names[@]} || ${#faults[@]})); then code=1; fi
  # Nor is one whose emulated hardware has gone what was asked for.
  for limit in "${limits[@]}"; do
    if [[ $limit == *' not there any more' ]]; then code=1; fi
  done
  if ((${#up[@]} == 0)); then code=$EXIT_DOWN; fi
  if [[ ${1:-} != --quiet ]]; then
    if declare -F bed_version >/dev/null; then say "$(bed_version)"; fi
    say "${#up[@]} of ${#names[@]} up; $(memory_of "${up[@]}")"
    limit=$(memory_line)
    [[ -z $limit ]] || say "$limit"
    for limit in "${limits[@]}"; do say "$limit"; done
    ((${#faults[@]} == 0)) || say "faults in force: ${faults[*]}"
    ((${#up[@]} == 0)) || bed_endpoints
  fi
  return "$code"
}

# bed_faults VERB [TARGET]: see the head of the faults script. Prints when it was asked and when it was in force.
bed_faults() {
  local verb=${1:-} target=${2:-} asked fault
  case $verb in
    kill | restart | pause | resume | devfail | devheal) (($# == 2)) || usage 2 ;;
    list | healall) (($# == 1)) || usage 2 ;;
    proof) (($# == 3)) || usage 2 ;;
    noticed | whole) (($# == 2)) || usage 2 ;;
    -h | --help) usage ;;
    *) [[ -n $verb && " ${BED_VERBS:-} " == *" $verb "* ]] && (($# == 2 || $# == 3)) || usage 2 ;;
  esac
  [[ -e $BED_DIR/.cosmark-testbed ]] || die "the bed is down; run up first"
  STARTED=()
  bed_open
  case $verb in
    list) fault_files ;;
    proof) fault_proof "$target" "$3" ;;
    noticed | whole)
      if declare -F "bed_$verb" >/dev/null; then "bed_$verb" "$target"; else
        say "this bed cannot tell when the store has $verb"
        exit 77
      fi
      ;;
    healall)
      for fault in $(fault_files_to_heal); do
        case $fault in
          *.kill) fault_do restart "${fault%.kill}" ;;
          *.pause) fault_do resume "${fault%.pause}" ;;
          *.devfail) fault_do devheal "${fault%.devfail}" ;;
          *) bed_fault_lift "${fault%.*}" "${fault##*.}" ;;
        esac
        say "$(now_utc) healed $fault"
      done
      ;;
    *)
      asked=$(now_utc)
      ! declare -F bed_fault_begins >/dev/null || bed_fault_begins "$verb" "$target"
      case $verb in
        kill | restart | pause | resume | devfail | devheal) fault_do "$verb" "$target" ;;
        *) bed_fault "$@" ;;
      esac
      # From when on being whole counts, for the verb whole.
      case $verb in restart | resume | devheal | replace | heal | in) date +%s.%N >"$BED_DIR/healed.$target" ;; esac
      say "$verb $target: asked $asked, in force $(now_utc)"
      ;;
  esac
}
