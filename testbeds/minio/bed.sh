# shellcheck shell=bash
# MinIO's community edition on one machine: one process over four drives (EC:2), built from source with Go. Sourced by up,
# down, status and faults. The knobs are described in README.md.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$HERE/../lib.sh"
bed_init minio

# The last commit of the community edition; the module proxy has no names of releases.
MINIO_DATE=2026-02-12T20:18:48Z
MINIO_COMMIT=7aac2a2c5b7c
MINIO_VERSION=v0.0.0-20260212201848-$MINIO_COMMIT
GO_NEEDED=1.21 # the first Go that fetches the newer toolchain which a module asks for
SERVER=$TOOLS_DIR/minio-$MINIO_COMMIT/minio
SETTINGS=$BED_DIR/settings
DRIVES=(1 2 3 4)
DEVICE_TARGETS='drive.*' # for lib.sh
BED_VERBS='fill heal'    # for lib.sh, beside those of every bed
PORT=23630
# shellcheck disable=SC2034 # for lib.sh's s3
S3_ENDPOINT=http://127.0.0.1:$PORT S3_ACCESS=cosmark S3_SECRET=cosmark-secret

drive_dir() { echo "$BED_DIR/drives/$1"; }
drive_image() { echo "$BED_DIR/images/$1.xfs"; }

# ---- knobs -----------------------------------------------------------------------------------------------------

# The file system is kept as long as the data are, because they lie on it.
settings_load() {
  local key value
  [[ -f $SETTINGS ]] || return 0
  while IFS='=' read -r key value; do
    case $key in MINIO_FS | MINIO_DRIVE_SIZE) printf -v "$key" %s "$value" ;; esac
  done <"$SETTINGS"
}

settings_choose() {
  local asked_fs=${MINIO_FS:-} asked_size=${MINIO_DRIVE_SIZE:-}
  MINIO_FS='' MINIO_DRIVE_SIZE=''
  settings_load
  [[ -z $MINIO_FS || -z $asked_fs || $MINIO_FS == "$asked_fs" ]] ||
    die "this bed's data lie on MINIO_FS=$MINIO_FS; to change it run: down --wipe"
  [[ -z $MINIO_DRIVE_SIZE || -z $asked_size || $MINIO_DRIVE_SIZE == "$asked_size" ]] ||
    die "this bed's drives have MINIO_DRIVE_SIZE=$MINIO_DRIVE_SIZE; to change it run: down --wipe"
  MINIO_FS=${asked_fs:-${MINIO_FS:-dir}} MINIO_DRIVE_SIZE=${asked_size:-${MINIO_DRIVE_SIZE:-4G}}
  case $MINIO_FS in dir | xfs) ;; *) die "MINIO_FS=$MINIO_FS: use dir or xfs" ;; esac
  [[ $MINIO_DRIVE_SIZE =~ ^[0-9]{1,4}[GT]$ ]] || die "MINIO_DRIVE_SIZE=$MINIO_DRIVE_SIZE: use a number and G or T"
}

# ---- install and configure -------------------------------------------------------------------------------------

bed_install() {
  need_packages curl=curl python3=python3
  install_server
}

