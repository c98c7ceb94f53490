# shellcheck shell=bash
# OpenStack Swift, all in one: one proxy, four storage nodes in four zones with one device each, TempAuth, s3api.
# Sourced by up, down, status and faults. The knobs are described in README.md.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$HERE/../lib.sh"
# shellcheck source-path=SCRIPTDIR source=../limits.sh
. "$HERE/../limits.sh"
# A second set of data beside the usual one, for other rings; the ports are the same, so one is up at a time.
SWIFT_BED=${SWIFT_BED:-}
[[ $SWIFT_BED =~ ^[a-z0-9]{0,16}$ ]] || die "SWIFT_BED=$SWIFT_BED: use at most 16 small letters and digits"
bed_init "swift${SWIFT_BED:+-$SWIFT_BED}"

SWIFT_VERSION=2.38.3
VENV=$TOOLS_DIR/swift-$SWIFT_VERSION
PYTHON=$VENV/bin/python
ETC=$BED_DIR/etc
SETTINGS=$BED_DIR/settings
PROXY_PORT=23080
MEMCACHED_PORT=23081
RSYNC_PORT=23873
NODES=(1 2 3 4)
KINDS=(object container account)
DEVICE_TARGETS='node.*'            # for lib.sh
BED_VERBS='lose replace fill heal' # for lib.sh, beside those of every bed
LIMITS=SWIFT LIMITS_CPU=SWIFT_PROXY_CPU LIMITS_SHARE='all proxies' # for limits.sh
AUTH_URL=http://127.0.0.1:$PROXY_PORT/auth/v1.0

node_ip() { echo "127.0.0.1$1"; }
node_devices() { echo "$BED_DIR/srv/$1"; }
# device_name NODE: d2, or e2 while the device that came in its place serves; the next is d2 again.
device_name() { if [[ -s $BED_DIR/devices/$1 ]]; then cat "$BED_DIR/devices/$1"; else echo "d$1"; fi; }
node_device() { echo "$BED_DIR/srv/$1/$(device_name "$1")"; }
database_device() { echo "$BED_DIR/srv/$1/c$1"; }
node_image() { echo "$BED_DIR/images/$1.xfs"; }
kind_port() { # kind_port NODE KIND
  local -A offset=([object]=0 [container]=1 [account]=2)
  echo $((23010 + $1 * 100 + ${offset[$2]}))
}

# ---- knobs -----------------------------------------------------------------------------------------------------

# The settings of the last `up` are on file, for status and faults; `up` itself takes them from its environment. Only
# what the data were laid out by is kept over a down and an up: file system, replicas, place of the databases, the
# erasure code, and whether the devices lie on one disk.
settings_load() {
  local key value
  [[ -f $SETTINGS ]] || return 0
  while IFS='=' read -r key value; do
    case $key in
      SWIFT_FS | SWIFT_DAEMONS | SWIFT_REPLICAS | SWIFT_DB | SWIFT_EC | SWIFT_DISKS | SWIFT_DISK_IOPS | SWIFT_DISK_RATE | \
        SWIFT_LINK | SWIFT_PROXY_CPU) printf -v "$key" %s "$value" ;;
    esac
  done <"$SETTINGS"
}

# kept NAME ASKED DEFAULT: the data's own setting, which another cannot replace.
kept() {
  [[ -z ${!1} || -z $2 || ${!1} == "$2" ]] || die "this bed's data lie on $1=${!1}; to change it run: down --wipe"
  printf -v "$1" %s "${2:-${!1:-$3}}"
}

