
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0
to="-t tcp -a 10.0.2.2 -s PORT -q nqn.2024-07.internal.ssdlab:guest"
nvme connect $to -n SUBSYSTEM --nr-io-queues=4 && echo connected
for n in 1 2 3 4 5 6 7 8 9 10; do test -b /dev/nvme0n2 && break; sleep 1; done
d=/dev/nvme0n2
q=/sys/block/nvme0n2/queue
for key in zoned nr_zones max_open_zones max_active_zones chunk_sectors zone_append_max_bytes; do
  echo "$key = $(cat $q/$key)"
done
echo BEGIN controller; nvme zns id-ctrl /dev/nvme0 -o json; echo END
echo BEGIN namespace; nvme zns id-ns $d -o json; echo END
/sbin/blkzone report -c 3 $d
fio --name=x --filename=$d --zonemode=zbd --rw=randwrite --bs=64k --size=64M --io_size=96M \
  --max_open_zones=6 --ioengine=libaio --direct=1 --iodepth=4 --verify=crc32c > out 2>&1 \
  && echo "fio is content"
grep -E "err=|IOPS" out
/sbin/blkzone reset $d && echo emptied
dd if=/dev/urandom of=data bs=64k count=2 2>/dev/null
nvme zns zone-append $d -s 0x8000 -z 65536 -d data && echo appended
nvme zns zone-append $d -s 0x8000 -z 65536 -d data && echo appended
nvme zns open-zone $d -s 0x10000 && echo opened
nvme zns open-zone $d -s 0x18000 -r && echo opened
nvme write $d -s 0x18080 -c 127 -z 65536 -d data && echo written
nvme write $d -s 0x18000 -c 127 -z 65536 -d data && echo written
nvme zns zrwa-flush-zone $d -l 0x1807f && echo flushed
nvme zns close-zone $d -s 0x8000 && echo closed
nvme zns finish-zone $d -s 0x20000 && echo finished
nvme write $d -s 0x20000 -c 7 -z 4096 -d data
nvme write $d -s 0x28008 -c 7 -z 4096 -d data
nvme zns close-zone $d -s 0x30000
echo BEGIN report; nvme zns report-zones $d -o json; echo END
echo BEGIN full; nvme zns report-zones $d -S 5 -o json; echo END
echo MARK; sleep 8
nvme zns reset-zone $d -a && echo emptied
/sbin/mkfs.f2fs -f -m -c $d /dev/nvme0n1 > out 2>&1; echo "mkfs.f2fs ended $?"; tail -n 5 out
/sbin/blkzone report $d | grep -cv "(em)"
nvme disconnect -n SUBSYSTEM
dmesg | grep -E "nvme|zone" | tail -n 30
