# SPDX-License-Identifier: BSD-3-Clause
"""Support for test-badwire.py: badwire between two hosts, in the network namespace of this process. The hosts are raw
sockets.

    a0 ==veth== a1 badwire b1 ==veth== b0
"""

import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile

MTU = 4300
TIMEOUT = 10    # seconds: time limit for events that occur at once
PACKET_AUXDATA, PACKET_IGNORE_OUTGOING = 8, 23
SOL_PACKET, SO_SNDBUFFORCE, SO_RCVBUFFORCE = 263, 32, 33
TP_STATUS_VLAN_VALID = 1 << 4
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454ca, 0x0002, 0x1000
ROOM = 64 << 20
LAST = 0x88b5    # the EtherType of the last frame of a train; it is reserved for experiments


class Host:
    """One end of the wire: it sends and receives frames."""

    def __init__(self, interface):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        for option in SO_RCVBUFFORCE, SO_SNDBUFFORCE:
            self.socket.setsockopt(socket.SOL_SOCKET, option, ROOM)
        self.socket.bind((interface, 3))

    def send(self, frames):
        for frame in frames:
            self.socket.send(frame)

    def receive(self, seconds=TIMEOUT):
        """The next frame; None if no frame arrives in time."""
        if not select.select([self.socket], [], [], max(0, seconds))[0]:
            return None
        data, beside, _, _ = self.socket.recvmsg(1 << 16, socket.CMSG_SPACE(20))
        for level, kind, aux in beside:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, _, _, _, _, tci, tpid = struct.unpack('IIIHHHH', aux)
                if status & TP_STATUS_VLAN_VALID:
                    data = data[:12] + struct.pack('>HH', tpid, tci) + data[12:]
        return data

    def drain(self):
        while self.receive(0) is not None:
            pass


class Tap:
    """An interface whose far end is a program, as that of a virtual machine."""

    def __init__(self, name):
        self.file = os.open('/dev/net/tun', os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.file, TUNSETIFF, struct.pack('16sH14x', name.encode(), IFF_TAP | IFF_NO_PI))
        subprocess.run(['ip', 'link', 'set', name, 'mtu', str(MTU), 'up'], check=True)

    def receive(self):
        """All frames that wait in the interface."""
        frames = []
        try:
            while True:
                frames.append(os.read(self.file, 1 << 16))
        except BlockingIOError:
            return frames

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.file)


class Joined:
    """Two hosts, and functions to send frames from one to the other."""

    trains = 0

    def __init__(self):
        with open('/proc/sys/net/ipv6/conf/default/disable_ipv6', 'w', encoding='ascii') as file:
            file.write('1')
        for end in 'ab':
            for words in (f'add {end}0 mtu {MTU} type veth peer name {end}1 mtu {MTU}',
                          f'set {end}0 up', f'set {end}1 up'):
                subprocess.run(['ip', 'link', *words.split()], check=True)
        self.host = {end: Host(f'{end}0') for end in 'ab'}

    def drain(self):
        for host in self.host.values():
            host.drain()

    def last(self):
        """A frame that matches no rule and is different from all others."""
        Joined.trains += 1
        return bytes(12) + struct.pack('>HI', LAST, Joined.trains) + bytes(42)

    def carry(self, frames, sender='a'):
        """Send a train of frames, and a last frame that has no faults. @return the frames that arrive before the
        last"""
        end, receiver, come = self.last(), self.host['ba'['ab'.index(sender)]], []
        self.host[sender].send(frames)
        self.host[sender].send([end])
        while (frame := receiver.receive()) != end:
            if frame is None:
                raise AssertionError(f'the train of {len(frames)} frames has no end: {len(come)} came')
            come.append(frame)
        return come


class Badwire:
    """A badwire process, and a connection to its control socket."""

    def __init__(self, program, seed=1, pcap=None, ends=('a1', 'b1')):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, 'control')
        words = [program, '--seed', str(seed), '--control', self.path]
        if pcap:
            words += ['--pcap', pcap]
        self.process = subprocess.Popen([*words, *ends], stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.PIPE)
        self.greeting = self.process.stdout.readline().strip()
        if not self.greeting:
            raise AssertionError(self.process.communicate()[1])
        self.connection = self.connect()

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(TIMEOUT)
        connection.connect(self.path)
        return connection

    def ask(self, line):
        self.connection.sendall(line.encode() + b'\n')
        said = b''
        while not said.endswith(b'\n'):
            part = self.connection.recv(1 << 16)
            if not part:
                raise AssertionError(f'{line}: no answer')
            said += part
        return said.decode()[:-1]

    def tell(self, *lines):
        for line in lines:
            said = self.ask(line)
            if said != 'ok':
                raise AssertionError(f'{line}: {said}')

    def stats(self):
        return json.loads(self.ask('stats'))

    def cpu_seconds(self):
        with open(f'/proc/{self.process.pid}/stat', encoding='ascii') as file:
            fields = file.read().rsplit(')', 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')

    def pause(self):
        """Stop the process by a signal, and wait until it has stopped."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def end(self, how='quit'):
        """End the process by quit or by a signal, or wait for its end. @return its status and its standard error"""
        if how == 'quit' and self.process.poll() is None:
            self.tell('quit')
        elif how == 'signal':
            self.process.send_signal(signal.SIGTERM)
        try:
            said = self.process.communicate(timeout=TIMEOUT)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, said

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()
        self.folder.cleanup()


def frames_of(path):
    """(seconds, bytes) of each frame of a capture by badwire, whose frames are complete."""
    with open(path, 'rb') as file:
        data = file.read()
    magic, _, _, _, _, _, link = struct.unpack_from('<IHHiIII', data)
    if (magic, link) != (0xa1b2c3d4, 1):
        raise AssertionError(f'{path}: no capture of Ethernet with microseconds')
    at, found = 24, []
    while at < len(data):
        seconds, micros, kept, length = struct.unpack_from('<IIII', data, at)
        if kept != length or micros >= 1000000:
            raise AssertionError(f'{path}: frame {len(found) + 1} is not whole')
        found.append((seconds + micros / 1e6, data[at + 16:at + 16 + length]))
        at += 16 + length
    return found


def verdicts_of(path):
    with open(path + '.verdicts', encoding='ascii') as file:
        return [tuple(line.split()) for line in file]
