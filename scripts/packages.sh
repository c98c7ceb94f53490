#!/usr/bin/env bash
# Packages of Cosmark, and their trial in a clean root.
#   scripts/packages.sh build [x86_64|aarch64]..   dist/: tarball, Debian package, Python wheel, bill of materials, checksums,
#                                                  and the image where buildah is or can be installed
#   scripts/packages.sh image                      dist/: a container image (OCI archive) FROM scratch, out of the tarball
#   scripts/packages.sh test                       installs each in a clean root, runs `cosmark demo` there
#   scripts/packages.sh twice                      builds in two places and compares the checksums
#   scripts/packages.sh chart                      renders the Helm chart as users set it, checks that with Kubernetes' schemas
# The binary is linked against glibc 2.31 by Zig's linker (PyPI: ziglang, cargo-zigbuild), so that it starts on Debian 11,
# Ubuntu 20.04, RHEL 9 and what came later. Files depend on the sources alone: times are those of the last commit.
# aarch64 needs a Rust toolchain with that target: by rustup, or Debian's rustc-web, which is unpacked below target/.
# Knobs (environment): COSMARK_PACKAGE_PROFILE=demo builds sooner and not for measuring. What cannot be had on this machine
# is said by a line "SKIPPED .."; `test` as root only. Exit code: 0 made, 1 something failed, 2 usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source-path=SCRIPTDIR source=../testbeds/lib.sh
. testbeds/lib.sh
BED_NAME=packages # the name before its messages

WORK=$PWD/target/packages
DIST=${COSMARK_DIST:-$PWD/dist}
PROFILE=${COSMARK_PACKAGE_PROFILE:-release}
GLIBC=2.31
VERSION=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC
ZIG=(ziglang==0.15.2 cargo-zigbuild==0.24.0 wheel==0.48.0)
HELM_VERSION=v3.22.0
SCHEMAS=kubernetes-validate==1.37.0 # the oldest Kubernetes of the chart and its own are looked at
KUBERNETES=(1.25 1.37)

skipped() { printf 'SKIPPED %s\n' "$*"; }

venv() {
  [[ -x $WORK/venv/bin/wheel ]] && return
  need_packages python3=python3,python3-venv
  python3 -m venv "$WORK/venv"
  timeout 600 "$WORK/venv/bin/pip" install --quiet --disable-pip-version-check "${ZIG[@]}"
}

