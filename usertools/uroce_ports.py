# SPDX-License-Identifier: BSD-3-Clause
"""Ports of DPDK that connect two processes on this machine: namespaces, links, and the EAL options
of each end. Common to uroce-lab and uroce-bench-ratio.
"""

import ctypes
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Addresses for documentation: RFC 5737, RFC 3849.
ADDRESSES = 'addr=192.0.2.{0}/24,addr=2001:db8::{0}/64'
# The addresses of the server's device.
DEVICE_IPV4, DEVICE_IPV6 = '192.0.2.1', '2001:db8::1'
PR_SET_PDEATHSIG = 1
START_S = 300   # limit for a process to start, which only a hang exceeds
# A frame of path MTU 4096 over IPv6 with a VLAN tag, and the bytes that drivers put before it.
FRAME = 4608
LINK_MTU = 4200    # allows path MTU 4096
XDP_LINK_MTU = 2200    # allows path MTU 2048; the driver cannot carry longer frames
# If the kernel copies frames, as on a veth, its side of the socket receives without a system call.
AF_XDP_POLLING = 'busy_budget=0'
XDP_PROGRAM = 'build/lib/datapath/port/xdp/udp4791.bpf.o'


def built(path):
    """The path of a file of the build, or of the installation if this file is installed. An installed program is
    that of the same prefix, which is two folders above TOP, or else one of PATH.
    """
    if os.path.exists(os.path.join(TOP, 'meson.build')):
        return os.path.join(TOP, path)
    name = os.path.basename(path)
    own = [os.path.normpath(os.path.join(TOP, '../..', folder, name)) for folder in ('bin', 'sbin')]
    return next(filter(os.path.exists, own), None) or shutil.which(name) or os.path.join(TOP, name)


def af_packet_ring(frames):
    """Keys of a ring. The driver advances in steps of framesz, so framesz must divide blocksz."""
    return f'framesz={FRAME},blocksz={8 * FRAME},framecnt={frames}'


AF_PACKET_RING = af_packet_ring(512)    # a short ring stays in the cache


class LabError(Exception):
    """An error. The text says in one line what is wrong, why, and what is allowed."""


