# SPDX-License-Identifier: BSD-3-Clause
# The Debian packages that uroce needs, and a function that installs them. The function installs
# only missing packages, and upgrades or removes none. If no package is missing, the network is not
# used. This file is sourced by other scripts.

# To build the library and the programs, and to run them on any port.
packages_build="build-essential pkg-config meson ninja-build python3 git
	libdpdk-dev libibverbs-dev librdmacm-dev libisal-dev libnuma-dev libcmocka-dev"

# To run the fast tier of the test suites as well.
packages_test="$packages_build
	clang clang-format libclang-rt-dev llvm g++ cmake
	libfabric-bin ucx-utils openmpi-bin libopenmpi-dev librdmacm-dev
	dpdk-dev libpcap-dev libbpf-dev libxdp-dev iproute2 iputils-ping procps ethtool
	python3-scapy python3-yaml tshark bubblewrap
	ibverbs-utils rdmacm-utils perftest python3-pyverbs
	curl iperf3 netcat-openbsd"

# To build for arm64, and to run tests there by emulation.
packages_arm64="gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	qemu-user-static qemu-user qemu-system-arm busybox-static cpio kmod xz-utils"

# To run every test suite.
packages_test_all="$packages_test
	$packages_arm64 gcovr spin
	netcat-traditional socat wget webfs jq fio"

# To compare with other programs (uroce-bench-all), and to draw the results.
packages_bench="dpdk-dev ucx-utils qperf ethtool iproute2 python3-matplotlib"

# To boot Linux guests as peers (test/interop/guest), and the programs that run in the guests.
packages_interop="qemu-system-x86 busybox-static cpio kmod xz-utils zstd iproute2 python3
	rdma-core ibverbs-utils rdmacm-utils perftest python3-pyverbs iputils-ping procps"

is_installed()
{
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Print those of the given packages that are not installed.
missing_packages()
{
	for package in "$@"; do
		is_installed "$package" || echo "$package"
	done
}

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		return 1
	fi
}

# Install the missing ones of the given packages. $1: log file for apt's output.
install_packages()
{
	log=$1
	shift
	if ! command -v dpkg-query >/dev/null; then
		echo "packages: this is not Debian: provide the like of $(echo $*)" >&2
		return 1
	fi
	missing=$(missing_packages "$@" | tr '\n' ' ')
	[ -z "$missing" ] && return 0
	if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
		echo "packages: not root and no sudo: ask for apt-get install $missing" >&2
		return 1
	fi
	echo "packages: installing $missing"
	as_root apt-get update >>"$log" 2>&1 ||
		echo "packages: apt-get update failed; trying with the lists that are there" >&2
	if ! as_root env DEBIAN_FRONTEND=noninteractive apt-get install --yes \
		--no-install-recommends --no-upgrade --no-remove $missing >>"$log" 2>&1; then
		echo "packages: apt-get install failed: see $log" >&2
		return 1
	fi
}

# Print the version of a package, or "not installed". $1: its name for pkg-config.
version_of()
{
	pkg-config --modversion "$1" 2>/dev/null || echo 'not installed'
}

# Print the versions of uroce, DPDK and rdma-core. $1: name of the tool.
# libibverbs.pc has the version 1.ABI.MAJOR.MINOR, of which the last two are those of rdma-core.
print_versions()
{
	echo "$1: uroce $(cat VERSION), DPDK $(version_of libdpdk), rdma-core $(version_of libibverbs | sed 's/^1\.[0-9]*\.//')"
}
