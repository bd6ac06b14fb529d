#!/usr/bin/env bash
# Runs the shared suite of object stores, broken connections and kills of backups against a real S3 server: Ceph's radosgw,
# installed from Debian's packages.
#
#   test/s3/radosgw.sh [sid|trixie|bookworm [command …]]   the release of Debian that it comes from; default sid, the newest
#
# The command runs instead of the suite, such as: JOBTIDE_LAKE_PYTHON=… test/s3/radosgw.sh sid npx vitest run test/lake
#
# It is installed by debootstrap into a folder of its own, which is kept, so that only the first run installs; the prefix
# of its name is JOBTIDE_RADOSGW_ROOT. That takes root, 740 MB and about 2 minutes. Where radosgw cannot be installed or
# started, one line says SKIPPED and the exit code is 77: nothing was proved.
# What runs: one monitor, one disk in memory, one gateway on 127.0.0.1; about 400 MB; gone when the script ends.
set -euo pipefail
cd "$(dirname "$0")/../.."

release=${1:-sid}
root=${JOBTIDE_RADOSGW_ROOT:-/var/tmp/jobtide-radosgw}-$release
mirror=${JOBTIDE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
install_seconds=${JOBTIDE_RADOSGW_INSTALL_SECONDS:-300}
start_seconds=90
scratch=$(mktemp -d)
files=
cluster=

skip() {
  printf 'radosgw: SKIPPED, nothing was tested: %s\n' "$1"
  exit 77
}

finish() {
  local code=$?
  trap - EXIT
  if [[ -n $cluster ]]; then
    kill -KILL "$cluster" 2>/dev/null || true
    wait "$cluster" 2>/dev/null || true
  fi
  rm -rf "$scratch" ${files:+"$files"}
  exit "$code"
}
trap finish EXIT

# Namespaces of its own for whatever runs: its mounts are seen nowhere else, and with its first process all of it is gone.
apart=(unshare --mount --pid --fork --kill-child)
enter=("${apart[@]}" --mount-proc="$root/proc" chroot "$root")

install_radosgw() {
  command -v debootstrap >/dev/null ||
    timeout -s KILL "$install_seconds" apt-get install -y -q debootstrap >"$scratch/install.log" 2>&1 ||
    skip 'debootstrap cannot be installed'
  printf 'radosgw: installing into %s\n' "$root"
  rm -rf --one-file-system "$root"
  timeout -s KILL "$install_seconds" "${apart[@]}" \
    debootstrap --variant=minbase "$release" "$root" "$mirror" \
    >"$scratch/install.log" 2>&1 || skip "Debian $release cannot be installed from $mirror"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service starts by being installed
  chmod +x "$root/usr/sbin/policy-rc.d"
  timeout -s KILL "$install_seconds" "${enter[@]}" \
    env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    radosgw ceph-mon ceph-osd >"$scratch/install.log" 2>&1 ||
    skip 'the packages radosgw, ceph-mon and ceph-osd cannot be installed'
  rm -rf "$root"/var/cache/apt/archives/*.deb
  touch "$root/installed"
}

free_port() {
  node -e "const s = require('node:net').createServer().listen(0, '127.0.0.1', () => {
    console.log(s.address().port); s.close() })"
}

[[ $(id -u) == 0 ]] || skip 'it takes root'
"${apart[@]}" true 2>/dev/null || skip 'namespaces are not allowed here'
exec 9>"$root.lock"
flock -n 9 || skip 'another run is using it'
[[ -e $root/installed ]] || install_radosgw

# What the cluster is made of. `home` is the folder as the cluster's own processes see it.
home=/cluster
files=$root/cluster
rm -rf "$files"
mkdir -p "$files"
port=$(free_port)
mon_port=$(free_port)
# Said in full, because Debian's default is a relative path that does not exist.
classes=$("${enter[@]}" sh -c 'ls -d /usr/lib/*/rados-classes' 2>/dev/null | head -n 1)
export JOBTIDE_TEST_S3_KMS_KEY=jobtide-test-key
kms_secret=$(head -c 32 /dev/zero | tr '\0' k | base64)
cat >"$files/ceph.conf" <<CONF
[global]
fsid = 6b1d3cde-6a3e-4b43-9d70-0d7d5b8a1f00
mon host = v1:127.0.0.1:$mon_port/0
public addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
run dir = $home
admin socket = $home/\$name.asok
log file = $home/\$name.log
mon data = $home/mon
osd data = $home/osd
osd objectstore = memstore
memstore device bytes = 2147483648
osd class dir = $classes
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
mon allow pool size one = true
mon osd min in ratio = 0
ms bind ipv6 = false
# A gateway that runs as root by itself: no second user is needed for minutes of tests.
rgw frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1
rgw crypt require ssl = false
rgw crypt s3 kms backend = testing
rgw crypt s3 kms encryption keys = $JOBTIDE_TEST_S3_KMS_KEY=$kms_secret
CONF
cat >"$files/start.sh" <<START
set -eu
cd $home
conf=$home/ceph.conf
mkdir -p mon osd
monmaptool --create --addv a [v1:127.0.0.1:$mon_port] --fsid 6b1d3cde-6a3e-4b43-9d70-0d7d5b8a1f00 monmap
ceph-mon -c \$conf --mkfs -i a --monmap monmap
ceph-mon -c \$conf -i a
ceph-osd -c \$conf -i 0 --mkfs --osd-uuid 5b8e5c0e-52a4-4c1d-9e5d-2f6f0c1d8a11
ceph -c \$conf osd new 5b8e5c0e-52a4-4c1d-9e5d-2f6f0c1d8a11 0
# On a busy machine it may ask the monitor before it knows the monitor's id ("wrong fsid"), and gives up.
for try in 1 2 3 4 5; do ceph-osd -c \$conf -i 0 && break; sleep 1; done
radosgw-admin -c \$conf user create --uid=jobtide --display-name=Jobtide \
  --access-key=TESTACCESSKEYID --secret-key=test-secret-access-key
place='placement add --placement-id=default-placement --storage-class=STANDARD_IA'
radosgw-admin -c \$conf zonegroup \$place --rgw-zonegroup=default
radosgw-admin -c \$conf zone \$place --rgw-zone=default --data-pool=default.rgw.buckets.data
exec radosgw -c \$conf -n client.rgw -f
START

started=$SECONDS
"${enter[@]}" sh "$home/start.sh" >"$scratch/cluster.log" 2>&1 &
cluster=$!
until node -e "fetch('http://127.0.0.1:$port/').then(() => 0, () => process.exit(1))"; do
  if ! kill -0 "$cluster" 2>/dev/null || ((SECONDS - started > start_seconds)); then
    tail -n 5 "$scratch/cluster.log"
    skip 'it did not start (the lines above are its last)'
  fi
  sleep 0.5
done
JOBTIDE_TEST_S3_SERVER=$("${enter[@]}" radosgw --version | sed 's/ceph version \([0-9.]*\).*/radosgw \1/')
printf '%s: answered after %d s\n' "$JOBTIDE_TEST_S3_SERVER" "$((SECONDS - started))"

export JOBTIDE_TEST_S3_SERVER
export JOBTIDE_TEST_S3_ENDPOINT=http://127.0.0.1:$port
export JOBTIDE_TEST_S3_REGION=us-east-1
export JOBTIDE_TEST_S3_ACCESS_KEY_ID=TESTACCESSKEYID
export JOBTIDE_TEST_S3_SECRET_ACCESS_KEY=test-secret-access-key
command=("${@:2}")
((${#command[@]})) || command=(npx vitest run --project slow --project soak
  test/publish/store/store-conformance.db.test.ts test/publish/store/s3-broken-network.soak.test.ts
  test/run/backup/kills.soak.test.ts)
"${command[@]}"