class Lab:
    """The processes and files of a run, and their removal."""

    def __init__(self, is_verbose=False, is_ipv6=False):
        self.is_verbose = is_verbose
        self.is_ipv6 = is_ipv6
        self.processes = []
        self.folder = None    # created when a file is needed

    def close(self):
        for process in reversed(self.processes):
            stop(process)
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        if not self.folder:
            try:
                self.folder = tempfile.mkdtemp(prefix='uroce-lab-')
            except OSError as error:
                raise LabError(f'no temporary folder: {error.strerror}; allowed: a writable /tmp') from error
        return os.path.join(self.folder, name)

    def start(self, command, cpus=None, **options):
        if self.is_verbose:
            print('+', shlex.join(command), file=sys.stderr)
        # The kernel kills the process when the lab ends, even if the lab was killed.
        def prepare():
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if cpus:
                os.sched_setaffinity(0, cpus)
        process = subprocess.Popen(command, preexec_fn=prepare, **options)
        self.processes.append(process)
        return process

    def namespace(self):
        """Create a network namespace with its loopback up. @return the process that keeps the
        namespace
        """
        keeper = self.start(['unshare', '--net', 'sleep', 'infinity'],
                            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        own = network_of('self')
        deadline = time.monotonic() + START_S
        while network_of(keeper.pid) in (own, None):
            if keeper.poll() is not None or time.monotonic() > deadline:
                raise LabError('no network namespace: this kernel or container allows none')
            time.sleep(0.01)
        self.run_in(keeper, 'ip link set lo up')
        return keeper

    def run_in(self, keeper, command, is_optional=False):
        """Run a set-up command inside a namespace."""
        words = inside(keeper) + command.split()
        if self.is_verbose:
            print('+', shlex.join(words), file=sys.stderr)
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0 and not is_optional:
            why = (done.stderr.strip() or done.stdout.strip() or 'failed').splitlines()[0]
            raise LabError(f'{command}: {why}')


def network_of(pid):
    """The name of a process's network namespace; None: the process has ended."""
    try:
        return os.readlink(f'/proc/{pid}/ns/net')
    except OSError:
        return None


def inside(keeper):
    return ['nsenter', f'--target={keeper.pid}', '--net', '--'] if keeper else []


def stop(process):
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# ------------------------------------------------------------------------------------------- ports
# Each function creates the connection between two ends, and returns how each end is started.

class Side:
    """One end: its namespace, EAL options, device, and further options."""

    def __init__(self, device, eal='', keeper=None):
        self.device = device
        self.eal = eal.split()
        self.keeper = keeper


class Wire:
    """Two ends, the address of the server's TCP port for the client, and the IPv4 address of the server's device."""

    def __init__(self, server, client, tcp, port=None, device=DEVICE_IPV4):
        self.server = server
        self.client = client
        self.tcp = tcp
        self.port = port
        self.device = device


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def memif(lab):
    # An abstract socket leaves no file behind.
    name = f'uroce-lab-{os.getpid()}-{id(lab)}'
    vdev = f'--vdev=net_memif0,socket={name},bsize={FRAME},role='
    return Wire(Side('net_memif0,' + ADDRESSES.format(1), f'--no-pci {vdev}server'),
                Side('net_memif0,' + ADDRESSES.format(2), f'--no-pci {vdev}client'),
                '127.0.0.1', free_port())


def vhost(lab):
    # One side maps the other's memory, which must be one file. --no-huge does that.
    path = lab.path('vhost')
    common = '--no-pci --no-huge'
    return Wire(Side('net_vhost0,' + ADDRESSES.format(1),
                     f'{common} --vdev=net_vhost0,iface={path}'),
                Side('net_virtio_user0,' + ADDRESSES.format(2),
                     f'{common} --vdev=net_virtio_user0,path={path},queue_size=1024,'
                     'mac=02:00:00:00:00:02'),
                '127.0.0.1', free_port())


def veth(lab, mtu, has_offloads=False):
    """Two namespaces, a link between them, and addresses that the kernel owns."""
    keepers = [lab.namespace(), lab.namespace()]
    lab.run_in(None, f'ip link add roce0 netns {keepers[0].pid} numtxqueues 1 numrxqueues 1 '
                     f'type veth peer name roce0 netns {keepers[1].pid} '
                     f'numtxqueues 1 numrxqueues 1')
    for number, keeper in enumerate(keepers, 1):
        lab.run_in(keeper, f'ip link set roce0 mtu {mtu} up')
        lab.run_in(keeper, f'ip addr add 192.0.2.{number}/24 dev roce0')
        lab.run_in(keeper, f'ip addr add 2001:db8::{number}/64 dev roce0 nodad', is_optional=True)
        if not has_offloads:
            lab.run_in(keeper, 'ethtool -K roce0 tx off tso off gso off gro off', is_optional=True)
    return keepers, DEVICE_IPV6 if lab.is_ipv6 else DEVICE_IPV4


def af_packet(lab):
    keepers, tcp = veth(lab, LINK_MTU)
    eal = f'--no-pci --vdev=net_af_packet0,iface=roce0,qdisc_bypass=1,{AF_PACKET_RING}'
    return Wire(*[Side('net_af_packet0', eal, keeper) for keeper in keepers], tcp)


def af_xdp(lab):
    keepers, tcp = veth(lab, XDP_LINK_MTU)
    program = built(XDP_PROGRAM)
    if not os.path.exists(program):
        raise LabError(f'af_xdp: {XDP_PROGRAM} was not built: it needs clang and libbpf-dev')
    eal = f'--no-pci --vdev=net_af_xdp0,iface=roce0,xdp_prog={program},{AF_XDP_POLLING}'
    return Wire(*[Side('net_af_xdp0', eal, keeper) for keeper in keepers], tcp)


def loopback_pair():
    """Two addresses of the loopback interface, which are not those of another process."""
    pid = os.getpid()
    return [f'127.{16 + (pid >> 8 & 127)}.{pid & 255}.{number}' for number in (3, 4)]


def udp(lab):
    """UDP sockets: on a link between two namespaces, or without root on two addresses of the loopback."""
    eal = '--no-pci --no-huge'
    if os.geteuid() == 0:
        keepers, tcp = veth(lab, LINK_MTU, has_offloads=True)
        return Wire(*[Side(f'udp,addr=192.0.2.{number},addr=2001:db8::{number}', eal, keeper)
                      for number, keeper in enumerate(keepers, 1)], tcp)
    if lab.is_ipv6:
        raise LabError('udp: the loopback has one address of IPv6: allowed is IPv4, or root, for namespaces')
    first, second = loopback_pair()
    return Wire(Side(f'udp,addr={first}', eal), Side(f'udp,addr={second}', eal), '127.0.0.1', free_port(), first)


def tap(lab):
    """Two taps in one namespace; frames that one tap sends are passed to the other."""
    keeper = lab.namespace()
    for name in 'roce0', 'roce1':
        lab.run_in(keeper, f'ip tuntap add dev {name} mode tap multi_queue')
        lab.run_in(keeper, f'ip link set {name} addrgenmode none up')
        lab.run_in(keeper, f'tc qdisc add dev {name} clsact')
    for name, other in ('roce0', 'roce1'), ('roce1', 'roce0'):
        lab.run_in(keeper, f'tc filter add dev {name} ingress protocol all u32 match u32 0 0 '
                           f'action mirred egress redirect dev {other}')
    # The driver logs an error about a queueing discipline that it does not need.
    eal = '--no-pci --log-level=pmd.net.tap:critical --vdev=net_tap{0},iface=roce{0}'
    return Wire(Side('net_tap0,' + ADDRESSES.format(1), eal.format(0), keeper),
                Side('net_tap1,' + ADDRESSES.format(2), eal.format(1), keeper), '127.0.0.1')


def daemon(lab, name, options, keeper=None, program=None):
    """Start a uroced with these options of EAL; its port specification comes last. @return the
    device name for its clients
    """
    program, path = program or built('build/apps/uroced/uroced'), lab.path(name + '.sock')
    if not os.path.exists(program):
        raise LabError(f'uroced: {program} was not built')
    command = [program, '--no-pci', '--no-huge', *options.split()[:-1], '--', '--socket', path, options.split()[-1]]
    process = lab.start(inside(keeper) + command, stdin=subprocess.DEVNULL,
                        stderr=None if lab.is_verbose else subprocess.DEVNULL)
    deadline = time.monotonic() + START_S
    while not os.path.exists(path):
        if process.poll() is not None or time.monotonic() > deadline:
            raise LabError('uroced: it did not start')
        time.sleep(0.05)
    return f'uroced,socket={path}'


def uroced(lab, program=None):
    """One port of one uroced, which both ends share. Frames between the ends do not use the wire.
    """
    side = Side(daemon(lab, 'uroced', '--vdev=net_null0,no-rx=1 net_null0,' + ADDRESSES.format(1),
                       program=program))
    return Wire(side, side, '127.0.0.1', free_port())


def uroced_pair(lab):
    """Two hosts, each with a uroced that owns its end of a link."""
    keepers, tcp = veth(lab, LINK_MTU)
    options = f'--vdev=net_af_packet0,iface=roce0,qdisc_bypass=1,{AF_PACKET_RING} net_af_packet0'
    return Wire(*[Side(daemon(lab, f'uroced{number}', options, keeper), keeper=keeper)
                  for number, keeper in enumerate(keepers)], tcp)


# name: function that creates the port, whether it needs root, largest path MTU
PORTS = {
    'memif': (memif, False, 4096),
    'vhost': (vhost, False, 4096),
    'af_packet': (af_packet, True, 4096),
    'af_xdp': (af_xdp, True, 2048),
    'udp': (udp, False, 4096),
    'tap': (tap, True, 1024),
    'uroced': (uroced, False, 4096),
    'uroced_pair': (uroced_pair, True, 4096),
    'ring': (None, False, 4096),
}


def cpu_of(idx):
    """One CPU for each side if there are two CPUs."""
    cpus = sorted(os.sched_getaffinity(0))
    return {cpus[idx % len(cpus)]}
