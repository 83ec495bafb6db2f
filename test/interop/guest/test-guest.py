#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests guests: they boot, run commands as the host would, reach each other, and leave nothing behind.

    test-guest.py [--kernel stable|backports]

Prints TAP. Builds the guest if there is none. Skips the tests, with the reason, if no guest can be booted.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import guest as guests  # noqa: E402
import guest_tests  # noqa: E402
from guest import Guest, Lab, LabError, own_network  # noqa: E402

LARGE = '/usr/bin/python3'    # a file of some megabytes that is the same on the host and in the guest
ETH_P_ALL = 3
NAME = f'uroce{os.getpid()}'  # a word that no other process of this machine has in its command line
OPEN = '''
import time
began = time.monotonic()
import pyverbs.device
imported = time.monotonic()
context = pyverbs.device.Context(name='rxe0')
print(context.query_device().max_qp, *(round(end - start, 2) for start, end in
      ((began, imported), (imported, time.monotonic()))))
'''
# Starts a guest with this name, number and kernel, and waits until it is killed.
STARTER = f'''
import sys
sys.path.insert(0, {HERE!r})
from guest import Guest
guest = Guest(sys.argv[1], 9, sys.argv[2])
guest.launch()
print('launched', flush=True)
guest.wait()
'''


def equal(found, expected):
    assert found == expected, f'{found!r} is not {expected!r}'


def wait_until(question, timeout=60):
    deadline = time.monotonic() + timeout
    while not question():
        assert time.monotonic() < deadline, f'not within {timeout} s'
        time.sleep(0.05)


def interfaces():
    return {name for _, name in socket.if_nameindex()}


def processes(word):
    """The number of processes on this machine with this word in their command lines."""
    count = 0
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as file:
                count += word.encode() in file.read()
        except (FileNotFoundError, ProcessLookupError):
            pass
    return count


