# shellcheck shell=bash
# What stands for hardware that one machine has not: slow disks, one disk below all nodes, slow links, and less
# processor for what clients talk to. Sourced by a bed's bed.sh behind lib.sh; running it does nothing. What holds is
# read back from the kernel, and status says it with the word "emulated".
#
# A bed sets LIMITS to the beginning of its knobs, and calls
#   limits_choose      when its other knobs are chosen: read these knobs
#   limits_possible    when all of them fit each other: look whether this machine can do what they ask for
#   limits_prepare IP...   before its devices and processes: the processor's share, and the links to these addresses
#   disks_mount BYTES, disk_limit PLACE, place_unmount PLACE   around its devices; a down calls limits_lift
#   limits_proof PLACE...   when all runs, from bed_limits_proof
# and may define
#   limits_shares NAME succeed for the processes that share what LIMITS_CPU names
#
# Knobs, NAME as in SWIFT: NAME_DISKS=own|one, NAME_DISK_IOPS, NAME_DISK_RATE, NAME_LINK, and the one that LIMITS_CPU
# names. Their values of the last up stand in the bed's file settings.
#
# Each thing is noted in run/limits before it is there, so that down takes it away also after a kill of up:
#   cpu VERSION PERCENT GROUP | io VERSION GROUP | link MBIT BOOT

LINK_HANDLE=c05:
LIMIT_PERIOD_US=20000 # short, so that a share is felt as slowness and not as pauses

# limits_keys: the knobs that stand in settings.
limits_keys() { printf '%s\n' "${LIMITS}_DISKS" "${LIMITS}_DISK_IOPS" "${LIMITS}_DISK_RATE" "${LIMITS}_LINK" ${LIMITS_CPU:+"$LIMITS_CPU"}; }

limits_settings() {
  local key
  for key in $(limits_keys); do printf '%s=%s\n' "$key" "${!key:-}"; done
}

# limits_asked: what the environment asks for, in the order of the keys, before the settings of the last up take its
# place.
limits_asked() {
  local key
  LIMITS_ASKED=()
  for key in $(limits_keys); do
    LIMITS_ASKED+=("${!key:-}")
    printf -v "$key" %s ''
  done
}