settings_choose() {
  local asked_fs=${SWIFT_FS:-} asked_daemons=${SWIFT_DAEMONS:-min} asked_replicas=${SWIFT_REPLICAS:-} asked_db=${SWIFT_DB:-}
  local asked_ec=${SWIFT_EC:-}
  SWIFT_FS='' SWIFT_DAEMONS='' SWIFT_REPLICAS='' SWIFT_DB='' SWIFT_EC=''
  limits_asked
  settings_load
  if [[ -n $SWIFT_DAEMONS && $SWIFT_DAEMONS != "$asked_daemons" && -n $(process_members proxy) ]]; then
    die "the bed is up with SWIFT_DAEMONS=$SWIFT_DAEMONS; run down first"
  fi
  # A bed from before these were settings has what is now their default.
  if [[ -n $SWIFT_FS ]]; then : "${SWIFT_REPLICAS:=3}" "${SWIFT_DB:=shared}" "${SWIFT_EC:=none}" "${SWIFT_DISKS:=own}"; fi
  kept SWIFT_FS "$asked_fs" dir
  kept SWIFT_REPLICAS "$asked_replicas" 3
  kept SWIFT_DB "$asked_db" shared
  kept SWIFT_EC "$asked_ec" none
  SWIFT_DAEMONS=$asked_daemons
  case $SWIFT_FS in dir | xfs) ;; *) die "SWIFT_FS=$SWIFT_FS: use dir or xfs" ;; esac
  case $SWIFT_DAEMONS in none | min | all) ;; *) die "SWIFT_DAEMONS=$SWIFT_DAEMONS: use none, min or all" ;; esac
  case $SWIFT_REPLICAS in 1 | 2 | 3 | 4) ;; *) die "SWIFT_REPLICAS=$SWIFT_REPLICAS: use 1 to 4" ;; esac
  case $SWIFT_DB in shared | own) ;; *) die "SWIFT_DB=$SWIFT_DB: use shared or own" ;; esac
  case $SWIFT_EC in none | 2+1 | 2+2 | 3+1) ;; *) die "SWIFT_EC=$SWIFT_EC: use none, 2+1, 2+2 or 3+1" ;; esac
  [[ $SWIFT_DB == shared || $SWIFT_FS == xfs ]] || die "SWIFT_DB=own: a device of its own needs SWIFT_FS=xfs"
  knob_number SWIFT_DB_IOPS 0
  ((SWIFT_DB_IOPS == 0)) || [[ $SWIFT_DB == own ]] || die "SWIFT_DB_IOPS limits the devices of SWIFT_DB=own"
  limits_choose
  if [[ $SWIFT_DISKS == one ]] || disks_are_limited; then
    [[ $SWIFT_FS == xfs ]] || die "SWIFT_DISKS=one, SWIFT_DISK_IOPS and SWIFT_DISK_RATE are of devices, which SWIFT_FS=xfs has"
  fi
  [[ $SWIFT_DISKS == own || $SWIFT_DB == shared ]] || die "SWIFT_DB=own: with SWIFT_DISKS=one there is no other device"
  limits_possible
  SWIFT_LOG_LEVEL=${SWIFT_LOG_LEVEL:-WARNING} SWIFT_DEVICE_SIZE=${SWIFT_DEVICE_SIZE:-10G}
  knob_number SWIFT_INTERVAL 30
  knob_number SWIFT_COPY_INTERVAL "$SWIFT_INTERVAL"
  knob_number SWIFT_PROXY_WORKERS 2
  knob_number SWIFT_OBJECT_WORKERS 0
  [[ $SWIFT_LOG_LEVEL =~ ^(DEBUG|INFO|WARNING|ERROR)$ ]] ||
    die "SWIFT_LOG_LEVEL=$SWIFT_LOG_LEVEL: use DEBUG, INFO, WARNING or ERROR"
  [[ $SWIFT_DEVICE_SIZE =~ ^[0-9]+[MGT]$ ]] || die "SWIFT_DEVICE_SIZE=$SWIFT_DEVICE_SIZE: use a number and M, G or T"
}

# for limits.sh
bed_limits_devices() { ((${SWIFT_DB_IOPS:-0})); }
limits_shares() { [[ $1 == proxy ]]; }
bed_limits_proof() {
  local n places=()
  for n in "${NODES[@]}"; do places+=("$(node_device "$n")"); done
  limits_proof "${places[@]}"
}
bed_limits() {
  settings_load
  limits_lines "$(node_device 1)"
}

knob_number() { # knob_number NAME DEFAULT
  local value=${!1:-$2}
  [[ $value =~ ^[0-9]{1,5}$ ]] || die "$1=$value: use a whole number"
  printf -v "$1" %s "$value"
}

bed_check_knobs() {
  settings_choose
  [[ $SWIFT_FS != xfs ]] || is_root || die "SWIFT_FS=xfs mounts loop devices and needs root; use SWIFT_FS=dir"
  ((SWIFT_DB_IOPS == 0)) || disk_root >/dev/null ||
    die "SWIFT_DB_IOPS: this machine lets nobody throttle a disk here; leave it out"
}

# ---- install and configure -------------------------------------------------------------------------------------

bed_install() {
  settings_choose
  install_programs
}

