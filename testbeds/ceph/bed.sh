# shellcheck shell=bash
# Ceph on one machine: one monitor, one manager, four OSDs and the object gateway, from Debian's packages, without
# systemd, udev or ceph-volume. Sourced by up, down, status and faults. The knobs are described in README.md.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$HERE/../lib.sh"
# shellcheck source-path=SCRIPTDIR source=../limits.sh
. "$HERE/../limits.sh"
# A second set of data beside the usual one, on another store; the ports are the same, so one is up at a time.
CEPH_BED=${CEPH_BED:-}
[[ $CEPH_BED =~ ^[a-z0-9]{0,16}$ ]] || die "CEPH_BED=$CEPH_BED: use at most 16 small letters and digits"
bed_init "ceph${CEPH_BED:+-$CEPH_BED}"

# shellcheck disable=SC2034 # read by a test
CEPH_VERSION=16.2.15 # what the bed was made with; later ones differ little
FILESTORE_LAST=17    # the last Ceph that has FileStore
OSDS=(0 1 2 3)
MON_PORT=23500
MON_PORT_V1=23501
RGW_PORT=23580
METRICS_PORT=23590
RGW_URL=http://127.0.0.1:$RGW_PORT
CONF=$BED_DIR/ceph.conf
KEYS=$BED_DIR/keys
SETTINGS=$BED_DIR/settings
SOCKETS=$TESTBED_DIR/ceph/sockets # of whichever set of data is up: the target files name it
JOURNALS=$BED_DIR/journal         # for CEPH_JOURNAL=separate and ram
SAVED=$BED_DIR/journal.saved      # what was in memory, while the bed is down
LIMITS=CEPH LIMITS_CPU=CEPH_GATEWAY_CPU LIMITS_SHARE='the gateway' # for limits.sh
export CEPH_CONF=$CONF
unset CEPH_ARGS CEPH_KEYRING

# Like the passwords of all beds, these keys are known and protect nothing.
BENCH_KEY=AQAA8VNlAAAAABAAVQfPnAnzh15KCbP+cGHKHg==
READER_KEY=AQAA8VNlAAAAABAAzvYJfypVOL/sCRK9Ub8UZw==
S3_KEYS=(cosmark cosmark-secret)
SWIFT_KEYS=(bench:swift swiftsecret)

BED_VERBS='partition delay fill heal out in' # for lib.sh, beside those of every bed
LIFTED_LAST='*.@(fill|out)'                  # for lib.sh: the monitor has to answer

# osd.0 is 127.0.0.21 and so on, so that one can be cut off from the rest.
osd_ip() { echo "127.0.0.2$(($1 + 1))"; }
osd_dir() { echo "$BED_DIR/osd.$1"; }
osd_image() { echo "$BED_DIR/images/osd.$1.xfs"; }

# ceph_ask ARGS...: the ceph command with a time limit.
ceph_ask() { timeout 60 ceph -c "$CONF" --connect-timeout 30 "$@" 2>>"$LOG_DIR/ceph-command.log" 9>&- </dev/null; }
ceph_do() { ceph_ask "$@" >>"$LOG_DIR/ceph-command.log" || die "'ceph $*' failed; see $LOG_DIR/ceph-command.log"; }
rgw_admin() {
  timeout 120 radosgw-admin -c "$CONF" -k "$KEYS/client.admin" "$@" >>"$LOG_DIR/radosgw-admin.log" 2>&1 9>&- </dev/null ||
    die "'radosgw-admin $1 $2' failed; see $LOG_DIR/radosgw-admin.log"
}

# ---- knobs -----------------------------------------------------------------------------------------------------

# The store is kept as long as the data are, because the data lie on it.
settings_load() {
  local key value
  [[ -f $SETTINGS ]] || return 0
  while IFS='=' read -r key value; do
    case $key in
      CEPH_STORE | CEPH_JOURNAL | CEPH_DEVICE_SIZE | CEPH_DISKS | CEPH_DISK_IOPS | CEPH_DISK_RATE | CEPH_LINK | \
        CEPH_GATEWAY_CPU) printf -v "$key" %s "$value" ;;
    esac
  done <"$SETTINGS"
}

# asked NAME VALUE DEFAULT: the data's own setting, which another cannot replace.
asked() {
  [[ -z ${!1} || -z $2 || ${!1} == "$2" ]] || die "this bed's data lie on $1=${!1}; to change it run: down --wipe"
  printf -v "$1" %s "${2:-${!1:-$3}}"
}

