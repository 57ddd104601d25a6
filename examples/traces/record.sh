#!/usr/bin/env bash
# Records one of the example traces anew: record.sh sqlite|pgbench|filesystem OUT.parquet
#
# Needs root, ssdlab on the PATH and, from Debian's packages, libnbd-bin, e2fsprogs, sqlite3,
# postgresql. The chain: live device, nbdfuse, loop device, ext4.
set -euo pipefail

# What runs while the device is served; $uri is the device.
application() {
  mkdir "$work/fuse" "$work/disk"
  loop=
  nbdfuse "$work/fuse/disk" "$uri" & fuse=$!
  until [ -e "$work/fuse/disk" ]; do sleep 0.05; done
  trap 'umount -q "$work/disk" || true; losetup -d "$loop" 2>/dev/null || true; fusermount3 -u "$work/fuse"; wait $fuse || true' EXIT
  mkfs.ext4 -q "$work/fuse/disk"
  loop=$(losetup --direct-io=on --find --show "$work/fuse/disk")
  mount -o noatime "$loop" "$work/disk"
  "run_$1" "$work/disk"
  umount "$work/disk"
  losetup -d "$loop"
  e2fsck -f -n "$work/fuse/disk" >/dev/null
}

# 1500 transactions of one row each in the write-ahead log, an index, and reads at random.
run_sqlite() {
  { echo "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
    echo "CREATE TABLE t (id INTEGER PRIMARY KEY, key INTEGER, text BLOB);"
    for i in $(seq 1500); do
      echo "INSERT INTO t VALUES ($i, $((i * 7919 % 100003)), randomblob(300));"
    done
    echo "CREATE INDEX by_key ON t (key);"
    for i in $(seq 500); do echo "UPDATE t SET text = randomblob(300) WHERE key = $((i * 7919 % 100003));"; done
    echo "PRAGMA integrity_check;"
  } | sqlite3 "$1/db" | grep -x ok
}

# TPC-B as pgbench has it: scale 5, two clients, 2000 transactions.
run_pgbench() {
  bin=$(dirname "$(readlink -f "$(command -v postgres)")")
  mkdir "$1/pg" && chown postgres "$1/pg"
  as() { runuser -u postgres -- "$@"; }
  as "$bin/initdb" -D "$1/pg" >/dev/null
  as "$bin/pg_ctl" -D "$1/pg" -w -l "$1/pg/log" \
    -o "-k $1/pg -c listen_addresses= -c shared_buffers=16MB" start >/dev/null
  as "$bin/pgbench" -q -h "$1/pg" -i -s 5 postgres 2>/dev/null
  as "$bin/pgbench" -h "$1/pg" -c 2 -t 1000 postgres | grep -E 'tps|latency average' >&2
  as "$bin/pg_ctl" -D "$1/pg" -w stop >/dev/null
}

# A tree of small files made, read, half of it deleted, and packed.
run_filesystem() {
  for d in $(seq 20); do
    mkdir "$1/$d"
    for f in $(seq 60); do head -c $((f * 700)) /dev/zero >"$1/$d/$f"; done
    sync -f "$1"
  done
  sysctl -q vm.drop_caches=3 || true
  tar -cf "$1/packed.tar" -C "$1" $(seq 20)
  rm -r $(seq -f "$1/%g" 2 2 20)
  sync -f "$1"
  fstrim "$1" || true
}

if [ -n "${uri-}" ]; then
  application "$1"
  exit
fi
work=$(mktemp -d)
chmod 755 "$work"
export work
ssdlab serve --device "${DEVICE:-agrawal2008}" --size "${SIZE:-512MiB}" --socket "$work/socket" \
  ${REALTIME:+--realtime} --record "$2" --json "${JSON:-/dev/null}" --quiet --run "bash '$0' '$1'"
rm -r "$work"
