#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests uroce-perf with its own loopback, from the command line. Every test runs, and every byte is checked. The
# check itself is tested. Wrong arguments must get one line and a status other than 0. TAP on stdout.
#
#   perf-loopback.sh UROCE-PERF

set -u
perf=$1
nb=0
# No request may fail with IBV_WC_RETRY_EXC_ERR because the scheduler delays the thread of the other side.
patience="-u 18"
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

result()
{
	nb=$((nb + 1))
	echo "$1 $nb - $2"
	[ "$1" = ok ] || sed 's/^/# /' "$folder/out" "$folder/err"
}

run()
{
	timeout 300 "$perf" "$@" >"$folder/out" 2>"$folder/err" </dev/null
}

# Checks that a run ends with status 0. With --verify it must have checked some bytes and found no wrong one.
runs_well()
{
	run -- --loopback $patience "$@"
	if [ $? -ne 0 ]; then
		result "not ok" "$*"
	elif [[ " $* " == *" --verify "* ]] &&
		! grep -Eq '^verify: .* [1-9][0-9]* bytes checked, 0 wrong$' "$folder/out"; then
		result "not ok" "$* checks nothing"
	else
		result ok "$*"
	fi
}

# Checks that the arguments are refused with one line that contains the words of $1.
is_refused()
{
	local words=$1 status
	shift
	run "$@"
	status=$?
	if [ $status -ne 0 ] && [ $status -ne 124 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] &&
		grep -q -- "$words" "$folder/err"; then
		result ok "refused: $*"
	else
		result "not ok" "refused: $* (status $status)"
	fi
}

while read -r arguments; do
	[ -z "$arguments" ] || runs_well $arguments
done <<'END'
write_bw -a -n 100 --verify
send_bw -a -n 100 --verify
read_bw -a -n 100 --verify
atomic_bw -n 1000 --verify
atomic_bw -n 1000 -A CMP_AND_SWAP --verify
write_bw -m 256 -s 10001 -n 300 --verify
send_bw -m 1024 -s 3000 -n 300 -q 8 --verify
read_bw -m 512 -s 5000 -n 300 -q 4 --verify
write_bw -s 4096 -n 2000 -b --verify
write_bw -s 64 -n 2000 -I 64 -l 8 --verify
write_bw -c UC -s 4096 -n 500
send_bw -c UC -s 4096 -n 500
send_bw -c UD -s 1024 -n 500
send_lat -c UD -s 64 -n 500
write_bw --ipv6 -s 65536 -n 200 --verify
write_lat -n 1000
send_lat -n 1000
read_lat -n 1000
atomic_lat -n 1000
write_bw -s 4096 -D 1
write_bw -s 64 -D 1 -q 2000 -t 4 -l 2 --qp-order=random
send_bw -s 64 -D 1 -q 50 -t 4 -r 8 --qp-order=random
read_bw -s 64 -D 1 -q 4 --workers=2
END

run -- --loopback write_bw -n 100 --verify-selftest
if [ $? -ne 0 ] && grep -q 'wrong byte' "$folder/err"; then
	result ok "a flipped byte is found"
else
	result "not ok" "a flipped byte is found"
fi

run -- --loopback write_bw -s 4096 -n 200 --out_json "--out_json_file=$folder/report.json"
if [ $? -eq 0 ] && python3 -m json.tool "$folder/report.json" >/dev/null; then
	result ok "the JSON report parses"
else
	result "not ok" "the JSON report parses"
fi

null='--no-huge --no-pci -m 128 --no-shconf --no-telemetry --vdev=net_null0'
is_refused 'unknown option' -- --loopback write_bw --bogus
is_refused 'no such test' -- --loopback write_everything
is_refused 'no test was named' -- --loopback
is_refused 'not a number' -- --loopback write_bw -s many
is_refused 'allowed: rx, tx or both' -- --loopback write_bw --impair side=up
is_refused 'allowed: side=rx or both' -- --loopback write_bw --impair dup=0.1,side=tx
is_refused 'allowed: 0 to 1' -- --loopback write_bw --impair loss=2
is_refused 'allowed: 256, 512' -- --loopback write_bw -m 1000
is_refused '--rdma_cm: connects two processes.*allowed: it or --loopback' -- --loopback write_bw -R
is_refused 'UD: carries no read_bw' -- --loopback read_bw -c UD
is_refused 'out of range' -- --loopback write_bw -t 100000000
is_refused 'EAL did not start' --bogus-eal-option -- --loopback write_bw
is_refused "no port 'net_tap7'.*with CAP_NET_ADMIN" $null -- --uroce=net_tap7,addr=192.0.2.1/24 write_bw
is_refused "no port 'nosuch0'" $null -- --uroce=nosuch0,addr=192.0.2.1/24 write_bw
is_refused 'addr=300.1.1.1/24' $null -- --uroce=net_null0,addr=300.1.1.1/24 write_bw
is_refused 'allowed: the IPv6 address of its device' $null -- --uroce=net_null0,addr=2001:db8::1/64 \
	--ipv6 --rdma_cm write_bw 192.0.2.2
is_refused 'allowed: 4096, or another value of the key mtu' $null -- --uroce=net_null0,addr=192.0.2.1/24,mtu=4096 \
	--rdma_cm -m 1024 write_bw
is_refused 'Connection refused' $null -- --uroce=net_null0,addr=192.0.2.1/24 \
	-p 1 write_bw 127.0.0.1

echo "1..$nb"
