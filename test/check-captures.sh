#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check-captures.sh CHECK-CAPTURE FOLDER: does every capture in a folder agree? Exits 77 without any.

ls "$2"/*.pcap >/dev/null 2>&1 || { echo "there are no captures in $2"; exit 77; }
exec "$1" "$2"/*.pcap
