stage discard
sleep "${REST:-60}"
stage fill
# A little more than the cache holds, MiB: where the rate falls.
COPY=$(awk -F, '
  { took = $1 - at; at = $1; sum += $2 * took / 1000 / 1024; n++ }
  n <= 4 { first += $2 / 4; next }
  $2 < 0.7 * first {
    if (++low == 1) full = sum
    if (low == 6) { print int(1.1 * full) + 1; exit }
    next
  }
  { low = 0 }' fill_bw.1.log)
[ -n "$COPY" ] || { echo "$0: the drive does not slow down: no SLC cache is seen" >&2; exit 1; }
export COPY
# Seconds that the drive rests before it is written again.
set -- ${PAUSES:-10 20 30 45 60}
for NUMBER in 1 2 3 4 5; do
  stage discard
  sleep "${REST:-60}"
  stage copy "copy-$NUMBER"
  sleep "$1"
  shift
  stage again "again-$NUMBER"
done
