export RAMP="${RAMP:-10s}" SECONDS_EACH="${SECONDS_EACH:-20s}"
stage write
for SPAN in %s; do
  stage "span-$SPAN"
done
