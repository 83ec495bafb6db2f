#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check-captures.sh CHECK-CAPTURE FOLDER: checks all captures of a folder, then their messages of connection
# management. Exits with 77 if there are none.

ls "$2"/*.pcap >/dev/null 2>&1 || { echo "there are no captures in $2"; exit 77; }
"$1" "$2"/*.pcap && exec "$1" --cm "$2"/*.pcap