# limits_choose: from LIMITS_ASKED and what settings say. DISKS stays as long as the data do, the others are those of
# this up.
limits_choose() {
  local keys key disks=${LIMITS}_DISKS iops=${LIMITS}_DISK_IOPS rate=${LIMITS}_DISK_RATE link=${LIMITS}_LINK n before up=''
  mapfile -t keys < <(limits_keys)
  ! anything_runs || up=yes
  before=${!disks:-}
  [[ -z $before || -z ${LIMITS_ASKED[0]} || $before == "${LIMITS_ASKED[0]}" ]] ||
    die "this bed's data lie on $disks=$before; to change it run: down --wipe"
  printf -v "$disks" %s "${LIMITS_ASKED[0]:-${before:-own}}"
  [[ ${!disks} == own || ${!disks} == one ]] || die "$disks=${!disks}: use own or one"
  for ((n = 1; n < ${#keys[@]}; n++)); do
    key=${keys[n]}
    [[ -z $up || ${!key:-0} == "${LIMITS_ASKED[n]:-0}" ]] ||
      die "the bed is up with $key=${!key:-0} and ${LIMITS_ASKED[n]:-0} is asked for; run down first"
    printf -v "$key" %s "${LIMITS_ASKED[n]:-0}"
  done
  [[ ${!iops} =~ ^(0|[1-9][0-9]{0,5})$ ]] || die "$iops=${!iops}: use a whole number of I/Os a second"
  [[ ${!rate} =~ ^(0|[1-9][0-9]{0,5}[KMG])$ ]] || die "$rate=${!rate}: use a whole number and K, M or G of bytes a second, such as 50M"
  [[ ${!link} =~ ^(0|[1-9][0-9]{0,5})$ ]] || die "$link=${!link}: use a whole number of Mbit/s"
  if [[ -n ${LIMITS_CPU:-} ]]; then
    [[ ${!LIMITS_CPU} =~ ^(0|[5-9]|[1-9][0-9]{1,3})$ ]] ||
      die "$LIMITS_CPU=${!LIMITS_CPU}: use percent of one processor, 5 to 9999"
  fi
}

# disk_bytes: what DISK_RATE says, in bytes a second.
disk_bytes() {
  local rate=${LIMITS}_DISK_RATE
  numfmt --from=si "${!rate:-0}"
}

disks_are_limited() {
  local iops=${LIMITS}_DISK_IOPS rate=${LIMITS}_DISK_RATE
  [[ ${!iops:-0} != 0 || ${!rate:-0} != 0 ]]
}

# limits_possible: die with a clear word where this machine cannot do what is asked for, before anything is begun.
limits_possible() {
  local link=${LIMITS}_LINK memory=${LIMITS}_MEMORY version
  if disks_are_limited; then
    read -r version _ < <(disk_root) ||
      die "${LIMITS}_DISK_IOPS and ${LIMITS}_DISK_RATE: this machine lets nobody throttle a disk here (control groups of version \
1 with blkio, or 2 with io, and root); leave them out"
  fi
  if [[ -n ${LIMITS_CPU:-} && ${!LIMITS_CPU} != 0 ]]; then
    read -r version _ < <(control_root cpu cpu) ||
      die "$LIMITS_CPU: this machine lets nobody limit processors here (control groups of version 1 or 2 with cpu, and root); \
leave it out"
    # A process is in one group of version 2.
    [[ $version == 1 || -z ${!memory:-} ]] ||
      die "$LIMITS_CPU and $memory together need control groups of version 1; leave one of them out"
  fi
  if [[ ${!link} != 0 ]]; then
    is_root || die "$link shapes the loopback interface and needs root; leave it out"
    need_packages tc=iproute2
    link_is_free
    link_can_be "${!link}"
  fi
}

# link_can_be MBIT: die where this kernel shapes no loopback interface. Tried in a network of its own, which is gone
# with the command; where there can be none of these, up finds out.
link_can_be() {
  unshare -n tc -V >/dev/null 2>&1 || return 0
  unshare -n bash -c "$(declare -f link_add link_class link_filter); LINK_HANDLE=$LINK_HANDLE; link_add $1 127.0.0.11" \
    >/dev/null 2>&1 || die "${LIMITS}_LINK: this kernel shapes no loopback interface (htb and u32); leave it out"
}

# link_is_free: nobody else shapes lo; ours may be there from an up before.
link_is_free() {
  local now
  now=$(tc qdisc show dev lo 2>/dev/null | awk '$4 == "root" { print $3; exit }') || {
    # Who only looks installs nothing: up brings tc along.
    [[ -z ${LOOKING:-} ]] || return 0
    die "${LIMITS}_LINK: 'tc qdisc show dev lo' fails; leave it out"
  }
  [[ $now == 0: || -z $now ]] || { [[ $now == "$LINK_HANDLE" ]] && { [[ -n ${LOOKING:-} ]] || link_is_ours; }; } ||
    die "${LIMITS}_LINK: lo has a queue already (tc qdisc show dev lo), of another bed or of somebody else; end that first"
}

# link_is_ours: this bed has noted it, and since this machine was started: what is there after a boot is another bed's.
link_is_ours() {
  local noted
  noted=$(limits_noted link) && [[ ${noted#* } == "$BOOT_ID" ]]
}

# limits_note KIND WORDS...: before the thing is there; one line for each kind.
limits_note() {
  { grep -v "^$1 " "$RUN_DIR/limits" 2>/dev/null || true; printf '%s\n' "$*"; } >"$RUN_DIR/limits.new"
  mv "$RUN_DIR/limits.new" "$RUN_DIR/limits"
}

# limits_noted KIND: print what is noted of it; fail if nothing is.
limits_noted() {
  local kind rest
  while read -r kind rest; do
    [[ $kind != "$1" ]] || { printf '%s\n' "$rest"; return 0; }
  done 2>/dev/null <"$RUN_DIR/limits"
  return 1
}

limits_group() { echo "$1/cosmark-$BED_NAME-$(cksum <<<"$BED_DIR" | cut -d' ' -f1)"; }

# limits_prepare IP...: die where it cannot be done. What is up already has it.
limits_prepare() {
  local link=${LIMITS}_LINK version root
  ! anything_runs || return 0
  limits_release
  if disks_are_limited || device_limits_are_asked; then
    read -r version root < <(disk_root) || root=''
    if [[ ${version:-} == 2 ]]; then
      limits_note io 2 "$(limits_group "$root")"
      mkdir -p "$(limits_group "$root")" || die "no group for the limits of disks can be made; leave them out"
    fi
  fi
  if [[ -n ${LIMITS_CPU:-} && ${!LIMITS_CPU} != 0 ]]; then cpu_prepare "${!LIMITS_CPU}"; fi
  if [[ ${!link} != 0 ]]; then link_prepare "${!link}" "$@"; fi
}

# A bed that limits devices by knobs of its own says so.
device_limits_are_asked() { declare -F bed_limits_devices >/dev/null && bed_limits_devices; }

# ---- processors ------------------------------------------------------------------------------------------------

cpu_prepare() { # cpu_prepare PERCENT
  local version root group quota=$(($1 * LIMIT_PERIOD_US / 100))
  read -r version root < <(control_root cpu cpu) || die "$LIMITS_CPU: this machine lets nobody limit processors here; leave it out"
  group=$(limits_group "$root")-share
  limits_note cpu "$version" "$1" "$group"
  mkdir -p "$group" || die "$LIMITS_CPU: $group cannot be made; leave it out"
  if ((version == 1)); then
    echo "$LIMIT_PERIOD_US" >"$group/cpu.cfs_period_us" && echo "$quota" >"$group/cpu.cfs_quota_us"
  else
    echo "$quota $LIMIT_PERIOD_US" >"$group/cpu.max"
  fi || die "$group takes no limit of $1 % of a processor; leave $LIMITS_CPU out"
}

# limits_enter NAME: take this shell into the groups of NAME, before it becomes that process.
limits_enter() {
  local noted version group percent
  # No process substitution: its child, if it was not waited for yet, would be one of the process that this shell becomes,
  # and Swift's updater ends at a child that it has not made.
  noted=$(limits_noted io || true)
  if [[ -n $noted ]] && read -r version group <<<"$noted"; then echo "$BASHPID" >"$group/cgroup.procs" || return 1; fi
  declare -F limits_shares >/dev/null && limits_shares "$1" || return 0
  noted=$(limits_noted cpu || true)
  [[ -z $noted ]] || { read -r version percent group <<<"$noted" && echo "$BASHPID" >"$group/cgroup.procs"; }
}

# cpu_now VERSION GROUP: the limit as the kernel has it, in percent of a processor.
cpu_now() {
  local quota period
  if (($1 == 1)); then
    quota=$(<"$2/cpu.cfs_quota_us") period=$(<"$2/cpu.cfs_period_us")
  else
    read -r quota period <"$2/cpu.max"
  fi
  [[ $quota =~ ^[1-9] ]] || return 1
  echo $((quota * 100 / period))
}

# ---- links -----------------------------------------------------------------------------------------------------
# The link of the machine in front (proxy or gateway, and the client beside it, at 127.0.0.1) to all nodes, each
# direction of so many bits a second, by an htb of lo. What an address of a node sends to another does not pass it; the
# rest of lo passes one queue more.

link_prepare() { # link_prepare MBIT IP...
  local rate=$1
  shift
  limits_note link "$rate" "$BOOT_ID"
  link_away
  {
    link_add "$rate" "$@" && link_is_whole "$rate" "$#"
  } >>"$LOG_DIR/limits.log" 2>&1 && return 0
  link_away
  die "${LIMITS}_LINK: this kernel shapes no loopback interface (htb and u32; see $LOG_DIR/limits.log); leave it out"
}

link_add() { # link_add MBIT IP...
  local rate=$1 ip
  shift
  tc qdisc add dev lo root handle "$LINK_HANDLE" htb default 1 &&
    tc class add dev lo parent "$LINK_HANDLE" classid "${LINK_HANDLE}1" htb rate 100gbit quantum 200000 &&
    link_class 2 "$rate" && link_class 3 "$rate" || return 1
  for ip in "$@"; do link_filter 127.0.0.1 "$ip" 2 && link_filter "$ip" 127.0.0.1 3 || return 1; done
}

# A direction, and in it what begins a connection before all else: a queue of lo holds 64 MB, in which a SYN would wait
# for seconds, longer than Swift's proxy waits for a node (conn_timeout: 0.5 s). The queues in front of real links
# (fq_codel, of most Linux distributions) send new flows first, too. No packet overtakes another of its connection.
link_class() { # link_class NUMBER MBIT
  local id=$LINK_HANDLE$1 add=(tc class add dev lo parent) like=(ceil "$2mbit" burst 128k cburst 128k quantum 200000)
  "${add[@]}" "$LINK_HANDLE" classid "$id" htb rate "$2mbit" "${like[@]}" &&
    "${add[@]}" "$id" classid "${id}0" htb rate "$(($2 * 50))kbit" "${like[@]}" prio 0 &&
    "${add[@]}" "$id" classid "${id}1" htb rate "$(($2 * 950))kbit" "${like[@]}" prio 1
}

link_filter() { # link_filter FROM TO CLASS
  local add=(tc filter add dev lo parent "$LINK_HANDLE" protocol ip prio) both=(u32 match ip src "$1/32" match ip dst "$2/32")
  # Of TCP (byte 9) the flag SYN (byte 33: Linux sends no options of IP).
  "${add[@]}" 1 "${both[@]}" match u8 6 0xff at 9 match u8 2 2 at 33 flowid "$LINK_HANDLE${3}0" &&
    "${add[@]}" 2 "${both[@]}" flowid "$LINK_HANDLE${3}1"
}

# link_is_whole MBIT NODES: both classes have the rate, and each node two ways in each direction.
link_is_whole() {
  (($(link_now) == $1)) && (($(tc filter show dev lo parent "$LINK_HANDLE" | grep -c "flowid ${LINK_HANDLE}[23][01]") == 4 * $2))
}

# link_now: the rate as the kernel has it, in whole Mbit/s; 0 where both directions are not there.
link_now() {
  tc class show dev lo 2>/dev/null | awk -v out="${LINK_HANDLE}2" -v back="${LINK_HANDLE}3" '
    $3 == out || $3 == back {
      for (i = 4; i < NF; i++) if ($i == "rate") rate = $(i + 1)
      number = rate + 0
      if (rate ~ /Gbit$/) number *= 1000; else if (rate ~ /Kbit$/) number /= 1000; else if (rate !~ /Mbit$/) number /= 1000000
      seen++; if (seen == 1 || number < least) least = number
    }
    END { printf "%d\n", seen == 2 ? least : 0 }'
}

# Only what has our handle goes, however often it is asked.
link_away() { tc qdisc del dev lo root handle "$LINK_HANDLE" 2>/dev/null || true; }

# ---- disks -----------------------------------------------------------------------------------------------------

# Not mountpoint(1): it stats the place, and a file system that was shut down answers EIO.
device_number() { awk -v place="$1" '$5 == place { number = $3 } END { if (!number) exit 1; print number }' /proc/self/mountinfo; }

# disks_mount BYTES: with DISKS=one a file system on one image below the images of all nodes; the device below it is the
# disk.
disks_mount() {
  local disks=${LIMITS}_DISKS place=$BED_DIR/images image=$BED_DIR/disk.xfs
  [[ ${!disks} == one ]] || return 0
  mkdir -p "$place"
  if ! grep -qF " $place " /proc/mounts; then
    if [[ ! -f $image ]]; then
      truncate -s "$1" "$image.new"
      mkfs.xfs -q "$image.new" >>"$LOG_DIR/limits.log" 2>&1 || die "mkfs.xfs failed; see $LOG_DIR/limits.log"
      mv "$image.new" "$image"
    fi
    mount -o loop,noatime "$image" "$place" || die "cannot mount $image (are loop devices allowed here?); use $disks=own"
  fi
  disk_throttle "$place"
}

# disk_limit PLACE: a device of a node was mounted there: it has the limit itself, or lies on the disk that has it. Such
# a one is read and written past the cache of that disk's file system, which would be a second memory.
disk_limit() {
  local disks=${LIMITS}_DISKS
  if [[ ${!disks:-own} != one ]]; then
    disk_throttle "$1"
    return 0
  fi
  losetup --direct-io=on "$(awk -v place="$1" '$2 == place { print $1 }' /proc/mounts)" 2>>"$LOG_DIR/limits.log" ||
    warn "the cache of the one disk below all nodes is in the way of $1; see $LOG_DIR/limits.log"
}

disk_throttle() {
  local iops=${LIMITS}_DISK_IOPS
  device_limit "$1" "${!iops:-0}" "$(disk_bytes)"
}

# throttle_root: the root group of version 1, where its kernel throttles devices; fail if there is none.
throttle_root() {
  local place kind options
  while read -r _ place kind options _; do
    [[ $kind == cgroup && ,$options, == *,blkio,* && -w $place/blkio.throttle.write_iops_device ]] || continue
    echo "$place"
    return 0
  done </proc/mounts
  return 1
}

# disk_root: print version and directory of the groups that throttle devices; fail if there are none.
disk_root() {
  local root
  if root=$(throttle_root); then echo "1 $root"; else control_root none io; fi
}

# device_limit PLACE IOPS BYTES: at most so many reads and so many writes, and bytes of each, a second of the device
# below PLACE; 0: no limit. Of version 1 the root group's, which holds for whoever writes, the kernel's own writing back
# included.
device_limit() {
  local number version group way
  if ! read -r version group < <(limits_noted io); then
    version=1
    # Nothing to lift where nothing could be limited.
    group=$(throttle_root) || {
      (($2 == 0 && $3 == 0)) || die "this machine lets nobody throttle a disk here; leave the limits of disks out"
      return 0
    }
  fi
  number=$(device_number "$1") || die "$1 is not mounted"
  [[ $number != 0:* ]] || return 0 # memory
  if ((version == 1)); then
    for way in read write; do
      echo "$number $2" >"$group/blkio.throttle.${way}_iops_device" || die "$1 could not be limited to $2 I/Os a second"
      echo "$number $3" >"$group/blkio.throttle.${way}_bps_device" || die "$1 could not be limited to $3 bytes a second"
    done
  # A limit goes with its group.
  elif [[ -d $group ]] || (($2 != 0 || $3 != 0)); then
    echo "$number riops=${2/#0/max} wiops=${2/#0/max} rbps=${3/#0/max} wbps=${3/#0/max}" >"$group/io.max" ||
      die "$1 could not be limited to $2 I/Os and $3 bytes a second"
  fi
}

# device_now PLACE: the limits as the kernel has them: "IOPS BYTES" of writes; 0 where there is none.
device_now() {
  local number version group
  number=$(device_number "$1") || return 1
  if read -r version group < <(limits_noted io); then
    awk -v device="$number" '$1 == device { for (i = 2; i <= NF; i++) { split($i, part, "="); if (part[2] != "max") of[part[1]] = part[2] } }
      END { print of["wiops"] + 0, of["wbps"] + 0 }' "$group/io.max" 2>/dev/null
    return 0
  fi
  group=$(throttle_root) || return 1
  echo "$(awk -v device="$number" '$1 == device { n = $2 } END { print n + 0 }' "$group/blkio.throttle.write_iops_device")" \
    "$(awk -v device="$number" '$1 == device { n = $2 } END { print n + 0 }' "$group/blkio.throttle.write_bps_device")"
}

# limits_lift: every device of the bed is as fast as this machine, before its processes end: what they still have in
# memory is written then, and one that waits for a slow device cannot even be killed.
limits_lift() {
  local places place
  mapfile -t places < <(awk -v below="$BED_DIR/" 'index($2, below) == 1 { print $2 }' /proc/mounts)
  for place in "${places[@]}"; do device_limit "$place" 0 0; done
}

# place_unmount PLACE: its device's number goes to another some day, so the limit goes first.
place_unmount() {
  local try
  ! grep -qF " $1 " /proc/mounts || device_limit "$1" 0 0
  for ((try = 0; try < 300; try++)); do
    grep -qF " $1 " /proc/mounts || return 0
    umount "$1" 2>>"$LOG_DIR/limits.log" || sleep 0.1
  done
  die "$1 is busy (fuser -vm shows by whom); end that and try again"
}

# disks_unmount: the one disk, after the devices of the nodes.
disks_unmount() { place_unmount "$BED_DIR/images"; }

# ---- what holds ------------------------------------------------------------------------------------------------

# limits_proof PLACE...: when all runs, the kernel has what was asked for, of each of these devices too, or die.
limits_proof() {
  local disks=${LIMITS}_DISKS iops=${LIMITS}_DISK_IOPS link=${LIMITS}_LINK place want now version percent group name pid
  if disks_are_limited; then
    want="${!iops:-0} $(disk_bytes)"
    [[ ${!disks:-own} != one ]] || set -- "$BED_DIR/images"
    for place in "$@"; do
      now=$(device_now "$place") || now='no device and'
      [[ $now == "$want" ]] || die "$place has $now (I/Os, bytes a second), not $want"
    done
  fi
  if read -r version percent group < <(limits_noted cpu); then
    now=$(cpu_now "$version" "$group") || now=no
    [[ $now == "$percent" ]] || die "$group has $now % of a processor, not $percent"
    for name in $(process_names); do
      limits_shares "$name" || continue
      for pid in $(process_members "$name"); do
        grep -qx "$pid" "$group/cgroup.procs" || [[ ! -e /proc/$pid ]] || die "process $pid of $name is not in $group"
      done
    done
  fi
  # A bed without a link asks nothing of tc, which may not be there.
  if [[ ${!link:-0} != 0 ]]; then
    now=$(link_now) || now=no
    [[ $now == "${!link}" ]] || die "the link has $now Mbit/s, not ${!link}"
  fi
}

# limits_lines PLACE: what holds now, a line each, for status. PLACE: where the device of a node is mounted.
limits_lines() {
  local disks=${LIMITS}_DISKS link=${LIMITS}_LINK place=$1 of='each node' iops bytes version percent group now words
  if [[ ${!disks:-own} == one ]]; then
    place=$BED_DIR/images of='all nodes together'
    echo 'emulated: one disk below the devices of all nodes'
  fi
  if disks_are_limited; then
    read -r iops bytes < <(device_now "$place") || iops=0 bytes=0
    if ((iops == 0 && bytes == 0)); then
      echo 'the limit of disks that was asked for is not there any more'
    else
      words=''
      ((iops == 0)) || words+=" $iops I/Os"
      ((bytes == 0)) || words+="${words:+ and} $(numfmt --to=si "$bytes") bytes"
      echo "emulated: a disk of$words a second for $of, reads and writes each (control group)"
    fi
  fi
  if read -r version percent group < <(limits_noted cpu); then
    if now=$(cpu_now "$version" "$group" 2>/dev/null); then
      echo "emulated: $now % of one processor for $LIMITS_SHARE together (control group, version $version), \
$(wc -l <"$group/cgroup.procs") processes in it"
    else
      echo "the limit of $percent % of a processor is not there any more"
    fi
  fi
  if [[ ${!link:-0} != 0 ]]; then
    now=$(link_now)
    if ((now)); then
      echo "emulated: a link of $now Mbit/s each way between 127.0.0.1 and all nodes together (htb on lo)"
    else
      echo "the link of ${!link} Mbit/s that was asked for is not there any more"
    fi
  fi
}

# limits_release: take groups and links away; the processes have ended, and devices are unmounted. May run again at any
# time.
limits_release() {
  local kind version rest group try
  [[ -e $RUN_DIR/limits ]] || return 0
  memory_group || true # of version 2 it is the same group as that of disks, and goes by itself
  while read -r kind version rest; do
    case $kind in
      link) if command -v tc >/dev/null && link_is_ours; then link_away; fi ;;
      cpu | io)
        group=${rest##* }
        [[ $group != "$MEM_GROUP" ]] || continue
        for ((try = 0; try < 300; try++)); do
          [[ -d $group ]] || break
          rmdir "$group" 2>/dev/null || sleep 0.1
        done
        [[ ! -d $group ]] || die "$group cannot be removed: processes $(tr '\n' ' ' <"$group/cgroup.procs")are in it"
        ;;
    esac
  done <"$RUN_DIR/limits"
  rm -f "$RUN_DIR/limits"
}