settings_choose() {
  local asked_store=${CEPH_STORE:-} asked_size=${CEPH_DEVICE_SIZE:-} asked_journal=${CEPH_JOURNAL:-}
  CEPH_STORE='' CEPH_DEVICE_SIZE='' CEPH_JOURNAL=''
  limits_asked
  settings_load
  asked CEPH_STORE "$asked_store" file
  asked CEPH_DEVICE_SIZE "$asked_size" 10G
  case $CEPH_STORE in
    file | xfs | memstore | filestore) ;;
    *) die "CEPH_STORE=$CEPH_STORE: use file, xfs, memstore or filestore" ;;
  esac
  [[ $CEPH_DEVICE_SIZE =~ ^[0-9]{1,4}[GT]$ ]] || die "CEPH_DEVICE_SIZE=$CEPH_DEVICE_SIZE: use a number and G or T"
  if [[ $CEPH_STORE == filestore ]]; then
    asked CEPH_JOURNAL "$asked_journal" same
    case $CEPH_JOURNAL in same | separate | ram) ;; *) die "CEPH_JOURNAL=$CEPH_JOURNAL: use same, separate or ram" ;; esac
  else
    [[ -z $asked_journal ]] || die "CEPH_JOURNAL is of CEPH_STORE=filestore; a BlueStore has none"
  fi
  limits_choose
  has_images || { [[ $CEPH_DISKS == own ]] && ! disks_are_limited; } ||
    die "CEPH_DISKS=one, CEPH_DISK_IOPS and CEPH_DISK_RATE are of devices, which CEPH_STORE=xfs and filestore have"
  limits_possible
}

# Each OSD has a device of its own: an image on a loop device.
has_images() { [[ ${CEPH_STORE:-} == xfs || ${CEPH_STORE:-} == filestore ]]; }

# for limits.sh
limits_shares() { [[ $1 == rgw ]]; }
bed_limits_proof() {
  local n places=()
  for n in "${OSDS[@]}"; do
    places+=("$(osd_dir "$n")")
    [[ $CEPH_JOURNAL != separate ]] || places+=("$JOURNALS/osd.$n")
  done
  limits_proof "${places[@]}"
}
bed_limits() {
  settings_load
  limits_lines "$(osd_dir 0)"
}

# filestore_possible: die where the Ceph that is here, or else that which up would install, has no FileStore any more.
# One that does not say its version is left to up.
filestore_possible() {
  local version
  if command -v ceph-osd >/dev/null; then
    version=$(timeout 30 ceph-osd --version 2>/dev/null </dev/null |
      awk '$1 == "ceph" && $2 == "version" && !said++ { print $3 }') || return 0
  else
    version=$(LC_ALL=C apt-cache policy ceph-osd 2>/dev/null |
      awk '$1 == "Candidate:" && !said++ { sub(/^[0-9]+:/, "", $2); print $2 }') || return 0
  fi
  [[ $version =~ ^[0-9]{1,6} ]] || return 0
  ((10#${BASH_REMATCH[0]} <= FILESTORE_LAST)) ||
    die "CEPH_STORE=filestore: Ceph $version has no FileStore, which ended with Ceph $FILESTORE_LAST; use CEPH_STORE=xfs \
(BlueStore on the same devices), or a machine with Ceph $FILESTORE_LAST or earlier, such as Debian 12"
}

bed_check_knobs() {
  settings_choose
  [[ $CEPH_STORE != filestore ]] || filestore_possible
  ! has_images || is_root || die "CEPH_STORE=$CEPH_STORE mounts loop devices and needs root; use CEPH_STORE=file"
}

# ---- install and configure -------------------------------------------------------------------------------------

bed_install() {
  need_packages ceph-mon=ceph-mon ceph-mgr=ceph-mgr ceph-osd=ceph-osd ceph=ceph-common radosgw=radosgw curl=curl \
    uuidgen=uuid-runtime
}

bed_prepare() {
  local n addresses=()
  bed_check_knobs
  if ! anything_runs && port_is_open 127.0.0.1 $MON_PORT; then
    die "127.0.0.1:$MON_PORT is taken: end what listens there; another set of data of this bed ends with CEPH_BED=.. down"
  fi
  if has_images; then need_packages mkfs.xfs=xfsprogs; fi
  bed_install
  [[ $CEPH_STORE != filestore ]] || filestore_possible
  {
    printf '%s\n' "CEPH_STORE=$CEPH_STORE" "CEPH_DEVICE_SIZE=$CEPH_DEVICE_SIZE" "CEPH_JOURNAL=$CEPH_JOURNAL"
    limits_settings
  } >"$SETTINGS"
  for n in "${OSDS[@]}"; do addresses+=("$(osd_ip "$n")"); done
  limits_prepare "${addresses[@]}"
  mkdir -p "$SOCKETS" "$BED_DIR"/{crash,keys,mon.a,mgr.x,rgw.a,images}
  write_configuration
  make_monitor
  start_and_wait 60 mon
  make_daemons
  make_pools
}

write_configuration() {
  local n objectstore=bluestore journal=$BED_DIR/osd.\$id/journal direct=true
  case $CEPH_STORE in memstore | filestore) objectstore=$CEPH_STORE ;; esac
  case $CEPH_JOURNAL in separate | ram) journal=$JOURNALS/osd.\$id/journal ;; esac
  # Memory takes no direct writes.
  [[ $CEPH_JOURNAL != ram ]] || direct=false
  [[ -s $BED_DIR/fsid ]] || uuidgen >"$BED_DIR/fsid"
  render "$HERE/ceph.conf.in" "$CONF" FSID="$(<"$BED_DIR/fsid")" DIR="$BED_DIR" LOG="$LOG_DIR" SOCKETS="$SOCKETS" \
    JOURNAL="$journal" JOURNAL_MB="$(journal_mb)" JOURNAL_DIRECT=$direct MON_PORT=$MON_PORT \
    MON_PORT_V1=$MON_PORT_V1 RGW_PORT=$RGW_PORT OBJECTSTORE=$objectstore \
    DEVICE_BYTES="$(numfmt --from=iec "$CEPH_DEVICE_SIZE")"
  # Two OSDs to a host, though copies are kept apart by OSD.
  for n in "${OSDS[@]}"; do
    printf '\n[osd.%d]\npublic_addr = %s\ncluster_addr = %s\ncrush_location = root=default host=storage%d\n' \
      "$n" "$(osd_ip "$n")" "$(osd_ip "$n")" $((n / 2 + 1)) >>"$CONF"
  done
}