# Every file of a tree gets the time of the sources, and rights that do not depend on the umask.
settle() {
  chmod -R u=rwX,go=rX "$1"
  find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

pack() { # TREE NAME FILE: a tarball that the sources alone decide
  tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
    --directory "$1" "$2" | gzip --no-name --best >"$3"
}

# ---- the binary ---------------------------------------------------------------------------------------------------

# Debian's packages of a current Rust that know another architecture, unpacked and not installed: the sysroot of aarch64.
debian_rust() {
  local root=$WORK/rust-web list
  [[ ! -x $root/usr/bin/rustc ]] || return 0
  command -v apt-get >/dev/null && is_root || return 1
  if ! dpkg --print-foreign-architectures | grep -qx arm64; then
    dpkg --add-architecture arm64
    apt-get update -qq
  fi
  list=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances \
    rustc-web | grep -E '^(libllvm[0-9]+|libstd-rust-web-[0-9.]+|libz3-4|libedit2|libbsd0)$' | sort -u)
  mkdir -p "$WORK/rust-debs"
  # shellcheck disable=SC2086 # a list of names
  (cd "$WORK/rust-debs" && apt-get download -qq rustc-web libstd-rust-web-dev libstd-rust-web-dev:arm64 libc6:arm64 \
    libgcc-s1:arm64 $list) || return 1
  local deb
  for deb in "$WORK"/rust-debs/*.deb; do dpkg -x "$deb" "$root"; done
}

compile() { # ARCH: prints the binary's path
  local triple=$1-unknown-linux-gnu environment=()
  if ! rustc --print target-libdir --target "$triple" 2>/dev/null | xargs -r test -d; then
    debian_rust || return 77
    local root=$WORK/rust-web
    environment+=("RUSTC=$root/usr/bin/rustc"
      "LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu:$root/usr/lib/llvm-22/lib:$root/lib/x86_64-linux-gnu")
  fi
  # No path of this machine is to stay in the binary, and the bytes are not to depend on where it was built.
  local cargo_home=${CARGO_HOME:-$HOME/.cargo} flags
  flags="--remap-path-prefix=$PWD=/cosmark --remap-path-prefix=$cargo_home=/cargo"
  env "${environment[@]}" PATH="$WORK/venv/bin:$PATH" RUSTFLAGS="$flags" CARGO_INCREMENTAL=0 \
    CFLAGS="-ffile-prefix-map=$PWD=/cosmark -ffile-prefix-map=$cargo_home=/cargo" \
    cargo zigbuild --profile "$PROFILE" --locked -p cosmark --target "$triple.$GLIBC" --target-dir "$WORK/build" >&2 ||
    return 1 # its callers look at the status, so that no failure ends it by itself, and the binary of an earlier build is there
  printf '%s\n' "$WORK/build/$triple/$PROFILE/cosmark"
}

# ---- what lies beside it ------------------------------------------------------------------------------------------

# Manual pages and completions are printed by the program itself: by the one of this machine's architecture.
shared() { # TREE BINARY TRIPLE
  local share=$1/share
  mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/site-functions" \
    "$share/fish/vendor_completions.d" "$share/cosmark" "$share/doc/cosmark"
  "$2" man --dir "$share/man/man1"
  "$2" completions bash >"$share/bash-completion/completions/cosmark"
  "$2" completions zsh >"$share/zsh/site-functions/_cosmark"
  "$2" completions fish >"$share/fish/vendor_completions.d/cosmark.fish"
  git archive HEAD workloads examples | tar --extract --directory "$share/cosmark"
  git archive HEAD crates/simstore/behaviours | tar --extract --strip-components 2 --directory "$share/cosmark"
  cp README.md CHANGELOG.md LICENSE "$share/doc/cosmark/"
  python3 scripts/inventory.py licences "$3" >"$share/doc/cosmark/THIRD-PARTY-LICENSES"
}

tarball() { # TREE ARCH
  local name=cosmark-$VERSION-$2-linux-gnu
  rm -rf "${WORK:?}/$name" && cp -a "$1" "$WORK/$name"
  mkdir -p "$WORK/$name/lib/systemd/system"
  cp deploy/systemd/*.service "$WORK/$name/lib/systemd/system/"
  settle "$WORK/$name"
  pack "$WORK" "$name" "$DIST/$name.tar.gz"
  say "$DIST/$name.tar.gz"
}

# KiB of a tree as Debian counts them: of each file what it holds, rounded up, and one for all else. What it takes on a disk
# would depend on the file system.
installed_kib() { # TREE
  find "$1" -printf '%y %s\n' | awk '{ kib += $1 == "f" ? int(($2 + 1023) / 1024) : 1 } END { print kib }'
}

deb() { # TREE ARCH
  local arch root=$WORK/deb-$2
  case $2 in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac
  rm -rf "$root"
  mkdir -p "$root/DEBIAN" "$root/usr" "$root/usr/lib/systemd/system" "$root/usr/lib/sysusers.d"
  cp -a "$1"/. "$root/usr/"
  mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
  mv "$root/usr/share/doc/cosmark/LICENSE" "$root/usr/share/doc/cosmark/copyright"
  find "$root/usr/share/man" -type f -exec gzip --no-name --best {} +
  gzip --no-name --best "$root/usr/share/doc/cosmark/CHANGELOG.md" "$root/usr/share/doc/cosmark/THIRD-PARTY-LICENSES"
  cp deploy/systemd/*.service "$root/usr/lib/systemd/system/"
  cp deploy/debian/cosmark.sysusers "$root/usr/lib/sysusers.d/cosmark.conf"
  cp deploy/debian/postinst deploy/debian/prerm deploy/debian/postrm "$root/DEBIAN/"
  sed -e "s/@VERSION@/$VERSION/" -e "s/@ARCH@/$arch/" -e "s/@GLIBC@/$GLIBC/" \
    -e "s/@SIZE@/$(installed_kib "$root/usr")/" deploy/debian/control.in >"$root/DEBIAN/control"
  settle "$root"
  chmod 755 "$root"/DEBIAN/{postinst,prerm,postrm}
  dpkg-deb --root-owner-group -Zxz --build "$root" "$DIST/cosmark_${VERSION}_$arch.deb" >&2
  say "$DIST/cosmark_${VERSION}_$arch.deb"
}

# The Python package with the binary in it: `pip install` puts both in place, as other tools in Rust do.
wheel() { # TREE ARCH
  local work=$WORK/wheel-$2 tree wheel=$WORK/venv/bin/wheel
  rm -rf "$work" && mkdir -p "$work/src"
  git archive HEAD python LICENSE | tar --extract --directory "$work/src"
  timeout 300 "$WORK/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work" "$work/src/python"
  "$wheel" unpack --dest "$work" "$work"/cosmark-*.whl >&2
  rm "$work"/cosmark-*.whl
  tree=$(echo "$work"/cosmark-*)
  install -D -m 755 "$1/bin/cosmark" "$tree/cosmark/bin/cosmark"
  cp "$1/share/doc/cosmark/THIRD-PARTY-LICENSES" "$tree/cosmark-$VERSION.dist-info/"
  settle "$tree"
  chmod 755 "$tree/cosmark/bin/cosmark"
  sed -i -e 's/^Root-Is-Purelib: true/Root-Is-Purelib: false/' "$tree/cosmark-$VERSION.dist-info/WHEEL"
  "$wheel" pack --dest-dir "$work" "$tree" >&2
  "$wheel" tags --remove --platform-tag "manylinux_${GLIBC/./_}_$2" "$work"/cosmark-*.whl >&2
  cp "$work"/cosmark-*.whl "$DIST/"
  say "$(echo "$DIST"/cosmark-*"$2".whl)"
}

# Files of DIST that this script makes, of any version, by the end of their names: the directory may hold others.
made() {
  find "$DIST" -maxdepth 1 -type f \( -name 'cosmark-*-linux-gnu.tar.gz' -o -name 'cosmark-*-linux-gnu-image.tar' \
    -o -name 'cosmark_*.deb' -o -name 'cosmark-*.whl' -o -name 'cosmark-*.cdx.json' \) "$@"
}

checksums() (
  made -printf '%f\n' | sort >"$WORK/made"
  cd "$DIST"
  xargs sha256sum <"$WORK/made" >SHA256SUMS
  cat SHA256SUMS
)

build() {
  local arch binary tree status runs archs=()
  # This machine's program prints the manual pages of all: it is built first. Asked before anything is removed.
  for arch in "${@:-$(uname -m)}"; do
    case $arch in x86_64 | aarch64) ;; *) die "no packages for $arch; there are x86_64 and aarch64" ;; esac
    if [[ $arch == "$(uname -m)" ]]; then archs=("$arch" "${archs[@]}"); else archs+=("$arch"); fi
  done
  [[ ${archs[0]} == "$(uname -m)" ]] || die "the manual pages need this machine's program, too: $(uname -m) ${archs[*]}"
  mkdir -p "$WORK" "$DIST"
  made -delete
  rm -f "$DIST/SHA256SUMS"
  scripts/console.sh build
  venv
  for arch in "${archs[@]}"; do
    say "compiling for $arch with the profile $PROFILE (a quarter of an hour on two processors)"
    status=0
    binary=$(compile "$arch") || status=$?
    if ((status == 77)); then
      skipped "packages for $arch: no Rust toolchain with that target here (rustup target add $arch-unknown-linux-gnu)"
      continue
    fi
    ((status == 0)) || exit "$status"
    if [[ $arch == "$(uname -m)" ]]; then runs=$binary; fi
    tree=$WORK/tree-$arch
    rm -rf "$tree" && mkdir -p "$tree/bin"
    install -m 755 "$binary" "$tree/bin/cosmark"
    shared "$tree" "$runs" "$arch-unknown-linux-gnu"
    settle "$tree"
    tarball "$tree" "$arch"
    deb "$tree" "$arch"
    wheel "$tree" "$arch"
    python3 scripts/inventory.py sbom "$arch-unknown-linux-gnu" >"$DIST/cosmark-$VERSION-$arch.cdx.json"
  done
  checksums
}

# ---- the container image ------------------------------------------------------------------------------------------

# The program, what it loads, the roots of trust and one user: nothing else is in the image, no shell either.
image() {
  local root=$WORK/image name library container
  name=cosmark-$VERSION-$(uname -m)-linux-gnu
  [[ -e $DIST/$name.tar.gz ]] || die "no $DIST/$name.tar.gz; run scripts/packages.sh build"
  need_packages buildah=buildah /etc/ssl/certs/ca-certificates.crt=ca-certificates
  rm -rf "$root" && mkdir -p "$root"/{usr,etc/ssl/certs,tmp,var/lib/cosmark}
  tar --extract --gzip --file "$DIST/$name.tar.gz" --directory "$root/usr" --strip-components 1
  while read -r library; do
    install -D -m 755 "$library" "$root$library"
  done < <(ldd "$root/usr/bin/cosmark" | grep -o '/[^ ]*')
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  printf 'root:x:0:0::/:/usr/bin/cosmark\ncosmark:x:10001:10001::/var/lib/cosmark:/usr/bin/cosmark\n' >"$root/etc/passwd"
  printf 'root:x:0:\ncosmark:x:10001:\n' >"$root/etc/group"
  settle "$root"
  chmod 1777 "$root/tmp"
  chown -R 10001:10001 "$root/var/lib/cosmark"
  local storage=(--storage-driver vfs --root "$WORK/buildah" --runroot "$WORK/buildah-run")
  container=$(buildah "${storage[@]}" from scratch)
  # `buildah copy` would give all of it to root, and the program could keep no archive.
  cp -a "$root/." "$(buildah "${storage[@]}" mount "$container")"
  buildah "${storage[@]}" umount "$container" >&2
  buildah "${storage[@]}" config --user 10001:10001 --workingdir /var/lib/cosmark --volume /var/lib/cosmark \
    --env XDG_STATE_HOME=/var/lib/cosmark/state --env PATH=/usr/bin --entrypoint '["/usr/bin/cosmark"]' --cmd --help \
    --label "org.opencontainers.image.version=$VERSION" "$container"
  # Its own archive would hold the time at which it was packed.
  rm -rf "$WORK/oci-made"
  buildah "${storage[@]}" commit --quiet --timestamp "$SOURCE_DATE_EPOCH" "$container" "oci:$WORK/oci-made:cosmark:$VERSION" >&2
  buildah "${storage[@]}" rm "$container" >&2
  tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
    --directory "$WORK/oci-made" --file "$DIST/$name-image.tar" .
  say "$DIST/$name-image.tar"
}

# Beside the other packages, where the machine has or can have what makes it.
image_where_possible() {
  if ! is_root; then
    skipped 'container image: its files belong to its own user, which only root can say'
  elif (need_packages buildah=buildah); then
    image
    checksums
  else
    skipped 'container image: no buildah here'
  fi
}

packages() { # [ARCH]..
  build "$@"
  image_where_possible
}

# ---- the trial ----------------------------------------------------------------------------------------------------

# A Debian with nothing but its base and Python, made once and copied for each trial.
clean_root() { # NAME: prints its path
  local base=$WORK/root-base root=$WORK/root-$1
  if [[ ! -e $base/.complete ]]; then
    rm -rf "$base"
    timeout 900 debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates bookworm "$base" >&2 || return
    touch "$base/.complete"
  fi
  rm -rf "$root" && cp -a "$base" "$root" && rm "$root/.complete" || return
  printf '%s\n' "$root"
}

# within ROOT COMMAND...: in the root, with a /proc of its own, and mounts that go away with the command.
within() {
  local root=$1
  shift
  timeout 600 unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

works() { # ROOT BINARY: it says its version, and a demo leaves a report
  within "$1" "$2" --version
  within "$1" "$2" demo --archive /tmp/archive >&2
  compgen -G "$1/tmp/archive/w1-*/report.html" >/dev/null || die "the demo left no report"
  grep -q '"state": *"finished"' "$1"/tmp/archive/w1-*/run.json || die "the demo did not finish"
}

