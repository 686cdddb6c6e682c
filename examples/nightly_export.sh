#!/bin/sh
# Uploads a day's export and fetches a user's posts since the start of that day: a script for cron.
#
# Use it if your nightly job is a shell script. You can kill it at any moment and start it again: the upload
# continues from its journal, and a finished upload sends nothing.
#
# Each file gets its name once it is complete. The script prints nothing if nobody needs to act.
# Its exit status is the status of the command that failed: after 3 and 130, run it again; after 2, fix the
# problem first. Hosts and credentials come from SOCIALAPI_* variables. Run it against a local emulator, with
# the export in crm-2025-01-01.csv:
#
#     socialapi emulator --detach --env-file emulator.env
#     . ./emulator.env
#     sh examples/nightly_export.sh 2025-01-01 18ce54d4x5t 1nmth 2244994945
#
# What to change:
#
# - `crm-$day.csv`: the name of your export, or an address such as `s3://bucket/crm-$day.csv`
# - `--default-region`: the country of phone numbers without a country code
# - `--max-reject-share`: how many bad rows stop the upload; 0.05 is 5 %
# - `--fields`: the fields of posts that you load, and `--output csv` for a table
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