make_monitor() {
  [[ ! -e $BED_DIR/mon.a/.complete ]] || return 0
  rm -rf "$BED_DIR/mon.a" "$KEYS"
  mkdir -p "$BED_DIR/mon.a" "$KEYS"
  {
    ceph-authtool --create-keyring "$KEYS/mon" --gen-key -n mon. --cap mon 'allow *'
    ceph-authtool --create-keyring "$KEYS/client.admin" --gen-key -n client.admin \
      --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *' --cap mds 'allow *'
    ceph-authtool "$KEYS/mon" --import-keyring "$KEYS/client.admin"
    monmaptool --create --clobber --addv a "[v2:127.0.0.1:$MON_PORT,v1:127.0.0.1:$MON_PORT_V1]" \
      --fsid "$(<"$BED_DIR/fsid")" "$KEYS/monmap"
    ceph-mon -c "$CONF" --mkfs -i a --monmap "$KEYS/monmap" --keyring "$KEYS/mon"
  } >>"$LOG_DIR/make.log" 2>&1 9>&- || die "the monitor could not be made; see $LOG_DIR/make.log"
  : >"$BED_DIR/mon.a/.complete"
}

make_daemons() {
  local n
  [[ -s $BED_DIR/mgr.x/keyring ]] ||
    ceph_do auth get-or-create mgr.x mon 'allow profile mgr' osd 'allow *' mds 'allow *' -o "$BED_DIR/mgr.x/keyring"
  [[ -s $BED_DIR/rgw.a/keyring ]] ||
    ceph_do auth get-or-create client.rgw.a mon 'allow rw' osd 'allow rwx' mgr 'allow rw' -o "$BED_DIR/rgw.a/keyring"
  if has_images; then
    disks_mount $(($(numfmt --from=iec "$CEPH_DEVICE_SIZE") * ${#OSDS[@]} * 6 / 5 + (4 << 30)))
    journals_mount
  fi
  for n in "${OSDS[@]}"; do
    mkdir -p "$(osd_dir "$n")"
    if has_images; then device_mount "$n"; fi
    [[ $CEPH_JOURNAL != ram ]] || journal_return "$n"
    register_osd "$n"
  done
  # Most of the time of the first start: side by side.
  local making=() failed=''
  for n in "${OSDS[@]}"; do
    make_osd "$n" 9>&- &
    making+=($!)
  done
  for n in "${making[@]}"; do wait "$n" || failed=yes; done
  [[ -z $failed ]] || die 'an OSD could not be made; see above'
}

# One after the other: the monitor counts them.
register_osd() {
  local dir secret uuid
  dir=$(osd_dir "$1")
  [[ ! -e $dir/.complete ]] || return 0
  # A half-made one is made anew.
  find "$dir" -mindepth 1 -delete
  rm -f "$JOURNALS/osd.$1/journal"
  ceph_ask osd purge-new "osd.$1" --yes-i-really-mean-it >/dev/null || true
  uuid=$(uuidgen) secret=$(ceph-authtool --gen-print-key)
  printf '{"cephx_secret": "%s"}\n' "$secret" >"$dir/secret.json"
  ceph_do osd new "$uuid" "$1" -i "$dir/secret.json"
  rm "$dir/secret.json"
  printf '[osd.%s]\n\tkey = %s\n' "$1" "$secret" >"$dir/keyring"
  printf '%s\n' "$uuid" >"$dir/uuid"
}

make_osd() {
  local dir
  dir=$(osd_dir "$1")
  [[ ! -e $dir/.complete ]] || return 0
  ceph-osd -c "$CONF" -i "$1" --mkfs --osd-uuid "$(<"$dir/uuid")" >>"$LOG_DIR/make.log" 2>&1 9>&- ||
    die "osd.$1 could not be made; see $LOG_DIR/make.log and $LOG_DIR/osd.$1.ceph.log"
  : >"$dir/.complete"
}

# bench: what librados measures, one pool in which containers are namespaces. default.rgw.buckets.data: what the gateway
# writes to, made here so that it has as many placement groups. cosbench1 and cosbench2: pools as COSBench wants them,
# one for each container.
make_pools() {
  local pool
  # single: one copy of each object, so that the price of copies can be measured. A cluster from before it gets it now.
  if [[ ! -e $BED_DIR/.pool-single ]]; then
    ceph_do config set global mon_allow_pool_size_one true
    ceph_do config set mon mon_warn_on_pool_no_redundancy false
    ceph_do osd pool create single 32 32 replicated replicated_rule
    ceph_do osd pool set single size 1 --yes-i-really-mean-it
    ceph_do osd pool application enable single cosmark
    : >"$BED_DIR/.pool-single"
  fi
  [[ ! -e $BED_DIR/.pools ]] || return 0
  ceph_do osd require-osd-release pacific
  for pool in bench:128:cosmark default.rgw.buckets.data:128:rgw cosbench1:16:cosmark cosbench2:16:cosmark; do
    IFS=: read -r pool pgs application <<<"$pool"
    ceph_do osd pool create "$pool" "$pgs" "$pgs" replicated replicated_rule
    ceph_do osd pool application enable "$pool" "$application"
  done
  printf '[client.bench]\n\tkey = %s\n\tcaps mon = "allow rw"\n\tcaps osd = "allow rwx"\n' "$BENCH_KEY" >"$KEYS/client.bench"
  printf '[client.reader]\n\tkey = %s\n\tcaps mon = "allow r"\n\tcaps osd = "allow r pool=bench"\n' "$READER_KEY" \
    >"$KEYS/client.reader"
  ceph_do auth import -i "$KEYS/client.bench"
  ceph_do auth import -i "$KEYS/client.reader"
  : >"$BED_DIR/.pools"
}

# ---- devices ---------------------------------------------------------------------------------------------------

# Only an XFS image of its own can be shut down under an OSD.
DATA_STORE=$( (CEPH_STORE='' && settings_load && echo "${CEPH_STORE:-}") )
# shellcheck disable=SC2034 # for lib.sh
if [[ $DATA_STORE == xfs || $DATA_STORE == filestore ]]; then DEVICE_TARGETS='osd.*'; else DEVICE_TARGETS=''; fi

# Not mountpoint(1): it stats the place, and a file system that was shut down answers EIO.
is_mounted() { grep -qF " $1 " /proc/mounts; }

device_mount() { # device_mount OSD
  image_mount "$(osd_image "$1")" "$(osd_dir "$1")" $(($(numfmt --from=iec "$CEPH_DEVICE_SIZE") + (1 << 29)))
}

image_mount() { # image_mount IMAGE PLACE BYTES
  mkdir -p "$2"
  if ! is_mounted "$2"; then
    if [[ ! -f $1 ]]; then
      truncate -s "$3" "$1.new"
      mkfs.xfs -q "$1.new" >>"$LOG_DIR/make.log" 2>&1 || die "mkfs.xfs failed; see $LOG_DIR/make.log"
      mv "$1.new" "$1"
    fi
    mount -o loop,noatime "$1" "$2" || die "cannot mount $1 (are loop devices allowed here?); use CEPH_STORE=file"
  fi
  disk_limit "$2"
}

device_unmount() { place_unmount "$(osd_dir "$1")"; }

# ---- journals --------------------------------------------------------------------------------------------------
# A FileStore writes everything to its journal first. same: on the OSD's own device; separate: on a device of its own
# for each OSD; ram: in memory, as small as it was in a study that had it there. What is in memory is saved by down and
# comes back by up.

journal_mb() { if [[ $CEPH_JOURNAL == ram ]]; then echo 100; else echo 512; fi; }

journals_mount() {
  local n
  case $CEPH_JOURNAL in
    separate) for n in "${OSDS[@]}"; do image_mount "$BED_DIR/images/journal.$n.xfs" "$JOURNALS/osd.$n" $((1 << 30)); done ;;
    ram)
      mkdir -p "$JOURNALS"
      if ! is_mounted "$JOURNALS"; then
        mount -t tmpfs -o size=$(($(journal_mb) * ${#OSDS[@]} + 64))m cosmark-journals "$JOURNALS" ||
          die "no memory can be mounted for CEPH_JOURNAL=ram; use same or separate"
      fi
      ;;
  esac
}

# A store whose journal is lost has lost what was in it alone: nobody may go on with it.
journal_return() { # journal_return OSD
  local to=$JOURNALS/osd.$1/journal from=$SAVED/osd.$1
  mkdir -p "${to%/*}"
  if [[ -s $from && ! -s $to ]]; then
    cp --sparse=always "$from" "$to.new" && mv "$to.new" "$to" || die "the journal of osd.$1 could not be read from $from"
  fi
  # From now on the one in memory is the newer.
  rm -f "$from"
  [[ -s $to || ! -e $(osd_dir "$1")/.complete ]] ||
    die "the journal of osd.$1 was in memory and is lost, by a boot or an unmount, and with it what it alone had: down --wipe"
}

# journals_save: called when no OSD runs.
journals_save() {
  local n from
  is_mounted "$JOURNALS" || return 0
  mkdir -p "$SAVED"
  for n in "${OSDS[@]}"; do
    from=$JOURNALS/osd.$n/journal
    [[ -s $from ]] || continue
    cp --sparse=always "$from" "$SAVED/osd.$n.new" && mv "$SAVED/osd.$n.new" "$SAVED/osd.$n" ||
      die "the journal of osd.$n could not be written to $SAVED; make room there"
  done
}

bed_device_fail() {
  settings_load
  is_mounted "$(osd_dir "${1#osd.}")" || die "$(osd_dir "${1#osd.}") is not mounted"
  xfs_io -x -c shutdown "$(osd_dir "${1#osd.}")"
}

# The OSD has ended itself by now, or does so when it writes next; only then does the file system let go.
bed_device_heal() {
  settings_load
  process_kill "$1"
  device_unmount "${1#osd.}"
  device_mount "${1#osd.}"
}

# Sockets on which somebody still listens when this bed is down are those of another set of data.
bed_spares() {
  if [[ $SOCKETS == "$BED_DIR"/* ]] && grep -qF " $SOCKETS/" /proc/net/unix; then echo "${SOCKETS##*/}"; fi
}

bed_release() {
  local n
  journals_save
  for n in "${OSDS[@]}"; do
    device_unmount "$n"
    place_unmount "$JOURNALS/osd.$n"
  done
  place_unmount "$JOURNALS"
  disks_unmount
}

# ---- the network -----------------------------------------------------------------------------------------------

bed_fault() { # bed_fault VERB TARGET [MS]
  local ip delay=${3:-}
  [[ $2 == osd.[0-3] ]] || die "$1 is for osd.0 to osd.3, which have addresses of their own"
  ip=$(osd_ip "${2#osd.}")
  case $1 in
    partition)
      [[ -z $delay ]] || usage 2
      is_root || die "partition uses iptables and needs root"
      need_packages iptables=iptables
      : >"$FAULT_DIR/$2.partition"
      network_pass "$ip"
      iptables -w 10 -I OUTPUT -d "$ip" -j DROP
      iptables -w 10 -I OUTPUT -s "$ip" -j DROP
      ;;
    delay)
      [[ $delay =~ ^[1-9][0-9]{0,3}$ ]] || die "delay $2 MS: milliseconds, 1 to 9999"
      process_is_alive "$2" || die "$2 is not running; run: faults restart $2"
      : >"$FAULT_DIR/$2.delay"
      osd_delay "$2" "$(awk -v ms="$delay" 'BEGIN { print ms / 1000 }')" 1
      ;;
    fill)
      [[ -z $delay ]] || usage 2
      process_is_alive "$2" || die "$2 is not running; run: faults restart $2"
      process_is_alive mon || die "what follows from a full OSD is the monitor's to say, which does not run; run: faults restart mon"
      [[ ! -e $FAULT_DIR/$2.fill ]] || die "$2 is full already"
      : >"$FAULT_DIR/$2.fill"
      osd_full "$2" full
      wait_until 60 "the monitor's map does not call $2 full" osd_is_full "$2"
      ;;
    out)
      [[ -z $delay ]] || usage 2
      process_is_alive mon || die "out is the monitor's to note, which does not run; run: faults restart mon"
      : >"$FAULT_DIR/$2.out"
      ceph_do osd out "$2"
      ;;
    in)
      [[ -z $delay ]] || usage 2
      : >"$FAULT_DIR/$2.out"
      bed_fault_lift "$2" out
      ;;
    heal)
      [[ -z $delay ]] || usage 2
      bed_fault_lift "$2" partition
      bed_fault_lift "$2" delay
      bed_fault_lift "$2" fill
      ;;
  esac
}

# Seen from the outside: what the kernel, or the daemon itself, says.
bed_fault_proof() { # bed_fault_proof VERB TARGET
  local ip now
  ip=$(osd_ip "${2#osd.}")
  case $1 in
    partition)
      iptables -w 10 -C OUTPUT -d "$ip" -j DROP 2>/dev/null && iptables -w 10 -C OUTPUT -s "$ip" -j DROP 2>/dev/null || return 1
      say "packets to and from $ip are dropped"
      ;;
    delay)
      # An OSD that was never delayed has a duration, of 0.1 s, and a probability of 0.
      now=$(osd_setting "$2" probability) && [[ $now =~ \"([0-9.]+)\" ]] &&
        awk -v p="${BASH_REMATCH[1]}" 'BEGIN { exit !(p > 0) }' || return 1
      now=$(osd_setting "$2" duration) || return 1
      [[ $now =~ \"([0-9.]+)\" ]] && awk -v s="${BASH_REMATCH[1]}" 'BEGIN { exit !(s > 0) }' || return 1
      say "$2 delays what it dispatches by ${BASH_REMATCH[1]} s"
      ;;
    fill)
      osd_is_full "$2" || return 1
      say "the monitor's map calls $2 full"
      ;;
    out)
      ceph_ask osd dump --format plain | grep -E "^$2 +(up|down) +out " >/dev/null || return 1
      say "the monitor's map has $2 out"
      ;;
    devfail)
      if process_is_alive "$2" && ls "$(osd_dir "${2#osd.}")/" >/dev/null 2>&1; then return 1; fi
      say "the device of $2 cannot be read, or the daemon has ended on it"
      ;;
    *) die "cannot prove '$1'" ;;
  esac
}

