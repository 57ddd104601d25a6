#!/bin/sh
# Written by ssdlab calibrate --recipe {name}. {usage}
set -eu
TARGET=${{1:?$0 TARGET{words}: a block device, or nbd+unix:///?socket=PATH}}
export TARGET
{guard}cd "$(dirname "$0")"
case "$TARGET" in
  nbd*) sed -e 's/^filename=/uri=/' -e 's/^ioengine=.*/ioengine=nbd/' -e '/^direct=/d' \
          {name}.fio > {name}-nbd.fio; JOBS={name}-nbd.fio ;;
  *) JOBS={name}.fio ;;
esac
# One job at a time, with its results and log: stage SECTION [NAME].
stage() {{
  STAGE=${{2:-$1}} fio --section="$1" --output-format=json --output="${{2:-$1}}.json" "$JOBS"
}}