trial() {
  local root arch name
  arch=$(uname -m) name=cosmark-$VERSION-$arch-linux-gnu
  is_root || die "a clean root is made and entered by root only"
  [[ -e $DIST/$name.tar.gz ]] || die "no $DIST/$name.tar.gz; run scripts/packages.sh build"
  (cd "$DIST" && sha256sum --check --quiet SHA256SUMS)
  need_packages debootstrap=debootstrap unshare=util-linux

  say 'tarball'
  root=$(clean_root tarball)
  tar --extract --gzip --file "$DIST/$name.tar.gz" --directory "$root/opt"
  works "$root" "/opt/$name/bin/cosmark"

  say 'Debian package'
  root=$(clean_root deb)
  cp "$DIST"/cosmark_*_"$(dpkg --print-architecture)".deb "$root/tmp/cosmark.deb"
  within "$root" dpkg --install /tmp/cosmark.deb
  works "$root" /usr/bin/cosmark
  within "$root" id cosmark
  [[ -s $root/usr/share/man/man1/cosmark-run.1.gz ]] || die 'the package has no manual page of cosmark run'
  within "$root" dpkg --purge cosmark
  [[ ! -e $root/usr/bin/cosmark ]] || die 'purging the package left the program'

  say 'wheel'
  root=$(clean_root wheel)
  cp "$DIST"/cosmark-*"$arch".whl "$root/tmp/"
  within "$root" python3 -m venv /opt/venv
  # shellcheck disable=SC2016 # the name is expanded in the root
  within "$root" sh -c '/opt/venv/bin/pip install --quiet --no-index --no-deps /tmp/*.whl'
  works "$root" /opt/venv/bin/cosmark
  within "$root" /opt/venv/bin/python -c \
    'import cosmark
r = cosmark.open("/tmp/archive/w1-demo")
assert r.stages and r.quantile("main", "read", 0.5) > 0, r
assert "main,s" in r.operations.to_csv(), r.operations
print(r.verdict, r.quantile("main", "read", 0.999))'

  if [[ -e $DIST/$name-image.tar ]]; then
    trial_image "$DIST/$name-image.tar"
  else
    skipped "container image: there is none (scripts/packages.sh image)"
  fi
  arm64
  say 'all of them work'
}