bed_prepare() {
  bed_check_knobs
  if [[ -z $(process_members proxy) ]] && (exec 3<>/dev/tcp/127.0.0.1/$PROXY_PORT) 2>/dev/null; then
    die "127.0.0.1:$PROXY_PORT is taken: end what listens there; another set of data of this bed ends with SWIFT_BED=.. down"
  fi
  bed_install
  check_xattrs
  {
    printf '%s\n' "SWIFT_FS=$SWIFT_FS" "SWIFT_DAEMONS=$SWIFT_DAEMONS" "SWIFT_REPLICAS=$SWIFT_REPLICAS" "SWIFT_DB=$SWIFT_DB" \
      "SWIFT_EC=$SWIFT_EC"
    limits_settings
  } >"$SETTINGS"
  limits_prepare 127.0.0.11 127.0.0.12 127.0.0.13 127.0.0.14
  rings_commit
  write_configuration
  build_rings
  # The images of what was replaced lie on the one disk, if there is one.
  if [[ $SWIFT_FS == xfs ]]; then disks_mount $(($(numfmt --from=iec "$SWIFT_DEVICE_SIZE") * ${#NODES[@]} * 21 / 20)); fi
  replaced_forget
  if [[ $SWIFT_FS == xfs ]]; then
    local n
    for n in "${NODES[@]}"; do device_mount "$n"; done
  fi
  if [[ $SWIFT_DB == own ]]; then
    for n in "${NODES[@]}"; do
      image_mount "c$n" "$(database_device "$n")"
      device_limit "$(database_device "$n")" "$SWIFT_DB_IOPS" 0
    done
  fi
}

install_programs() {
  need_packages memcached=memcached rsync=rsync curl=curl python3=python3,python3-venv
  python3 -c 'import ensurepip, venv' 2>/dev/null || need_packages /no/ensurepip=python3-venv
  if [[ $SWIFT_FS == xfs ]]; then
    is_root || die "SWIFT_FS=xfs mounts loop devices and needs root; use SWIFT_FS=dir"
    need_packages mkfs.xfs=xfsprogs
  fi
  # The mark is written last: a half-made environment is thrown away.
  [[ -e $VENV/.complete ]] && cmp -s "$VENV/.complete" "$HERE/requirements.txt" && return 0
  say "installing Swift $SWIFT_VERSION into $VENV"
  rm -rf "$VENV"
  python3 -m venv "$VENV" >"$LOG_DIR/pip.log" 2>&1 || die "python3 -m venv failed; see $LOG_DIR/pip.log"
  timeout 900 "$VENV/bin/pip" install --quiet --no-input --no-deps --only-binary :all: \
    -r "$HERE/requirements.txt" >>"$LOG_DIR/pip.log" 2>&1 || {
    tail -n 5 "$LOG_DIR/pip.log" >&2
    die "pip could not install Swift; see $LOG_DIR/pip.log"
  }
  cp "$HERE/requirements.txt" "$VENV/.complete"
}

# Swift keeps an object's metadata in extended attributes of its file.
check_xattrs() {
  [[ $SWIFT_FS == dir ]] || return 0
  : >"$BED_DIR/xattr-probe"
  "$PYTHON" -c 'import os, sys; os.setxattr(sys.argv[1], "user.swift.probe", b"x" * 1000)' \
    "$BED_DIR/xattr-probe" 2>/dev/null ||
    die "$BED_DIR cannot hold user extended attributes; set COSMARK_TESTBED_DIR to a place on ext4, xfs or btrfs"
  rm -f "$BED_DIR/xattr-probe"
}

write_configuration() {
  local n kind user workers updater_interval replicator_interval rsync_identity='' mount_check=false no_fallocate=true
  user=$(id -un)
  # Started by root, rsync would serve as nobody; started by another user, it may not be told whom to be.
  if is_root; then rsync_identity=$'uid = root\ngid = root'; fi
  [[ $SWIFT_FS != xfs ]] || mount_check=true no_fallocate=false
  mkdir -p "$ETC"
  render "$HERE/templates/swift.conf.in" "$ETC/swift.conf" ERASURE="$(erasure_policy)"
  render "$HERE/templates/proxy-server.conf.in" "$ETC/proxy-server.conf" PORT=$PROXY_PORT USER="$user" ETC="$ETC" \
    WORKERS="$SWIFT_PROXY_WORKERS" MEMCACHED_PORT=$MEMCACHED_PORT LOG_LEVEL="$SWIFT_LOG_LEVEL"
  for n in "${NODES[@]}"; do
    mkdir -p "$ETC/node$n" "$BED_DIR/cache/$n" "$(node_devices "$n")"
    # A device that has failed is a dangling link until `up` or a devheal heals it.
    [[ -L $(node_device "$n") ]] || mkdir -p "$(node_device "$n")"
    render "$HERE/templates/rsyncd.conf.in" "$ETC/node$n/rsyncd.conf" IP="$(node_ip "$n")" RSYNC_PORT=$RSYNC_PORT \
      IDENTITY="$rsync_identity" DEVICES="$(node_devices "$n")" CACHE="$BED_DIR/cache/$n"
    for kind in "${KINDS[@]}"; do
      # The updater of containers starts a process for each partition, which only brings the sums of an account up to date:
      # every 30 s this takes more of two processors than all requests. The first comes at a random moment of the interval.
      updater_interval=$SWIFT_INTERVAL
      [[ $kind != container ]] || updater_interval=86400
      # Replicators of databases look at every database that there ever was, and nothing waits for them.
      replicator_interval=$SWIFT_COPY_INTERVAL
      [[ $kind == object ]] || replicator_interval=$((4 * SWIFT_COPY_INTERVAL))
      workers=0 # serve in the one process
      [[ $kind != object ]] || workers=$SWIFT_OBJECT_WORKERS
      render "$HERE/templates/storage-server.conf.in" "$ETC/node$n/$kind-server.conf" KIND="$kind" \
        IP="$(node_ip "$n")" PORT="$(kind_port "$n" "$kind")" WORKERS="$workers" USER="$user" ETC="$ETC" \
        DEVICES="$(node_devices "$n")" MOUNT_CHECK=$mount_check NO_FALLOCATE=$no_fallocate \
        CACHE="$BED_DIR/cache/$n" RSYNC_PORT=$RSYNC_PORT INTERVAL="$SWIFT_INTERVAL" \
        REPLICATOR_INTERVAL="$replicator_interval" UPDATER_INTERVAL="$updater_interval" LOG_LEVEL="$SWIFT_LOG_LEVEL"
    done
  done
}

# ---- erasure coding --------------------------------------------------------------------------------------------
# SWIFT_EC=2+1 adds storage policy 2, ec21: of each segment of an object two pieces of data and one of parity, each on a device
# of its own, by the coder that liberasurecode brings with it.

has_erasure() { [[ ${SWIFT_EC:-none} != none ]]; }

# erasure_name: what the policy is called, ec21.
erasure_name() { echo "ec${SWIFT_EC/+/}"; }

# erasure_policy: its part of swift.conf; nothing without it. The segment size is Swift's default.
erasure_policy() {
  has_erasure || return 0
  printf '\n%s\n' '[storage-policy:2]'
  printf '%s = %s\n' name "$(erasure_name)" aliases Policy-2 policy_type erasure_coding ec_type liberasurecode_rs_vand \
    ec_num_data_fragments "${SWIFT_EC%+*}" ec_num_parity_fragments "${SWIFT_EC#*+}" ec_object_segment_size 1048576
}

# Rings: 512 partitions (part power 9) over four equal devices; the seed makes them the same on every machine.
# object-1 is the ring of storage policy 1, silver, with two replicas; object-2 that of the erasure-coded one, with a place for
# each piece.
build_rings() {
  local databases=d
  [[ $SWIFT_DB == shared ]] || databases=c
  build_ring object object "$SWIFT_REPLICAS" d
  build_ring object-1 object 2 d
  ! has_erasure || build_ring object-2 object $((SWIFT_EC)) d
  build_ring container container "$SWIFT_REPLICAS" $databases
  build_ring account account "$SWIFT_REPLICAS" d
}

build_ring() ( # build_ring RING KIND REPLICAS DEVICE
  cd "$ETC" || exit 1
  [[ ! -f $1.ring.gz ]] || exit 0
  rm -f "$1.builder"
  ring=("$PYTHON" "$VENV/bin/swift-ring-builder" "$1.builder")
  {
    "${ring[@]}" create 9 "$3" 1
    for n in "${NODES[@]}"; do
      "${ring[@]}" add --region 1 --zone "$n" --ip "$(node_ip "$n")" --port "$(kind_port "$n" "$2")" \
        --device "$4$n" --weight 100
    done
    "${ring[@]}" rebalance --seed 42 || [[ $? == 1 ]] # 1 is a warning
  } >>"$LOG_DIR/rings.log" 2>&1 || die "ring $1 could not be built; see $LOG_DIR/rings.log"
  [[ -f $1.ring.gz ]] || die "ring $1 could not be built; see $LOG_DIR/rings.log"
)

# ---- devices ---------------------------------------------------------------------------------------------------

# Not mountpoint(1): it stats the place, and a file system that was shut down answers EIO.
is_mounted() { grep -qF " $1 " /proc/mounts; }

device_mount() { # device_mount NODE
  local place
  place=$(node_device "$1")
  if ! is_mounted "$place"; then
    image_mount "$(device_name "$1")" "$place"
    device_mounted "$place" "node.$1"
  fi
  disk_limit "$place"
}

image_mount() { # image_mount IMAGE PLACE
  local image device=$2
  image=$(node_image "$1")
  is_mounted "$device" && return 0
  mkdir -p "$BED_DIR/images" "$device"
  if [[ ! -f $image ]]; then
    truncate -s "$SWIFT_DEVICE_SIZE" "$image.new"
    mkfs.xfs -q -i size=512 "$image.new" >>"$LOG_DIR/devices.log" 2>&1 || die "mkfs.xfs failed; see $LOG_DIR/devices.log"
    mv "$image.new" "$image"
  fi
  mount -o loop,noatime "$image" "$device" ||
    die "cannot mount $image (are loop devices allowed here?); use SWIFT_FS=dir"
}

device_unmount() { place_unmount "$(node_device "$1")"; }

# dir: the device's directory is swapped for a dangling link, and the servers answer 507 from the next request on.
# xfs: the file system is shut down, and every access to it is an I/O error.
bed_device_fail() {
  settings_load
  if [[ -e $FAULT_DIR/$1.lose ]]; then
    rm -f "$FAULT_DIR/$1.devfail"
    die "the device of $1 is lost; run: faults replace $1"
  fi
  device_break "${1#node.}"
}

device_break() { # device_break NODE
  local n=$1
  if [[ $SWIFT_FS == xfs ]]; then
    is_mounted "$(node_device "$n")" || die "$(node_device "$n") is not mounted"
    xfs_io -x -c shutdown "$(node_device "$n")"
  else
    mkdir -p "$BED_DIR/failed"
    ln -sfn /nonexistent/failed-device "$BED_DIR/failed/$(device_name "$n")"
    "$PYTHON" "$HERE/exchange.py" "$(node_device "$n")" "$BED_DIR/failed/$(device_name "$n")"
  fi
}

bed_device_heal() {
  local n=${1#node.} names
  settings_load
  if [[ $SWIFT_FS == xfs ]]; then
    # A file system that was shut down can be mounted again only when no process holds it.
    mapfile -t names < <(process_names "node$n.*")
    process_signal TERM "${names[@]}"
    process_signal CONT "${names[@]}"
    sleep 0.5
    process_kill "${names[@]}"
    device_unmount "$n"
    device_mount "$n"
  elif [[ -L $(node_device "$n") ]]; then
    "$PYTHON" "$HERE/exchange.py" "$(node_device "$n")" "$BED_DIR/failed/$(device_name "$n")"
    rm -f "$BED_DIR/failed/$(device_name "$n")"
  fi
}

bed_fault() { # bed_fault VERB TARGET
  local n=${2#node.} other
  (($# == 2)) || usage 2
  [[ $2 == node.[1-4] ]] || die "$1 is for node.1 to node.4"
  settings_load
  rings_commit
  [[ -n $(process_members proxy) ]] || die "the bed is not up; run testbeds/swift/up"
  case $1 in
    fill)
      [[ ${SWIFT_FS:-dir} == xfs ]] || die "fill needs devices of their own, or it would fill this machine's disk: SWIFT_FS=xfs"
      device_is_sound "$2"
      [[ ! -e $FAULT_DIR/$2.fill ]] || die "$2 is full already"
      : >"$FAULT_DIR/$2.fill"
      device_fill "$(node_device "$n")"
      ;;
    heal) bed_fault_lift "$2" fill ;;
    lose)
      ((${SWIFT_REPLICAS:-3} > 1)) || die "with SWIFT_REPLICAS=1 no other device has what is on this one"
      [[ $SWIFT_DAEMONS != none ]] || die "no replicator runs, which would fill the new device: SWIFT_DAEMONS=min"
      device_is_sound "$2"
      [[ ! -e $FAULT_DIR/$2.fill ]] || die "$2 is full; run: faults heal $2"
      for other in "${NODES[@]}"; do
        [[ ! -e $FAULT_DIR/node.$other.lose ]] || die "the device of node.$other is lost; run: faults replace node.$other"
        [[ ! -e $BED_DIR/devices/$other.new ]] || (bed_whole "node.$other" >/dev/null) ||
          die "the new device of node.$other has not got all its copies yet; faults whole node.$other says when"
      done
      : >"$FAULT_DIR/$2.lose"
      device_break "$n"
      ;;
    replace)
      [[ -e $FAULT_DIR/$2.lose ]] || die "the device of $2 is not lost; run: faults lose $2"
      device_replace "$n"
      rm -f "$FAULT_DIR/$2.lose"
      ;;
  esac
}

device_is_sound() {
  [[ ! -e $FAULT_DIR/$1.devfail ]] || die "the device of $1 has failed; run: faults devheal $1"
  [[ ! -e $FAULT_DIR/$1.lose ]] || die "the device of $1 is lost; run: faults replace $1"
}

# bed_fault_lift TARGET VERB: and forget it. A lost device that nobody replaced comes back with its data.
bed_fault_lift() {
  [[ -e $FAULT_DIR/$1.$2 ]] || return 0
  case $2 in
    fill) device_empty "$(node_device "${1#node.}")" ;;
    lose) device_return "$1" ;;
  esac
  rm -f "$FAULT_DIR/$1.$2"
}

# device_return TARGET: the same device; its node's processes, which healing may have had to end, run again if the bed is up.
device_return() {
  local names
  bed_device_heal "$1"
  [[ -n $(process_members proxy) && ! -e $FAULT_DIR/$1.kill ]] || return 0
  mapfile -t names < <(process_names "node${1#node.}.*")
  start_and_stay "${names[@]}"
}

# What an operator does for a disk that is dead: an empty one under another name, the old one out of each ring and the new one
# into it with the same weight, in one rebalance; the servers read the new rings within 15 s, and the replicators fill it.
device_replace() { # device_replace NODE
  local n=$1 old new ring kind
  old=$(device_name "$n")
  if [[ $old == d* ]]; then new=e$n; else new=d$n; fi
  device_forget "$n" "$new"
  mkdir "$ETC/rings"
  for ring in object object-1 object-2 container account; do
    [[ $ring != object-2 ]] || has_erasure || continue
    kind=${ring%-[12]}
    [[ $kind != container || ${SWIFT_DB:-shared} == shared ]] || continue
    cp "$ETC/$ring.builder" "$ETC/rings/"
    ring_replace "$ring" "$(node_ip "$n")" "$(kind_port "$n" "$kind")" "$old" "$new"
  done
  if [[ $SWIFT_FS == xfs ]]; then
    # What holds a file of it goes on and lets it go in time: nobody ends a server to change a disk.
    if is_mounted "$BED_DIR/srv/$n/$old"; then
      device_limit "$BED_DIR/srv/$n/$old" 0 0
      umount --lazy "$BED_DIR/srv/$n/$old"
    fi
    SWIFT_DEVICE_SIZE=$(stat -c %s "$(node_image "$old")")
    image_mount "$new" "$BED_DIR/srv/$n/$new"
    disk_limit "$BED_DIR/srv/$n/$new"
  else
    mkdir "$BED_DIR/srv/$n/$new"
  fi
  echo "$n $old $new" >"$ETC/rings/complete"
  rings_commit
}

ring_replace() ( # ring_replace RING IP PORT OLD NEW
  cd "$ETC/rings" || exit 1
  ring=("$PYTHON" "$VENV/bin/swift-ring-builder" "$1.builder")
  {
    "${ring[@]}" remove --ip "$2" --port "$3" --device "$4" --yes &&
      "${ring[@]}" add --region 1 --zone "${5#?}" --ip "$2" --port "$3" --device "$5" --weight 100 &&
      "${ring[@]}" pretend_min_part_hours_passed &&
      { "${ring[@]}" rebalance --seed 42 || [[ $? == 1 ]]; } # 1 is a warning
  } >>"$LOG_DIR/rings.log" 2>&1 || die "ring $1 could not be changed; see $LOG_DIR/rings.log"
  [[ -f $1.ring.gz ]] || die "ring $1 could not be changed; see $LOG_DIR/rings.log"
)

# Put the new rings in place, all of them whatever interrupts it: the file complete says that they are made, and is the last
# that goes. Without it what lies there was never finished.
rings_commit() {
  local n old new file
  if [[ -s $ETC/rings/complete ]]; then
    read -r n old new <"$ETC/rings/complete"
    for file in "$ETC"/rings/*.builder "$ETC"/rings/*.ring.gz; do
      if [[ -e $file ]]; then mv "$file" "$ETC/"; fi
    done
    mkdir -p "$BED_DIR/devices"
    echo "$old" >"$BED_DIR/devices/$n.new"
    echo "$new" >"$BED_DIR/devices/$n"
    rm -f "$FAULT_DIR/node.$n.lose"
  fi
  rm -rf --one-file-system "${ETC:?}/rings"
}

# What is left of devices that were replaced. A directory's dangling link stays until then: a server that has not read the new
# ring would make the device anew.
replaced_forget() {
  local n
  for n in "${NODES[@]}"; do
    case $(device_name "$n") in
      d*) device_forget "$n" "e$n" ;;
      e*) device_forget "$n" "d$n" ;;
    esac
  done
}

device_forget() { # device_forget NODE NAME
  ! is_mounted "$BED_DIR/srv/$1/$2" || place_unmount "$BED_DIR/srv/$1/$2"
  rm -rf --one-file-system "${BED_DIR:?}/srv/$1/$2" "${BED_DIR:?}/failed/$2" "${BED_DIR:?}/images/$2.xfs"
}

# Seen from the outside: the device answers no request of the system either, or has nothing left.
bed_fault_proof() { # bed_fault_proof VERB TARGET
  local device
  device=$(node_device "${2#node.}")
  case $1 in
    devfail | lose)
      if ls "$device/" >/dev/null 2>&1; then return 1; fi
      say "$device cannot be read: $(ls "$device/" 2>&1 | tail -n 1)"
      ;;
    fill) device_is_full "$device" ;;
    *) die "cannot prove '$1'" ;;
  esac
}

# Where the proxy's log ends before a fault: what comes later is said since then, and has no time of its own.
bed_fault_begins() { # bed_fault_begins VERB TARGET
  case $1 in
    kill | pause | devfail | lose | fill)
      [[ $2 =~ ^[a-z0-9.]+$ ]] || die "there is no target '$2'; use one of: $(bed_targets)"
      stat -c %s "$LOG_DIR/proxy.log" >"$BED_DIR/asked.$2" 2>/dev/null || echo 0 >"$BED_DIR/asked.$2"
      ;;
  esac
}

# Nobody watches the nodes of a Swift. Its proxies notice one by what fails, log that, and after a few failures (at once where
# the node says that a device has no room or is not there) leave it alone for a minute. Recon's list of devices that are not
# mounted does not have one that answers with I/O errors.
bed_noticed() { # bed_noticed TARGET
  local what line
  case $1 in
    node.[1-4]) what=" $(node_ip "${1#node.}"):" ;;
    memcached) what="memcached: 127.0.0.1:$MEMCACHED_PORT" ;;
    *)
      say 'the proxy is the only one who could say that it is away'
      exit 77
      ;;
  esac
  line=$(proxy_log_since "$1" |
    awk -v what="$what" '/ERROR|error limited|memcached: / && index($0, what) { print; exit }') || true
  [[ -n $line ]] || return 1
  say "the proxy has logged: ${line:0:200}"
}

proxy_log_since() { # proxy_log_since TARGET: what it has logged since the target was last to fail
  local from size
  [[ -s $BED_DIR/asked.$1 ]] || die "$1 was never made to fail"
  from=$(<"$BED_DIR/asked.$1")
  size=$(stat -c %s "$LOG_DIR/proxy.log")
  ((from <= size)) || from=0 # it began a new one
  tail -c "+$((from + 1))" "$LOG_DIR/proxy.log"
}

# Every object replicator, and reconstructor, has ended a pass that began after the heal: Swift itself has no word for being
# whole. The pass says when it ended and how long it took.
bed_whole() { # bed_whole TARGET
  local n since answer ended took
  local passes=(replication) pass
  settings_load
  ! has_erasure || passes+=(reconstruction)
  [[ -n $(find "$RUN_DIR" -name 'node?.object-replicator.pid' | head -n 1) ]] || {
    say "no replicator runs (SWIFT_DAEMONS=none): nothing makes copies again"
    exit 77
  }
  [[ -s $BED_DIR/healed.$1 ]] || die "$1 was never healed"
  since=$(<"$BED_DIR/healed.$1")
  for n in "${NODES[@]}"; do
    for pass in "${passes[@]}"; do
      answer=$(curl -sS -m 5 "http://$(node_ip "$n"):$(kind_port "$n" object)/recon/$pass/object" 2>/dev/null) || return 1
      read -r ended took < <(python3 -c 'import json, sys
a, name = json.load(sys.stdin), "object_" + sys.argv[1]
print(a.get(name + "_last") or 0, (a.get(name + "_time") or 0) * 60)' "$pass" <<<"$answer") || return 1
      awk -v ended="$ended" -v took="$took" -v since="$since" 'BEGIN { exit !(ended - took >= since) }' || return 1
    done
  done
  n=${1#node.}
  if [[ -e $BED_DIR/devices/$n.new ]]; then
    "$PYTHON" "$HERE/partitions.py" "$ETC" "$BED_DIR/srv" "$(device_name "$n")" || return 1
    rm -f "$BED_DIR/devices/$n.new"
  fi
  say "every object replicator$(! has_erasure || echo ' and reconstructor') has ended a pass that it began after the heal"
}

# Rows of containers without their objects; see prefill.
bed_prefill() {
  local prefix=${1:-} count=${2:-} rows=${3:-} number shown try status
  case $* in -h | --help) usage ;; esac
  (($# == 3)) || usage 2
  [[ $prefix =~ ^[A-Za-z0-9._-]{1,100}$ ]] || die "'$prefix': use up to 100 letters, digits, . _ -"
  [[ $count =~ ^[1-9][0-9]{0,5}$ ]] || die "'$count': say how many containers, 1 to 999999"
  [[ $rows =~ ^(0|[1-9][0-9]{0,8})$ ]] || die "'$rows': say how many rows, 0 to 999999999"
  bed_open
  settings_load
  [[ -n $(process_members proxy) ]] || die "the bed is not up; run testbeds/swift/up"
  login
  if [[ ${SWIFT_DB:-} == own && ${SWIFT_DB_IOPS:-0} != 0 ]]; then
    knob_number SWIFT_DB_IOPS 0
    trap 'databases_limit "$SWIFT_DB_IOPS"' EXIT
    databases_limit 0
  fi
  for ((number = 1; number <= count; number++)); do
    for ((try = 1; ; try++)); do
      http '201 202' /dev/null "$STORAGE_URL/$prefix$number" -X PUT -H "X-Auth-Token: $TOKEN"
      status=0
      timeout 1200 "$PYTHON" "$HERE/prefill.py" "$ETC/swift.conf" "$BED_DIR/srv" "${STORAGE_URL##*/}" "$prefix$number" "$rows" ||
        status=$?
      ((status)) || break
      # 2: not all copies are there. After a device was replaced the proxy reads the new rings within 15 s.
      ((status == 2 && try < 15)) || die "$prefix$number has not got its $rows rows"
      sleep 2
    done
    shown=$(curl -sS -m 120 -I -H "X-Auth-Token: $TOKEN" "$STORAGE_URL/$prefix$number" |
      tr -d '\r' | awk -F': ' 'tolower($1) == "x-container-object-count" { print $2 }')
    ((${shown:-0} >= rows)) || die "the proxy says that $prefix$number has ${shown:-no} objects, not $rows"
  done
  say "$count containers ${prefix}1.. have $rows rows each"
}

databases_limit() { # databases_limit IOPS
  local n
  for n in "${NODES[@]}"; do device_limit "$(database_device "$n")" "$1" 0; done
}

bed_release() {
  local n
  for n in "${NODES[@]}"; do
    device_unmount "$n"
    place_unmount "$(database_device "$n")"
  done
  disks_unmount
}

# ---- processes -------------------------------------------------------------------------------------------------

daemons() {
  local reconstructor=''
  ! has_erasure || reconstructor=object-reconstructor
  case $SWIFT_DAEMONS in
    none) ;;
    min) echo object-replicator $reconstructor object-updater container-replicator container-updater account-replicator ;;
    all) echo object-replicator $reconstructor object-updater object-auditor container-replicator container-updater \
      container-auditor account-replicator account-auditor account-reaper ;;
  esac
}