class Pair:
    """Two guests whose data taps are in one bridge."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.lab = Lab()
        own_network(self.lab)
        self.lab.run_in(None, f'ip link add wire mtu {guests.LINK_MTU} type bridge '
                              'stp_state 0 forward_delay 0 mcast_snooping 0')
        self.lab.run_in(None, 'ip link set wire addrgenmode none up')
        self.links = interfaces()
        self.guests = [Guest(f'{NAME}{letter}', number, kernel, tap=f't-{letter}')
                       for number, letter in enumerate('ab', 1)]

    def close(self):
        for guest in self.guests:
            guest.stop()

    # ------------------------------------------------------------------------------------- the tests

    def test_boot(self):
        """two guests boot"""
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as wire:
            began = time.monotonic()
            for guest in self.guests:
                guest.launch()
            wire.bind((self.guests[0].tap, ETH_P_ALL))
            for guest in self.guests:
                guest.wait()
            print(f'# {time.monotonic() - began:.1f} s', flush=True)
            with open(os.path.join(guests.CACHE, self.kernel, 'version'), encoding='ascii') as file:
                equal(self.guests[0].output('uname -r').strip(), file.read().strip())
            self.frames = self.heard(wire, 2)
        for guest in self.guests:
            self.lab.run_in(None, f'ip link set {guest.tap} master wire')

    @staticmethod
    def heard(wire, seconds):
        frames = []
        deadline = time.monotonic() + seconds
        while select.select([wire], [], [], max(0, deadline - time.monotonic()))[0]:
            try:
                frames.append(wire.recv(1 << 16))
            except OSError:    # the interface was down
                pass
        return frames

    def test_silence(self):
        """the guests send nothing to the data network on their own"""
        equal([frame[:64].hex() for frame in self.frames], [])

    def test_rxe(self):
        """rxe0 is active, for path MTU 4096, and has both addresses as GIDs"""
        for guest in self.guests:
            said = guest.output('ibv_devinfo -v -d rxe0')
            for words in ('PORT_ACTIVE', f'::ffff:192.0.2.{guest.number}', f'2001:db8::{guest.number}'):
                assert words in said, f'no {words} in {said}'
            mtu = [line.split()[1] for line in said.splitlines() if 'active_mtu' in line]
            equal(mtu, ['4096'])

    def test_status(self):
        """exit statuses are returned"""
        for command, status in ('exit 37', 37), (['true'], 0), ('kill -9 $$', 137), ('/none', 127):
            equal(self.guests[0].run(command, stderr=subprocess.DEVNULL).wait(), status)

    def test_streams(self):
        """stdin, stdout and stderr are forwarded separately"""
        said = os.urandom(1 << 20)
        done = self.guests[0].run('cat; echo end >&2', stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE).communicate(said, timeout=60)
        assert done[0] == said, f'{len(done[0])} bytes of {len(said)}, or others'
        equal(done[1], b'end\n')

    def test_dialogue(self):
        """a command reads a line and writes a line, in turns"""
        process = self.guests[0].run('while read -r line; do echo "<$line>"; done', stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True, bufsize=1)
        began = time.monotonic()
        for number in range(50):
            process.stdin.write(f'{number}\n')
            equal(process.stdout.readline(), f'<{number}>\n')
        print(f'# {(time.monotonic() - began) / 50 * 1e3:.1f} ms a turn')
        process.communicate(timeout=30)
        equal(process.returncode, 0)

    def test_large(self):
        """a large output is complete, whether or not stdin was read"""
        with open(LARGE, 'rb') as file:
            expected = file.read()
        process = self.guests[0].run(['cat', LARGE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(b'not read')
        process.stdin.flush()
        found = process.stdout.read()
        process.stdin.close()
        equal(process.wait(60), 0)
        assert found == expected, f'{len(found)} bytes of {len(expected)}, or others'

    def test_many(self):
        """many commands run at once"""
        running = [self.guests[0].run(f'cat; exit {number}', stdin=subprocess.PIPE) for number in range(20)]
        for process in running:
            process.stdin.close()
        equal([process.wait(60) for process in running], list(range(20)))

    def count(self, word):
        said = self.guests[0].run(['pgrep', '-c', '-x', word], stdout=subprocess.PIPE).communicate(timeout=60)[0]
        return int(said)

    def test_signals(self):
        """signals reach a command"""
        process = self.guests[0].run("trap 'exit 5' TERM; echo; while :; do sleep 0.1; done", stdout=subprocess.PIPE)
        process.stdout.readline()
        process.terminate()
        equal(process.wait(30), 5)

    def test_kill(self):
        """a command ends when its process on the host ends"""
        process = self.guests[0].run('sleep 1000')
        wait_until(lambda: self.count('sleep') == 1)
        process.kill()
        wait_until(lambda: self.count('sleep') == 0)

    def test_left(self):
        """processes that a command leaves are killed"""
        equal(self.guests[0].output('sleep 1000 & echo done'), 'done\n')
        wait_until(lambda: self.count('sleep') == 0)

    def test_host(self):
        """the guest has the host's files, and cannot change them"""
        equal(self.guests[0].output(['cat', os.path.abspath(__file__)]), open(__file__, encoding='utf-8').read())
        assert self.guests[0].run(f'touch {HERE}/new', stderr=subprocess.DEVNULL).wait(30) != 0
        assert not os.path.exists(f'{HERE}/new')
        self.guests[0].output('touch /tmp/new /dev/shm/new')

    def test_ping(self):
        """two guests reach each other, with large frames"""
        for words in f'-M do -s {guests.LINK_MTU - 28} 192.0.2.2', f'-M do -s {guests.LINK_MTU - 48} 2001:db8::2':
            self.guests[0].output(f'ping -c 2 -i 0.2 -W 10 {words}')

    def test_pyverbs(self):
        """pyverbs opens rxe0"""
        said = self.guests[0].output(['/usr/bin/python3', '-c', OPEN])
        print('# max_qp, seconds to import, to open:', said.strip())

    def test_rdma(self):
        """two guests exchange data by RDMA"""
        words = 'ibv_rc_pingpong -d rxe0 -g 1 -m 4096 -n 20'
        server = self.guests[0].run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        wait_until(lambda: ':18515' in self.guests[0].output('ss -ltn'))
        said = self.guests[1].output(f'{words} {self.guests[0].address}')
        assert '20 iters' in said, said
        equal(server.wait(30), 0)

    def test_end(self):
        """the process of a command ends when its guest ends, and the guest boots again"""
        process = self.guests[1].run('sleep 1000', stderr=subprocess.PIPE, text=True)
        self.guests[1].qemu.kill()
        equal(process.communicate(timeout=30)[1], 'relay: the guest has ended\n')
        equal(process.returncode, 255)
        self.guests[1].stop()
        self.guests[1].start()
        self.guests[1].output('true')

    def test_stop(self):
        """nothing is left after stop()"""
        running = self.guests[0].run('sleep 1000')
        for guest in self.guests:
            guest.stop()
        assert running.poll() is not None
        equal(processes(NAME), 0)
        equal(interfaces(), self.links)

    def test_killed(self):
        """nothing is left when the program that started a guest is killed, during the boot or later"""
        with tempfile.TemporaryDirectory() as folder:
            for is_early in True, False:
                starter = subprocess.Popen([sys.executable, '-c', STARTER + ('' if is_early else '''
process = guest.run('sleep 1000')
print('running', flush=True)
process.wait()
'''), f'{NAME}c', self.kernel], stdout=subprocess.PIPE, text=True, env=dict(os.environ, TMPDIR=folder))
                equal(starter.stdout.readline(), 'launched\n')
                if not is_early:
                    equal(starter.stdout.readline(), 'running\n')
                assert interfaces() != self.links
                starter.kill()
                starter.communicate()
                wait_until(lambda: interfaces() == self.links and processes(f'{NAME}c') == 0)
            equal(os.listdir(folder), [])

    def failure(self, **traits):
        guest = Guest(f'{NAME}d', 9, self.kernel)
        for name, value in traits.items():
            setattr(guest, name, value)
        try:
            guest.start()
        except LabError as error:
            return str(error)
        finally:
            guest.stop()
            equal(interfaces(), self.links)
        return 'it booted'

    def test_failures(self):
        """a guest that cannot boot reports the reason"""
        for words, traits in (('Unable to mount root', {'arguments': 'rdinit=/none'}),
                              ('FAILED: the host has no /none', {'arguments': 'guest_tree=/none'}),
                              ('build --kernel none', {'kernel': 'none'}),
                              ('no tap wire', {'tap': 'wire'}),
                              ('none', {'control_bridge': 'none'})):
            said = self.failure(**traits)
            assert words in said, f'no {words} in {said}'


sys.exit(guest_tests.main(Pair))