# The monitor's own state: an OSD is down, out or full in its map.
bed_noticed() {
  case $1 in
    osd.[0-3])
      ceph_ask osd dump --format plain | grep -E "^$1 +(down|up +out) |^$1 .*[ ,]full[ ,]" | head -c 60
      ((PIPESTATUS[1] == 0))
      ;;
    *)
      say 'the map of the cluster shows OSDs only, and there is one monitor'
      exit 77
      ;;
  esac
}

# All OSDs are up and in, and every placement group has all its copies, where the map of now wants them: what the manager
# says of a group may be older than that map.
bed_whole() {
  local in_map reported
  ceph_ask osd stat | grep -qE "^${#OSDS[@]} osds: ${#OSDS[@]} up .*, ${#OSDS[@]} in " && groups_are_clean || return 1
  in_map=$(groups_in_map) || return 1
  reported=$(groups_reported) || return 1
  [[ -n $in_map && $in_map == "$reported" ]] || return 1
  say 'all placement groups are active+clean'
}

# Each placement group and the OSDs that are to have it, by the map of now, and as its first OSD has last reported it.
groups_in_map() (
  map=$(mktemp)
  trap 'rm -f "$map"' EXIT
  ceph_ask osd getmap -o "$map" && timeout 60 osdmaptool "$map" --test-map-pgs-dump-all 2>/dev/null |
    sed -nE 's/^([0-9]+\.[0-9a-f]+) .* up \(\[([0-9,]*)\].*/\1 \2/p' | LC_ALL=C sort
)