# What is in an archive of an image: its layers go to ROOT, in order; prints user and program, one a line.
unpack_image() { # ARCHIVE ROOT
  local store=$WORK/oci
  rm -rf "$store" "$2" && mkdir -p "$store" "$2"
  tar --extract --file "$1" --directory "$store" || return
  python3 - "$store" "$2" <<'EOF'
import json, os, subprocess, sys

store, root = sys.argv[1:]
blob = lambda one: os.path.join(store, "blobs", *one["digest"].split(":"))
index = json.load(open(os.path.join(store, "index.json")))
manifest = json.load(open(blob(index["manifests"][0])))
for layer in manifest["layers"]:
    subprocess.run(["tar", "--extract", "--numeric-owner", "--file", blob(layer), "--directory", root], check=True)
config = json.load(open(blob(manifest["config"])))["config"]
print(config["User"], *config["Entrypoint"], sep="\n")
EOF
}

# The image as it was written: its root entered without a container, and a container of it where there is podman.
trial_image() { # ARCHIVE
  local root=$WORK/root-image image storage
  say 'container image: its root, entered without a container'
  image=$(unpack_image "$1" "$root")
  [[ $image == $'10001:10001\n/usr/bin/cosmark' ]] || die "the image begins as ${image//$'\n'/ }"
  mkdir -p "$root/proc" "$root/dev"
  # shellcheck disable=SC2016 # the name is expanded inside
  timeout 600 unshare --mount --pid --fork --mount-proc="$root/proc" sh -c 'mount --bind /dev "$0/dev" &&
    exec chroot --userspec=10001:10001 "$0" /usr/bin/cosmark demo --archive /var/lib/cosmark/archive' "$root"
  grep -q '"state": *"finished"' "$root"/var/lib/cosmark/archive/w1-*/run.json || die "the demo did not finish"
  if ! command -v podman >/dev/null; then
    skipped 'container image: not run as a container, for podman is not installed'
    return
  fi
  say 'container image: run by podman'
  storage=(--storage-driver vfs --root "$WORK/podman" --runroot "$WORK/podman-run")
  podman "${storage[@]}" load --quiet --input "$1"
  # A kernel that lets no container begin says so of any.
  if ! timeout 120 podman "${storage[@]}" run --rm --network none "localhost/cosmark:$VERSION" --version 2>"$WORK/podman.log"; then
    cat "$WORK/podman.log" >&2
    # What is wrong with an image is said by the same runtime.
    if ! grep -q 'OCI' "$WORK/podman.log" || grep -qiE 'not found|no such file|chdir|exec format' "$WORK/podman.log"; then
      die 'the image does not begin'
    fi
    skipped "container image: no container begins here ($(tail -n 1 "$WORK/podman.log"))"
  else
    timeout 600 podman "${storage[@]}" run --rm --network none "localhost/cosmark:$VERSION" demo
  fi
  podman "${storage[@]}" rmi --force "localhost/cosmark:$VERSION" >&2
}

