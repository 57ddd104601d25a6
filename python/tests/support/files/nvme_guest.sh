
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0
to="-t tcp -a 10.0.2.2 -s PORT -q nqn.2024-07.internal.ssdlab:guest"
nvme discover $to
nvme connect $to -n SUBSYSTEM --hdr-digest --data-digest --nr-io-queues=4 && echo connected
for n in 1 2 3 4 5 6 7 8 9 10; do test -b /dev/nvme0n2 && break; sleep 1; done
nvme id-ctrl /dev/nvme0 | grep -E "^(mn|mdts|oncs|subnqn)"
nvme list-ns /dev/nvme0
nvme id-ns /dev/nvme0n1 | grep -E "^(nsze|nguid)"
nvme get-feature /dev/nvme0 -f 7
dd if=/dev/urandom of=data bs=64k count=1 2>/dev/null
nvme write /dev/nvme0n1 -s 8 -c 127 -z 65536 -d data && echo written
nvme compare /dev/nvme0n1 -s 8 -c 127 -z 65536 -d data && echo same
nvme compare /dev/nvme0n1 -s 9 -c 127 -z 65536 -d data
nvme verify /dev/nvme0n1 -s 0 -c 1000 && echo verified
nvme write-zeroes /dev/nvme0n1 -s 8 -c 0 && echo zeroed
nvme dsm /dev/nvme0n1 -d -s 16,32 -b 1,2 && echo trimmed
nvme flush /dev/nvme0n1 && echo flushed
nvme smart-log /dev/nvme0 -n 1 -o json
nvme error-log /dev/nvme0 -e 2 | grep -E "error_count|status_field" | head -2
fio --name=x --filename=/dev/nvme0n1 --rw=randwrite --bs=4k --size=8M --verify=crc32c \
  --ioengine=libaio --direct=1 --iodepth=16 --fsync=64 > out 2>&1 && echo "fio is content"
grep -E "err=|IOPS" out
/sbin/blkdiscard /dev/nvme0n2 && echo discarded
/sbin/mke2fs -q -t ext4 /dev/nvme0n2 && mount -t ext4 -o discard /dev/nvme0n2 /mnt && echo mounted
dd if=/dev/urandom of=/mnt/data bs=64k count=64 2>/dev/null; md5sum < /mnt/data > sum; sync
echo 3 > /proc/sys/vm/drop_caches
test "$(md5sum < /mnt/data)" = "$(cat sum)" && echo read back
umount /mnt && /sbin/e2fsck -f -n /dev/nvme0n2 && echo sound
nvme copy /dev/nvme0n1 --sdlba=4096 --slbs=8,64 --blocks=7,15 && echo copied
nvme write-uncor /dev/nvme0n1 -s 5000 -c 7 && echo marked
nvme read /dev/nvme0n1 -s 5000 -c 7 -z 4096 > /dev/null
nvme write-zeroes /dev/nvme0n1 -s 5000 -c 7
for handle in 0 1 2 1 2 2 1 0 2 7; do
  at=$((handle * 256 + 20000))
  nvme write /dev/nvme0n3 -s $at -c 7 -z 4096 -d data --dir-type=2 --dir-spec=$handle && echo placed
done
nvme fdp update /dev/nvme0n3 --pids=1 && echo updated
echo BEGIN configs; nvme fdp configs /dev/nvme0 -e 3 -o json; echo END
echo BEGIN usage; nvme fdp usage /dev/nvme0 -e 3 -o json; echo END
echo BEGIN stats; nvme fdp stats /dev/nvme0 -e 3 -o json; echo END
echo BEGIN events; nvme fdp events /dev/nvme0 -e 3 --host-events -o json; echo END
echo BEGIN status; nvme fdp status /dev/nvme0n3 -o json; echo END
nvme disconnect -n SUBSYSTEM
dmesg | grep nvme
