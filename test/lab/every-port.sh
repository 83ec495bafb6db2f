#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs uroce-lab on every kind of port of this machine. Two processes run each operation and check every byte.
# Datagrams, latency, IPv4 and IPv6 are tested. A wrong byte must be detected.
#
#   test/lab/every-port.sh [--full] [PORT...]       after a build into build/
#
# --full: every size from 2 B to 8 MiB, every path MTU, latency of each operation; takes minutes.
#
# The last line is `N passed, N failed, N skipped`.

set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0 failed=0 skipped=0
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

result()
{
	echo "$1  $2"
	case $1 in
	ok) passed=$((passed + 1)) ;;
	skip) skipped=$((skipped + 1)) ;;
	FAIL)
		failed=$((failed + 1))
		sed 's/^/      | /' "$log"
		;;
	esac
}

lab()
{
	timeout 300 usertools/uroce-lab "$@" >"$log" 2>&1 </dev/null
}

runs_well()
{
	if lab "$@" && { [[ " $* " != *" --verify "* ]] ||
		grep -Eq '^verify: .* [1-9][0-9]* bytes checked, 0 wrong$' "$log"; }; then
		result ok "$*"
	else
		result FAIL "$*"
	fi
}

# Prints what a port needs and the machine lacks.
lacks()
{
	case $1 in
	af_packet | af_xdp | tap | udp)
		unshare -n true 2>/dev/null || { echo "network namespaces cannot be made here"; return; }
		;;
	esac
	[ "$1" != tap ] || [ -c /dev/net/tun ] || echo "there is no /dev/net/tun"
}

# Runs each operation with faults. One port is enough, because the faults do not depend on the port. The
# client of a READ receives enough frames for each fault to occur. $3 is the word for the fault in its output.
survives_impairment()
{
	local operation
	for operation in write send read; do
		runs_well "$1" ${operation}_bw -s 65536 -n 1000 --verify --impair "$2"
	done
	grep -Eq "^impaired: .* [1-9][0-9]* $3" "$log" ||
		result FAIL "$1 read_bw --impair $2: nothing was $3"
	runs_well "$1" atomic_bw -n 1000 --verify --impair "$2"
}

survives_a_bad_network()
{
	survives_impairment "$1" loss=1e-2 lost
	survives_impairment "$1" reorder=1e-2 'held back'
	survives_impairment "$1" corrupt=1e-3 corrupted
	survives_impairment "$1" dup=1e-2 doubled
	survives_impairment "$1" loss=1e-2,reorder=1e-2,corrupt=1e-3,dup=1e-2 lost
	survives_impairment "$1" loss=1e-2,reorder=1e-2,corrupt=1e-3,side=tx lost
}

notices_a_wrong_byte()
{
	lab "$@" --verify-selftest
	if grep -q ', 1 wrong$' "$log"; then
		result ok "$*: a wrong byte is noticed"
	else
		result FAIL "$*: a wrong byte is not noticed"
	fi
}

connects_by_rdma_cm()
{
	runs_well "$1" write_bw -R -q 4 -s 65536 -n 200 --verify
	runs_well "$1" send_bw -R --ipv6 -s 10001 -m 1024 -n 200 --verify
	runs_well "$1" send_bw -R -c UD -s 1024 -n 500
}

every_operation()
{
	local port=$1 operation
	for operation in write send read; do
		runs_well "$port" ${operation}_bw -s 65536 -n 500 --verify
	done
	runs_well "$port" atomic_bw -n 500 --verify
	runs_well "$port" send_bw -c UD -s 1024 -n 500
	runs_well "$port" write_lat -s 64 -n 500
	runs_well "$port" write_bw --ipv6 -s 10001 -m 1024 -n 500 --verify
	[ "$port" = ring ] || connects_by_rdma_cm "$port"
	notices_a_wrong_byte "$port" write_bw -s 4096 -n 500
	[ "$port" != memif ] || survives_a_bad_network "$port"
}

# Prints the path MTUs that this kind of port supports.
mtus()
{
	case $1 in
	af_xdp) echo 256 1024 2048 ;;
	*) echo 256 1024 4096 ;;
	esac
}

every_size()
{
	local port=$1 operation mtu family
	for operation in write send read; do
		runs_well "$port" ${operation}_bw -a --verify
		notices_a_wrong_byte "$port" ${operation}_bw -s 4096 -n 500
		for mtu in $(mtus "$port"); do
			for family in "" --ipv6; do
				# shellcheck disable=SC2086 # $family is empty or an option
				runs_well "$port" ${operation}_bw $family -m "$mtu" -s 100003 -n 200 --verify
			done
		done
	done
	runs_well "$port" atomic_bw --verify
	notices_a_wrong_byte "$port" atomic_bw -n 500
	runs_well "$port" send_bw -c UD -s 1024
	runs_well "$port" send_bw -c UD -s 1024 --ipv6
	for operation in write send read atomic; do
		runs_well "$port" ${operation}_lat
		runs_well "$port" ${operation}_lat --ipv6
	done
}

tests=every_operation
if [ "${1-}" = --full ]; then
	tests=every_size
	shift
fi
[ $# -gt 0 ] || set -- ring memif vhost udp tap af_packet af_xdp
for port in "$@"; do
	why=$(lacks "$port")
	if [ -n "$why" ]; then
		result skip "$port: $why"
		continue
	fi
	$tests "$port"
done

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