# Packages of the other architecture, run under emulation where that is or can be installed.
arm64() {
  local name=cosmark-$VERSION-aarch64-linux-gnu root=$WORK/arm64
  if [[ ! -e $DIST/$name.tar.gz ]]; then
    skipped 'aarch64: no package was built (scripts/packages.sh build x86_64 aarch64)'
  elif ! (need_packages qemu-aarch64-static=qemu-user-static); then
    skipped 'aarch64: not run, for qemu-user-static is not installed'
  else
    rm -rf "$root" && mkdir -p "$root"
    tar --extract --gzip --file "$DIST/$name.tar.gz" --directory "$root" --strip-components 1
    say 'aarch64 under emulation'
    timeout 900 qemu-aarch64-static -L "$WORK/rust-web" "$root/bin/cosmark" --version
    timeout 900 qemu-aarch64-static -L "$WORK/rust-web" "$root/bin/cosmark" demo --archive "$root/archive"
    grep -q '"state": *"finished"' "$root"/archive/w1-*/run.json || die "the demo did not finish"
  fi
}

twice() {
  local other=$WORK/other-place
  packages
  rm -rf "$other" && git clone --quiet --no-hardlinks . "$other"
  (cd "$other" && COSMARK_DIST=$other/dist scripts/packages.sh build)
  diff "$DIST/SHA256SUMS" "$other/dist/SHA256SUMS"
  say 'both builds have the same checksums'
}

