#!/bin/sh
# A script for cron that uploads the day's export of a CRM and fetches the posts of a user since then.
#
# It can be killed at any moment and begun again: the upload continues from its journal, one that is done
# sends nothing, and each file takes its name when it is whole. It prints nothing if there is nothing to do
# for anybody. Its exit status is that of the command that failed: after 3 and 130 run it again, after 2
# something has to be mended first. Hosts and credentials come from SOCIALAPI_* variables. Run it against
# a local emulator, with the export in crm-2026-05-01.csv:
#
#     socialapi emulator --detach --env-file emulator.env
#     . ./emulator.env
#     sh examples/nightly_export.sh 2026-05-01 18ce54d4x5t 1nmth 2244994945
set -eu

day=$1 account=$2 audience=$3 user=$4

status=0
socialapi audience upload "crm-$day.csv" --account "$account" --audience "$audience" --default-region US \
    --journal "crm-$day.journal" --rejects "crm-$day.rejects.csv" --max-reject-share 0.05 \
    --json -q >"report-$day.part" || status=$?
case $status in
0) ;;
1) echo "crm-$day.csv is uploaded; some of its rows were rejected: crm-$day.rejects.csv" ;;
*) exit "$status" ;; # the message is on standard error
esac
mv "report-$day.part" "report-$day.json"

socialapi posts by-user "$user" --start-time "$day" --fields created_at,public_metrics \
    --output json --output-file "posts-$day.json" -q
