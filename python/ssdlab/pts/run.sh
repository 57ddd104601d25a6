#!/bin/sh
# SNIA's PTS 2.0.2 on a real drive; written by ssdlab pts --jobs.
# All data on the drive are LOST. As root:  DEVICE=/dev/nvme1n1 sh run.sh [TEST...]
# Started again, a test continues with its next round; do so until the report says "steady".
# On a drive whose logical block is 4 KiB, the sections of 512 B are to be removed first.
# ROUNDS is how many are run, in place of five, or of the four drive writes of wsat.
set -eu
: "${DEVICE:?the drive that is overwritten, such as /dev/nvme1n1}"
export DEVICE
cd "$(dirname "$0")"

purge() { # a drive of NVMe; for others, a secure erase of their own
    nvme format "$DEVICE" --ses=1 --force
}

fill() { # twice, in sequence: independent of the load
    fio --name=fill --filename="$DEVICE" --ioengine=libaio --direct=1 --thread \
        --refill_buffers --rw=write --bs=128k --iodepth=32 --loops=2
}

rounds() { # TEST ROUNDS: that number more, after the ones measured
    test=$1
    [ -e "$test.fio" ] || return 0
    number=1
    while [ -e "$test-$(printf %02d $number).json" ]; do number=$((number + 1)); done
    last=$((number + ${ROUNDS:-$2} - 1))
    while [ $number -le $last ]; do
        json=$test-$(printf %02d $number).json
        fio --output-format=json --output="$json.part" "$test.fio"
        mv "$json.part" "$json"
        number=$((number + 1))
    done
}

run() { # TEST STATE ROUNDS LOAD...: prepares the drive, runs rounds, and what follows them
    test=$1 state=$2 number=$3
    shift 3
    if ! ls "$test"-*.json > /dev/null 2>&1; then
        purge
        [ "$state" = purged ] || fill
    fi
    rounds "$test" "$number"
    for load in "$@"; do
        fio --output-format=json --output="$test-$load.json.part" "$test-$load.fio"
        mv "$test-$load.json.part" "$test-$load.json"
    done
}