# ---- the chart ----------------------------------------------------------------------------------------------------

chart_tools() {
  if [[ ! -x $WORK/bin/helm ]]; then
    command -v go >/dev/null || return 77
    GOBIN=$WORK/bin CGO_ENABLED=0 timeout 1200 go install -trimpath "helm.sh/helm/v3/cmd/helm@$HELM_VERSION"
  fi
  if [[ ! -x $WORK/chart-venv/bin/kubernetes-validate ]]; then
    need_packages python3=python3,python3-venv
    python3 -m venv "$WORK/chart-venv"
    timeout 600 "$WORK/chart-venv/bin/pip" install --quiet --disable-pip-version-check "$SCHEMAS"
  fi
}

render() { # NAME [ARGUMENT]..: what the chart makes of these values, on stdout
  "$WORK/bin/helm" template "$1" "$WORK/chart/cosmark" --kube-version "${KUBERNETES[0]}" "${@:2}"
}

# What users set: one line is one rendering. Texts that look like numbers are among them.
CHART_VALUES='--set drivers.count=3
--set drivers.kind=job
--set drivers.count=0
--set nats.enabled=false,natsConnection.url=tls://h:4222,natsConnection.tokenSecret.name=s
--set-string natsConnection.tokenSecret.name=123,natsConnection.tokenSecret.key=5
--set-string image.repository=1,image.tag=2
--set-string controller.storage.className=1,drivers.nodeSelector.pool=true,drivers.labels.zone=true
--set drivers.threads=3,drivers.extraArgs={--trust,KEY}
--set-json drivers.tolerations=[{"key":"a","operator":"Exists"}]
--set-json imagePullSecrets=[{"name":"x"}]'
CHART_MISTAKES='--set drivers.replicas=3
--set drivers.count=-1
--set nats.enabled=false
--set-json drivers.tolerations=[{"kay":"a"}]
--set controller.service.port=0'

chart() {
  local line arguments version
  chart_tools || { skipped 'chart: no Go, which builds helm (https://go.dev/dl)' && return; }
  rm -rf "$WORK/chart" && mkdir -p "$WORK/chart" && cp -r deploy/helm/cosmark "$WORK/chart"
  # The chart of NATS is in no registry of packages; what this chart makes does not depend on it.
  sed -i '/^dependencies:/,$d' "$WORK/chart/cosmark/Chart.yaml"
  "$WORK/bin/helm" lint --strict --quiet "$WORK/chart/cosmark"
  while read -r line; do
    read -ra arguments <<<"$line"
    render bench "${arguments[@]}" >"$WORK/chart/rendered.yaml"
    grep -q '^kind: StatefulSet' "$WORK/chart/rendered.yaml" || die "nothing was rendered with $line"
    for version in "${KUBERNETES[@]}"; do
      "$WORK/chart-venv/bin/kubernetes-validate" --quiet --strict -k "$version" "$WORK/chart/rendered.yaml" ||
        die "Kubernetes $version refuses what the chart makes of $line"
    done
  done <<<"$CHART_VALUES"
  while read -r line; do
    read -ra arguments <<<"$line"
    ! render bench "${arguments[@]}" >/dev/null 2>&1 || die "the chart takes $line"
  done <<<"$CHART_MISTAKES"
  # NATS' chart leaves its own name out where the release has it.
  render my-nats | grep -q '"nats://my-nats:4222"' || die 'the address of NATS is not that of its chart'
  say "the chart fits Kubernetes ${KUBERNETES[*]}"
}

case ${1:-} in
  build)
    shift
    packages "$@"
    ;;
  image) image && checksums ;;
  test) trial ;;
  twice) twice ;;
  chart) chart ;;
  -h | --help) usage ;;
  *) usage 2 ;;
esac