install_server() {
  local version build
  [[ -x $SERVER ]] && return 0
  [[ ${COSMARK_TESTBED_BUILD:-yes} != no ]] ||
    skip "MinIO is not built yet, which takes minutes; build it with: testbeds/minio/up --install"
  command -v go >/dev/null || skip "no Go toolchain; install Go $GO_NEEDED or newer to build MinIO"
  version=$(go env GOVERSION) version=${version#go}
  [[ $(printf '%s\n' "$GO_NEEDED" "$version" | sort -V | head -n 1) == "$GO_NEEDED" ]] ||
    skip "Go $version is too old to build MinIO; install Go $GO_NEEDED or newer"
  say "building MinIO of $MINIO_DATE ($MINIO_COMMIT): 5 minutes the first time"
  build=$TOOLS_DIR/minio-$MINIO_COMMIT.new
  mkdir -p "$build"
  GOBIN=$build CGO_ENABLED=0 timeout 1800 nice -n 5 go install -trimpath \
    -ldflags "-s -w -X github.com/minio/minio/cmd.Version=$MINIO_DATE -X github.com/minio/minio/cmd.CommitID=$MINIO_COMMIT" \
    "github.com/minio/minio@$MINIO_VERSION" >"$LOG_DIR/go.log" 2>&1 9>&- </dev/null || {
    tail -n 10 "$LOG_DIR/go.log" >&2
    die "go install failed; see $LOG_DIR/go.log"
  }
  rm -rf "${SERVER%/*}"
  mv "$build" "${SERVER%/*}"
}

bed_prepare() {
  local n
  settings_choose
  bed_install
  if [[ $MINIO_FS == xfs ]]; then
    is_root || die "MINIO_FS=xfs mounts loop devices and needs root; use MINIO_FS=dir"
    need_packages mkfs.xfs=xfsprogs
  fi
  printf '%s\n' "MINIO_FS=$MINIO_FS" "MINIO_DRIVE_SIZE=$MINIO_DRIVE_SIZE" >"$SETTINGS"
  for n in "${DRIVES[@]}"; do
    # A drive that has failed is a dangling link until `up` or a devheal heals it.
    [[ -L $(drive_dir "$n") ]] || mkdir -p "$(drive_dir "$n")"
    [[ $MINIO_FS != xfs ]] || drive_mount "$n"
  done
}

# ---- drives ----------------------------------------------------------------------------------------------------

# Not mountpoint(1): it stats the place, and a file system that was shut down answers EIO.
is_mounted() { grep -qF " $1 " /proc/mounts; }

drive_mount() {
  local image place
  image=$(drive_image "$1") place=$(drive_dir "$1")
  if is_mounted "$place"; then
    # One that has failed is mounted, too, and is looked at when it is healed.
    [[ -e $FAULT_DIR/drive.$1.devfail ]] || device_mounted "$place" "drive.$1"
    return 0
  fi
  mkdir -p "$BED_DIR/images" "$place"
  if [[ ! -f $image ]]; then
    truncate -s "$MINIO_DRIVE_SIZE" "$image.new"
    mkfs.xfs -q "$image.new" >>"$LOG_DIR/drives.log" 2>&1 || die "mkfs.xfs failed; see $LOG_DIR/drives.log"
    mv "$image.new" "$image"
  fi
  mount -o loop,noatime "$image" "$place" ||
    die "cannot mount $image (are loop devices allowed here?); use MINIO_FS=dir"
  device_mounted "$place" "drive.$1"
}

drive_unmount() {
  local try place
  place=$(drive_dir "$1")
  for ((try = 0; try < 300; try++)); do
    is_mounted "$place" || return 0
    umount "$place" 2>>"$LOG_DIR/drives.log" || sleep 0.1
  done
  die "$place is busy (fuser -vm shows by whom); end that and try again"
}

# dir: the drive's directory is swapped for a dangling link in one step, so that the server cannot make it anew meanwhile.
# xfs: the file system is shut down, and every access to it is an I/O error.
bed_device_fail() {
  local n=${1#drive.}
  settings_load
  if [[ $MINIO_FS == xfs ]]; then
    is_mounted "$(drive_dir "$n")" || die "$(drive_dir "$n") is not mounted"
    xfs_io -x -c shutdown "$(drive_dir "$n")"
  else
    mkdir -p "$BED_DIR/failed"
    ln -sfn /nonexistent/failed-drive "$BED_DIR/failed/$n"
    python3 "$HERE/../swift/exchange.py" "$(drive_dir "$n")" "$BED_DIR/failed/$n"
  fi
}

# A file system that was shut down goes away only when no process holds it: the server, if it does, is started anew.
bed_device_heal() {
  local n=${1#drive.} place
  settings_load
  place=$(drive_dir "$n")
  if [[ $MINIO_FS == xfs ]]; then
    if is_mounted "$place" && ! umount "$place" 2>>"$LOG_DIR/drives.log"; then
      process_stop 10 server
      drive_unmount "$n"
    fi
    drive_mount "$n"
    [[ -e $FAULT_DIR/server.kill || -z ${STARTED+set} ]] || start_and_wait 60 server
  elif [[ -L $place ]]; then
    python3 "$HERE/../swift/exchange.py" "$place" "$BED_DIR/failed/$n"
    rm -f "$BED_DIR/failed/$n"
  fi
}

bed_fault() { # bed_fault VERB TARGET
  (($# == 2)) || usage 2
  [[ $2 == drive.[1-4] ]] || die "$1 is for drive.1 to drive.4"
  settings_load
  case $1 in
    fill)
      [[ ${MINIO_FS:-dir} == xfs ]] || die "fill needs drives of their own, or it would fill this machine's disk: MINIO_FS=xfs"
      [[ ! -e $FAULT_DIR/$2.devfail ]] || die "$2 has failed; run: faults devheal $2"
      [[ ! -e $FAULT_DIR/$2.fill ]] || die "$2 is full already"
      : >"$FAULT_DIR/$2.fill"
      device_fill "$(drive_dir "${2#drive.}")"
      ;;
    heal)
      bed_fault_lift "$2" fill
      ;;
  esac
}

bed_fault_lift() { # bed_fault_lift TARGET VERB
  [[ -e $FAULT_DIR/$1.$2 ]] || return 0
  device_empty "$(drive_dir "${1#drive.}")"
  rm -f "$FAULT_DIR/$1.$2"
}

# Seen from the outside: what a file of one's own can do there.
bed_fault_proof() { # bed_fault_proof VERB TARGET
  local place
  place=$(drive_dir "${2#drive.}")
  case $1 in
    devfail)
      if ls "$place/" >/dev/null 2>&1; then return 1; fi
      say "$place cannot be read: $(ls "$place/" 2>&1 | tail -n 1)"
      ;;
    fill) device_is_full "$place" ;;
    *) die "cannot prove '$1'" ;;
  esac
}

# ---- the server's own state ------------------------------------------------------------------------------------

# drive_states: endpoint and state of each drive as the server sees them now. Its metrics are a minute old.
drive_states() {
  local answer status=0
  answer=$(mktemp)
  (s3 200 "$answer" /dev/null /minio/admin/v3/storageinfo) 2>/dev/null || status=1
  python3 -c 'import json, sys
for drive in json.load(open(sys.argv[1]))["Disks"]:
    print(drive["endpoint"], drive["state"] if not drive.get("healing") else "healing")' "$answer" 2>/dev/null || status=1
  rm -f "$answer"
  return "$status"
}

bed_noticed() { # bed_noticed TARGET
  local line place
  [[ $1 == drive.[1-4] ]] || {
    say 'the server is the only one who could say that it is away'
    exit 77
  }
  place=$(drive_dir "${1#drive.}")
  while read -r line; do
    if [[ $line == "$place "* && $line != *' ok' ]]; then
      say "the server calls $line"
      return 0
    fi
  done < <(drive_states)
  return 1
}

# All drives are ok, and every object has all its parts.
bed_whole() { # bed_whole TARGET
  local states
  states=$(drive_states) || return 1
  (($(grep -c ' ok$' <<<"$states") == ${#DRIVES[@]})) && (parts_look true)
}

# parts_look DRY: the server goes through all objects, as for `mc admin heal --recursive`; with DRY=true it changes
# nothing. Says how many lack a part and the first of them; fails if there are any.
parts_look() (
  limit=$(patience 120)
  deadline=$((SECONDS + limit))
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  printf '{"recursive":true,"dryRun":%s,"remove":false,"recreate":false,"scanMode":1}' "$1" >"$work/asked"
  heal=/minio/admin/v3/heal/
  s3 200 "$work/answer" "$work/asked" "$heal?forceStart=true" --data-binary "@$work/asked"
  token=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["clientToken"])' <"$work/answer") ||
    die "no token for looking at all objects"
  : >"$work/found"
  while :; do
    s3 200 "$work/answer" "$work/asked" "$heal?clientToken=$token" --data-binary "@$work/asked"
    python3 "$HERE/parts.py" "$work/answer" "$work/found" && break || (($? == 2)) || die "the server's answer is not understood"
    ((SECONDS < deadline)) || die "the server is not through with its objects after $limit s"
    sleep 0.2
  done
  tail -n 1 "$work/found"
  ! grep -q '^lacking ' "$work/found"
)

bed_parts() {
  local dry=true
  case $* in '') ;; --mend) dry=false ;; -h | --help) usage ;; *) usage 2 ;; esac
  [[ -n $(process_members server) ]] || die "the bed is not up; run testbeds/minio/up"
  parts_look "$dry"
}