groups_reported() {
  ceph_ask pg dump pgs --format json | python3 -c 'import json, sys
for group in json.load(sys.stdin)["pg_stats"]:
    print(group["pgid"], ",".join(map(str, group["up"])))' | LC_ALL=C sort
}

# bed_fault_lift TARGET VERB: and forget it.
bed_fault_lift() {
  [[ -e $FAULT_DIR/$1.$2 ]] || return 0
  case $2 in
    partition) network_pass "$(osd_ip "${1#osd.}")" ;;
    # One that does not run forgets it by itself.
    delay) if process_is_alive "$1"; then osd_delay "$1" 0 0; fi ;;
    # One that does not run is not full when it starts; what the map says of it is seen then.
    fill)
      if process_is_alive "$1"; then
        osd_full "$1" none
        process_is_alive mon || die "the monitor, which would call $1 not full any more, does not run; run: faults restart mon"
        wait_until 60 "the monitor's map still calls $1 full" osd_is_not_full "$1"
      fi
      ;;
    # After a down there is no monitor: the next up takes all OSDs in.
    out)
      if [[ -e $RUN_DIR/mon.pid ]]; then
        process_is_alive mon || die "the monitor, which would take $1 in, does not run; run: faults restart mon"
        ceph_do osd in "$1"
      fi
      ;;
  esac
  rm -f "$FAULT_DIR/$1.$2"
}