bed_processes() {
  local n kind daemon
  [[ -n ${SWIFT_DAEMONS:-} ]] || SWIFT_DAEMONS=min
  settings_load
  echo memcached
  for n in "${NODES[@]}"; do
    echo "node$n.rsyncd"
    for kind in "${KINDS[@]}"; do echo "node$n.$kind-server"; done
    for daemon in $(daemons); do echo "node$n.$daemon"; done
  done
  echo proxy
}

bed_start() {
  local node=${1%%.*} program=${1#*.}
  case $1 in
    memcached)
      local as=()
      is_root && as=(-u root)
      process_start memcached memcached "${as[@]}" -l 127.0.0.1 -p $MEMCACHED_PORT -U 0 -m 64
      ;;
    proxy) swift_start proxy swift-proxy-server "$ETC/proxy-server.conf" ;;
    node?.rsyncd) process_start "$1" rsync --daemon --no-detach --config="$ETC/$node/rsyncd.conf" ;;
    node?.*) swift_start "$1" "swift-$program" "$ETC/$node/${program%%-*}-server.conf" ;;
  esac
}

swift_start() { # swift_start NAME PROGRAM CONFIGURATION
  process_start "$1" "$PYTHON" "$HERE/run_server.py" "$ETC/swift.conf" "$VENV/bin/$2" "$3" -v
}

