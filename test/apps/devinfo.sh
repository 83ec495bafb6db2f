#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests uroce-devinfo from the command line: its output, which has the columns of ibv_devinfo, and its errors.
# Wrong arguments must get one line and a status other than 0. TAP on stdout.
#
#   devinfo.sh UROCE-DEVINFO

set -u
devinfo=$1
nb=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
eal=(--no-huge --no-pci --vdev net_ring0 --vdev net_ring1)
first=--uroce=net_ring0,addr=192.0.2.1/24,addr=2001:db8::1/64,mtu=2048,qps=100
second=--uroce=net_ring1,addr=192.0.2.2/24

result()
{
	nb=$((nb + 1))
	echo "$1 $nb - $2"
	[ "$1" = ok ] || sed 's/^/# /' "$folder/out" "$folder/err"
}

run()
{
	timeout 60 "$devinfo" "$@" >"$folder/out" 2>"$folder/err" </dev/null
}

# Checks that the output contains some lines, with their tabs. Arguments: the name of the check, "--", the
# arguments of the program, "==", and the lines.
prints()
{
	local what=$1 args=() line
	shift 2
	while [ "$1" != == ]; do
		args+=("$1")
		shift
	done
	shift
	if ! run "${eal[@]}" -- "${args[@]}" || [ -s "$folder/err" ]; then
		result "not ok" "$what"
		return
	fi
	for line in "$@"; do
		if ! grep -Fxq "$(printf '%b' "$line")" "$folder/out"; then
			result "not ok" "$what: $line"
			return
		fi
	done
	result ok "$what"
}

# Checks the number of printed lines that match a pattern.
counts()
{
	local what=$1 pattern=$2 expected=$3
	if [ "$(grep -c "$pattern" "$folder/out")" -eq "$expected" ]; then
		result ok "$what"
	else
		result "not ok" "$what"
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
		grep -q -- "$words" "$folder/err" && [ ! -s "$folder/out" ]; then
		result ok "refused: $words"
	else
		result "not ok" "refused: $words (status $status)"
	fi
}

prints 'a device' -- $first == \
	'hca_id:\turoce0' \
	'\ttransport:\t\t\tInfiniBand (0)' \
	'\tphys_port_cnt:\t\t\t1' \
	'\t\tport:\t1' \
	'\t\t\tstate:\t\t\tPORT_ACTIVE (4)' \
	'\t\t\tmax_mtu:\t\t4096 (5)' \
	'\t\t\tactive_mtu:\t\t2048 (4)' \
	'\t\t\tsm_lid:\t\t\t0' \
	'\t\t\tlink_layer:\t\tEthernet'
counts 'a device is a few lines' '' 18
prints 'two devices' -- $first $second == 'hca_id:\turoce0' 'hca_id:\turoce1'
prints 'one of two' -- $first $second -d uroce1 == 'hca_id:\turoce1'
counts 'and no other' '^hca_id' 1
prints 'a port of it' -- $first --ib-port=1 == '\t\tport:\t1'
prints 'a list' -- $first $second --list == '2 HCAs found:' '\turoce0' '\turoce1'
prints 'a list of one' -- $first -l == '1 HCA found:' '\turoce0'
prints 'all there is' -- $first -v == \
	'\tmax_qp:\t\t\t\t100' \
	'\tmax_mr_size:\t\t\t0x800000000000' \
	'\t\t\t\t\tCURR_QP_STATE_MOD' \
	'\tmax_cqe:\t\t\t4194303' \
	'\tatomic_cap:\t\t\tATOMIC_GLOB (2)' \
	'\tmax_total_mcast_qp_attach:\t4096' \
	'\tmax_raw_ethy_qp:\t\t0' \
	'\tlocal_ca_ack_delay:\t\t15' \
	'\thca_core_clock:\t\t\t1000000kHZ' \
	'\tnum_comp_vectors:\t\t1' \
	'\t\t\tmax_msg_sz:\t\t0x80000000' \
	'\t\t\tpkey_tbl_len:\t\t1' \
	'\t\t\tgid_tbl_len:\t\t16' \
	'\t\t\tphys_state:\t\tLINK_UP (5)' \
	'\t\t\tGID[  1]:\t\t::ffff:192.0.2.1, RoCE v2' \
	'\t\t\tGID[  2]:\t\t2001:db8::1, RoCE v2'
counts 'GIDs that there are' 'GID\[' 3
counts 'no bit without a name' 'Unknown flags' 0
counts 'no number without a name' 'invalid' 0

is_refused 'no device: give --uroce' --
is_refused '--colour: unknown option' -- --colour
is_refused '-x: unknown option' -- $first -x
is_refused '--ib-dev: needs a value' -- $first --ib-dev
is_refused 'more: not an option' -- $first more
is_refused '--ib-port=0: not a port' -- $first -i 0
is_refused '--ib-port=one: not a port' -- $first -i one
is_refused '--ib-port=2: uroce0 has no such port: allowed: 1' "${eal[@]}" -- $first -i 2
is_refused '--ib-dev=mlx5_0: no such device' "${eal[@]}" -- $first -d mlx5_0
is_refused 'no port .net_memif7' "${eal[@]}" -- --uroce=net_memif7,addr=192.0.2.1/24
is_refused 'no port .lo., which is an interface of the kernel: --vdev=net_af_packet0,iface=lo' "${eal[@]}" -- --uroce=lo,addr=192.0.2.1/24
is_refused 'mtu=9000 is not understood' "${eal[@]}" -- --uroce=net_ring0,mtu=9000
is_refused 'uroce-devinfo: EAL did not start' --colour -- $first

if run -- --help && grep -q -- --ib-port "$folder/out"; then
	result ok 'help'
else
	result "not ok" 'help'
fi

echo "1..$nb"
