export READS="${READS:-4000}" WRITES="${WRITES:-40000}" SPARE="${SPARE:-40%}"
export UNIT="${UNIT:-4k}" BURST="${BURST:-256m}"
export SPACING=1k SIZE=512 OFFSET=0
stage discard
stage fill
sleep "${REST:-60}"
stage burst
# A sector at each boundary, and two sectors across it.
for KIB in 1 2 4 8 16 32 64; do
  SPACING=${KIB}k
  SIZE=512 OFFSET=0 stage page "within-$SPACING"
  SIZE=1k OFFSET=$((KIB * 1024 - 512)) stage page "across-$SPACING"
done
stage sizes
stage again
stage erase
stage spare