network_pass() {
  while iptables -w 10 -D OUTPUT -d "$1" -j DROP 2>/dev/null; do :; done
  while iptables -w 10 -D OUTPUT -s "$1" -j DROP 2>/dev/null; do :; done
}

osd_setting() { # osd_setting OSD probability|duration
  timeout 30 ceph daemon "$SOCKETS/$1.asok" config get "osd_debug_inject_dispatch_delay_$2" 2>/dev/null 9>&- </dev/null
}

# By its own socket: the way over the network is the one that is delayed.
osd_delay() { # osd_delay OSD SECONDS PROBABILITY
  local socket=$SOCKETS/$1.asok
  timeout 30 ceph daemon "$socket" config set osd_debug_inject_dispatch_delay_duration "$2" >/dev/null
  timeout 30 ceph daemon "$socket" config set osd_debug_inject_dispatch_delay_probability "$3" >/dev/null
}

# Ceph's own injection: the OSD says of itself that it is full, whatever its device has left, to each who asks. The monitor
# hears it with the OSD's next word, and then no client may write to a pool that lies on it.
osd_full() { # osd_full OSD full|none
  timeout 30 ceph daemon "$SOCKETS/$1.asok" injectfull "$2" >>"$LOG_DIR/ceph-command.log" 2>&1 9>&- </dev/null ||
    die "$1 does not take 'injectfull $2'; see $LOG_DIR/ceph-command.log"
}