bed_port() {
  local n=${1#node}
  n=${n%%.*}
  case $1 in
    memcached) echo 127.0.0.1 $MEMCACHED_PORT ;;
    proxy) echo 127.0.0.1 $PROXY_PORT ;;
    node?.rsyncd) echo "$(node_ip "$n") $RSYNC_PORT" ;;
    node?.*-server)
      local kind=${1#*.}
      echo "$(node_ip "$n") $(kind_port "$n" "${kind%-server}")"
      ;;
  esac
}

bed_targets() { echo 'node.1 node.2 node.3 node.4 proxy memcached'; }

bed_target() {
  case $1 in
    node.[1-4]) echo "node${1#node.}.*" ;;
    proxy | memcached) echo "$1" ;;
    *) return 1 ;;
  esac
}

# ---- readiness -------------------------------------------------------------------------------------------------

# login: set STORAGE_URL and TOKEN. TempAuth keeps its tokens in memcached, and after a memcached fault the proxy does
# not ask memcached again for up to a minute (Swift's default), hence the patience.
login() {
  local deadline=$((SECONDS + $(patience 90))) headers
  while :; do
    headers=$(curl -sS -m 30 -D - -o /dev/null -H 'X-Auth-User: test:tester' -H 'X-Auth-Key: testing' "$AUTH_URL" |
      tr -d '\r')
    STORAGE_URL=$(awk -F': ' 'tolower($1) == "x-storage-url" { print $2 }' <<<"$headers")
    TOKEN=$(awk -F': ' 'tolower($1) == "x-auth-token" { print $2 }' <<<"$headers")
    [[ -z $STORAGE_URL || -z $TOKEN ]] || return 0
    ((SECONDS < deadline)) || die "no token from $AUTH_URL (${headers%%$'\n'*}); see $LOG_DIR/proxy.log"
    sleep 2
  done
}