# ---- processes -------------------------------------------------------------------------------------------------

bed_processes() { echo server; }

# The keys go in by the environment, so that the process list does not show them. MinIO refuses drives on the file system
# of / unless it is told that only those of at most so many bytes are that.
bed_start() {
  MINIO_ROOT_USER=$S3_ACCESS MINIO_ROOT_PASSWORD=$S3_SECRET MINIO_BROWSER=off MINIO_UPDATE=off \
    MINIO_PROMETHEUS_AUTH_TYPE=public MINIO_ROOTDRIVE_THRESHOLD_SIZE=1 MINIO_STORAGE_CLASS_STANDARD=EC:2 \
    process_start "$1" "$SERVER" server --address "127.0.0.1:$PORT" "$BED_DIR/drives/{1...${#DRIVES[@]}}"
}

bed_port() { echo 127.0.0.1 $PORT; }
bed_targets() { echo 'server drive.1 drive.2 drive.3 drive.4'; }

# A drive has no process of its own.
bed_target() {
  case $1 in
    server) echo server ;;
    drive.[1-4]) ;;
    *) return 1 ;;
  esac
}

# It listens before it serves: it has to find its drives first.
bed_stays() { # bed_stays NAME [SECONDS]
  local limit=${2:-60} deadline=$((SECONDS + ${2:-60}))
  until curl -sf -m 5 -o /dev/null "$S3_ENDPOINT/minio/health/cluster"; do
    process_is_alive "$1" || die "$1 ended after it was started; see $LOG_DIR/$1.log"
    if ((SECONDS >= deadline)); then
      warn "$1 runs, and does not call itself able to serve after $limit s; see $LOG_DIR/$1.log"
      return 0
    fi
    sleep 0.2
  done
}

bed_check() {
  bed_stays server "$(patience 60)"
  http 200 /dev/null "$S3_ENDPOINT/minio/health/cluster"
  check_s3 "$S3_ENDPOINT" "$S3_ACCESS" "$S3_SECRET" testbed-check
  http 200 /dev/null "$S3_ENDPOINT/minio/metrics/v3/api/requests"
}

bed_release() {
  local n
  for n in "${DRIVES[@]}"; do drive_unmount "$n"; done
}

bed_version() {
  settings_load
  echo "MinIO community edition of ${MINIO_DATE%%T*} ($MINIO_COMMIT), MINIO_FS=${MINIO_FS:-dir}, ${#DRIVES[@]} drives, EC:2"
}

bed_endpoints() {
  cat <<E
  S3       $S3_ENDPOINT   access key $S3_ACCESS   secret key $S3_SECRET   region us-east-1, path style
  metrics  $S3_ENDPOINT/minio/metrics/v3 (Prometheus)
  target   $HERE/target.yaml
E
}