osd_state() { ceph_ask osd dump --format json | python3 -c 'import json, sys
print(*next(osd["state"] for osd in json.load(sys.stdin)["osds"] if osd["osd"] == int(sys.argv[1])))' "${1#osd.}"; }

osd_is_full() {
  local state
  state=$(osd_state "$1" 2>/dev/null) && [[ " $state " == *' full '* ]]
}

osd_is_not_full() {
  local state
  state=$(osd_state "$1" 2>/dev/null) && [[ -n $state && " $state " != *' full '* ]]
}

# ---- processes -------------------------------------------------------------------------------------------------

bed_processes() {
  local n
  echo mon
  echo mgr
  for n in "${OSDS[@]}"; do echo "osd.$n"; done
  echo rgw
}

bed_start() {
  case $1 in
    mon) process_start mon ceph-mon -c "$CONF" -i a -f --public-addr 127.0.0.1 ;;
    mgr) process_start mgr ceph-mgr -c "$CONF" -i x -f --public-addr 127.0.0.1 ;;
    osd.*) process_start "$1" ceph-osd -c "$CONF" -i "${1#osd.}" -f ;;
    rgw) process_start rgw radosgw -c "$CONF" -n client.rgw.a -f ;;
  esac
}

bed_port() {
  case $1 in
    mon) echo 127.0.0.1 $MON_PORT ;;
    rgw) echo 127.0.0.1 $RGW_PORT ;;
  esac
}

bed_targets() { echo 'osd.0 osd.1 osd.2 osd.3 mon mgr rgw'; }

bed_target() {
  case $1 in
    osd.[0-3] | mon | mgr | rgw) echo "$1" ;;
    *) return 1 ;;
  esac
}

# ---- readiness -------------------------------------------------------------------------------------------------

# wait_until SECONDS WHAT COMMAND...
wait_until() {
  local deadline=$((SECONDS + $(patience "$1"))) what=$2
  shift 2
  until "$@"; do
    ((SECONDS < deadline)) || die "$what in time; see $LOG_DIR and: ceph -c $CONF -s"
    sleep 0.5
  done
}

# One that has ended does not come up any more, however long one waits.
osds_are_up() {
  local n
  for n in "${OSDS[@]}"; do process_is_alive "osd.$n" || die "osd.$n ended; see $LOG_DIR/osd.$n.log"; done
  ceph_ask osd stat | grep -q "^${#OSDS[@]} osds: ${#OSDS[@]} up"
}

# One whose store is damaged ends a moment after it began, while it reads its maps, or some seconds later, at its first write.
# So an OSD stays when it is up and in by the monitor's word, active by its own, and all of that without a break for
# OSD_STAYS seconds. The monitor's word alone may be of the life before, whose end it has not noticed.
OSD_STAYS=5
bed_stays() { # bed_stays NAME
  local least=$((SECONDS + OSD_STAYS)) limit since='' why=''
  limit=$(patience 75)
  local most=$((SECONDS + limit))
  until [[ -z $why ]] && ((SECONDS >= least)) && ((SECONDS - ${since:-$SECONDS} >= OSD_STAYS)); do
    stays_alive "$1"
    why=$(osd_lacks "$1")
    if [[ -n $why ]]; then since=''; else since=${since:-$SECONDS}; fi
    if [[ -n $why ]] && ((SECONDS >= least)) && osd_is_cut_off "$1"; then
      warn "$1 runs; whether the cluster takes it back cannot be told while another fault is in force: $(fault_list)"
      return 0
    fi
    if ((SECONDS >= most)); then
      die "$1 was started and is not back after $limit s: ${why:-it comes and goes}; see $LOG_DIR/$1.ceph.log and: ceph -c $CONF -s"
    fi
    sleep 0.3
  done
  stays_alive "$1"
}

stays_alive() {
  process_is_alive "$1" || die "$1 ended after it was started; see $LOG_DIR/$1.log and $LOG_DIR/$1.ceph.log"
}

# What keeps NAME from being called back; nothing where all is well, and for others than OSDs.
osd_lacks() { # osd_lacks NAME
  local line state
  [[ $1 == osd.* ]] || return 0
  if ! line=$(ceph_ask osd dump --format plain | grep -E "^$1 +(up|down) "); then
    echo 'the monitor does not answer'
    return 0
  fi
  read -r _ state _ <<<"$line"
  if [[ $state != up ]]; then
    echo "the monitor calls it $state"
  elif ! [[ $line =~ ^$1\ +up\ +in\  || -e $FAULT_DIR/$1.out ]]; then
    echo "it is up and out; take it in: ceph -c $CONF osd in $1"
  elif ! timeout 30 ceph daemon "$SOCKETS/$1.asok" status 2>>"$LOG_DIR/ceph-command.log" 9>&- </dev/null |
    grep '"state": "active"' >/dev/null; then
    echo 'it does not call itself active'
  fi
}