# An object through the Swift API in each storage policy, and one through the S3 API.
bed_check() {
  local policy policies=(gold silver) container
  ! has_erasure || policies+=("$(erasure_name)")
  http 200 /dev/null "http://127.0.0.1:$PROXY_PORT/healthcheck"
  login
  for policy in "${policies[@]}"; do
    container=$STORAGE_URL/testbed-check-$policy
    http '201 202' /dev/null "$container" -X PUT -H "X-Auth-Token: $TOKEN" -H "X-Storage-Policy: $policy"
    check_object "$container/object" -H "X-Auth-Token: $TOKEN"
    # 409: the container's listing still has the object, because an update was queued. It is harmless here.
    http '204 409' /dev/null "$container" -X DELETE -H "X-Auth-Token: $TOKEN"
  done
  check_s3 "http://127.0.0.1:$PROXY_PORT" test:tester testing testbed-check-s3
}

bed_version() {
  settings_load
  echo "OpenStack Swift $SWIFT_VERSION, SWIFT_FS=${SWIFT_FS:-dir}, SWIFT_DAEMONS=${SWIFT_DAEMONS:-min}, \
${SWIFT_REPLICAS:-3} replicas, $(has_erasure && printf 'erasure coding %s, ' "$SWIFT_EC")container databases on \
${SWIFT_DB:-shared} devices$(database_limit)"
}

database_limit() {
  local place=$BED_DIR/srv/1/c1 iops
  is_mounted "$place" || return 0
  read -r iops _ < <(device_now "$place") || return 0
  ((iops == 0)) || printf ' of at most %s I/Os a second (emulated)' "$iops"
}

bed_endpoints() {
  cat <<E
  Swift   $AUTH_URL   user test:tester   key testing   policies gold (${SWIFT_REPLICAS:-3} replicas, default), silver (2)$(
    ! has_erasure || printf ', %s' "$(erasure_name)"
  )
  S3      http://127.0.0.1:$PROXY_PORT   access key test:tester   secret key testing   region us-east-1, path style
  nodes   node.1 to node.4 at 127.0.0.11 to 127.0.0.14
  targets $HERE/target.yaml, $HERE/s3.yaml
E
}