# The way between OSD and monitor, or the monitor itself, is away by a fault of ours.
osd_is_cut_off() { [[ -e $FAULT_DIR/$1.partition || -e $FAULT_DIR/mon.kill || -e $FAULT_DIR/mon.pause ]]; }
fault_list() { fault_files | paste -sd' '; }

groups_are_clean() { ceph_ask pg stat | grep -qE '^[0-9]+ pgs: [0-9]+ active\+clean;'; }
groups_are_whole() { bed_whole >/dev/null; }

# An object by librados, by S3 and by Swift.
bed_check() {
  wait_until 120 'the OSDs did not come up' osds_are_up
  # One may have been taken out before a down.
  ceph_do osd in "${OSDS[@]}"
  wait_until 120 'the placement groups did not become clean' groups_are_whole
  make_metrics
  make_gateway_users
  check_librados
  check_s3 "$RGW_URL" "${S3_KEYS[@]}" testbed-check-s3
  check_swift
  # Those of damaged data may be clean for a moment, until they are used.
  wait_until 120 'the placement groups did not stay clean' groups_are_whole
}

# The manager's figures for Prometheus, made anew three times as often as by default.
make_metrics() {
  [[ ! -e $BED_DIR/.metrics ]] || return 0
  ceph_do config set mgr mgr/prometheus/server_addr 127.0.0.1
  ceph_do config set mgr mgr/prometheus/server_port $METRICS_PORT
  ceph_do config set mgr mgr/prometheus/scrape_interval 5
  ceph_do mgr module enable prometheus
  : >"$BED_DIR/.metrics"
}

make_gateway_users() {
  [[ ! -e $BED_DIR/.users ]] || return 0
  rgw_admin user create --uid=bench --display-name=bench --access-key="${S3_KEYS[0]}" --secret="${S3_KEYS[1]}"
  rgw_admin subuser create --uid=bench --subuser="${SWIFT_KEYS[0]}" --access=full
  rgw_admin key create --subuser="${SWIFT_KEYS[0]}" --key-type=swift --secret="${SWIFT_KEYS[1]}"
  : >"$BED_DIR/.users"
}

check_librados() (
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  head -c 4096 /dev/urandom >"$work/made"
  ask=(timeout 60 rados -c "$CONF" --id bench --keyring "$KEYS/client.bench" -p bench -N testbed-check)
  "${ask[@]}" put object "$work/made" && "${ask[@]}" get object "$work/got" && "${ask[@]}" rm object ||
    die "rados put, get and rm in pool bench failed"
  cmp -s "$work/made" "$work/got" || die "pool bench gave back other bytes than were put"
)

check_swift() {
  local headers storage_url token
  headers=$(curl -sS -m 120 -D - -o /dev/null -H "X-Auth-User: ${SWIFT_KEYS[0]}" -H "X-Auth-Key: ${SWIFT_KEYS[1]}" \
    "$RGW_URL/auth/v1.0" | tr -d '\r')
  storage_url=$(awk -F': ' 'tolower($1) == "x-storage-url" { print $2 }' <<<"$headers")
  token=$(awk -F': ' 'tolower($1) == "x-auth-token" { print $2 }' <<<"$headers")
  [[ -n $storage_url && -n $token ]] || die "no token from $RGW_URL/auth/v1.0 (${headers%%$'\n'*})"
  http '201 202' /dev/null "$storage_url/testbed-check-swift" -X PUT -H "X-Auth-Token: $token"
  check_object "$storage_url/testbed-check-swift/object" -H "X-Auth-Token: $token"
  http 204 /dev/null "$storage_url/testbed-check-swift" -X DELETE -H "X-Auth-Token: $token"
}

bed_version() {
  settings_load
  local words store=${CEPH_STORE:-file} kind
  words=$(timeout 20 ceph --version 2>/dev/null 9>&-) || words='Ceph of an unknown version'
  case $store in
    filestore) kind="FileStore (CEPH_JOURNAL=${CEPH_JOURNAL:-same}) on an XFS image" ;;
    file) kind='BlueStore on a file' ;;
    xfs) kind='BlueStore on a file of an XFS image' ;;
    *) kind='objects in memory' ;;
  esac
  echo "${words%% (*}, $kind for each OSD (CEPH_STORE=$store), pools of size 3 (single: 1), 4 OSDs"
}

bed_endpoints() {
  cat <<TEXT
  librados  127.0.0.1:$MON_PORT_V1 (v1), :$MON_PORT (v2)   user bench   key $BENCH_KEY   pools bench, cosbench1, cosbench2
  S3        $RGW_URL   access key ${S3_KEYS[0]}   secret key ${S3_KEYS[1]}   path style
  Swift     $RGW_URL/auth/v1.0   user ${SWIFT_KEYS[0]}   key ${SWIFT_KEYS[1]}
  ceph      ceph -c $CONF -s
  metrics   http://127.0.0.1:$METRICS_PORT/metrics (Prometheus)
  targets   $HERE/rados.yaml, $HERE/s3.yaml, $HERE/swift.yaml
TEXT
}
