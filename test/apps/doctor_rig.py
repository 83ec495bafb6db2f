# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of uroce-doctor share: the tools, hosts in namespaces, and what the doctor said.

The doctor starts the programs of build/. The folder of the build may have another name. So the tools are copied beside a
link to it, and the tests run the copies.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE, BUILD = os.path.dirname(os.path.abspath(sys.argv[1])), os.path.abspath(sys.argv[2])
copied = tempfile.TemporaryDirectory()
os.chmod(copied.name, 0o755)    # tests run the tools as another user, too
TOOLS = shutil.copytree(sys.argv[1], os.path.join(copied.name, 'usertools'))
DOCTOR = os.path.join(TOOLS, 'uroce-doctor')
shutil.copy(os.path.join(SOURCE, 'meson.build'), copied.name)    # the tools look for a build beside this file
os.symlink(BUILD, os.path.join(copied.name, 'build'))
sys.path.insert(0, TOOLS)
from uroce_ports import LabError, inside  # noqa: E402

UROCED = os.path.join(BUILD, 'apps', 'uroced', 'uroced')
CONNECT = os.path.join(BUILD, 'apps', 'uroce-connect')
HANG_S = 300    # only a hang takes longer
# Options of uroce-doctor if a test expects a response of a program, because the program may get no CPU for seconds. A test that
# expects no response leaves them out, because it would wait for the whole time.
PATIENT = '--timeout', str(HANG_S // 2)
NOBODY = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--bounding-set=-all', '--inh-caps=-all',
          '--no-new-privs']
nb_failed = 0
all_said = []    # what the doctor said in all situations of this test


def expect(what, is_right, said=''):
    global nb_failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}" + ('' if is_right else f': {said}'))
    nb_failed += not is_right


def run(prefix, words, env=None):
    """Run the doctor twice: as text and as JSON. @return its status, and what it said. Both must agree."""
    done = [subprocess.run([*prefix, DOCTOR, *more, *words], capture_output=True, text=True, check=False, timeout=2 * HANG_S,
                           env={**os.environ, **(env or {})}) for more in ([], ['--json'])[:1 if '--peer' in words or '--connect' in words else 2]]
    said = done[0].stdout + done[0].stderr
    if 'Traceback' in said:
        expect(f'no traceback: {" ".join(words)}', False, said)
    if len(done) == 2 and done[0].returncode != 2:
        told = json.loads(done[1].stdout)
        keys = {key for finding in told for key in finding}
        lines = said.count('\n') - said.count('       type         ')
        expect(f'as JSON: {" ".join(words)}', keys == {'level', 'check', 'text', 'remedy'} and len(told) == lines and
               done[0].returncode == done[1].returncode, done[1].stdout)
    return done[0].returncode, said


class Net:
    """Two hosts on a link: two namespaces, with an interface roce0 in each."""

    def __init__(self, lab, addresses=('192.0.2.1/24', '192.0.2.2/24'), mtus=(1500, 1500), is_up=True):
        self.lab = lab
        self.prefix = []    # words before the doctor's command
        self.hosts = [lab.namespace(), lab.namespace()]
        lab.run_in(None, f'ip link add roce0 netns {self.hosts[0].pid} type veth '
                         f'peer name roce0 netns {self.hosts[1].pid}')
        for host, address, mtu in zip(self.hosts, addresses, mtus):
            lab.run_in(host, f'ip link set roce0 mtu {mtu}')
            if is_up:
                lab.run_in(host, 'ip link set roce0 up')
            if address:
                lab.run_in(host, f'ip addr add {address} dev roce0' + (' nodad' if ':' in address else ''))

    def doctor(self, *words):
        return run(inside(self.hosts[0]) + self.prefix, [*words, '--', '--no-huge'])


def diagnosis(what, status, words, net, *args):
    found, said = net.doctor(*args)
    all_said.append(said)
    expect(what, found == status and words in said, said)


def start_device(lab, host, *options):
    """Start a program of uroce that is attached to nothing else, and waits: uroced on the host's interface.

    @return the path of its socket
    """
    path = lab.path(f'uroced-{host.pid}')
    process = lab.start([*inside(host), UROCED, '--no-huge', '-m', '256', '--no-pci', '--vdev=net_af_packet0,iface=roce0', '--',
                         *options, f'--socket={path}', 'net_af_packet0'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + HANG_S
    while not os.path.exists(path):
        if process.poll() is not None or time.monotonic() > end:
            raise LabError('uroced does not start')
        time.sleep(0.02)
    return path


class Listener:
    """uroce-connect --listen on a host, at port 7471 of an address."""

    def __init__(self, lab, host, address, *options):
        self.process = lab.start([*inside(host), CONNECT, '--no-huge', '--no-pci', '--vdev=net_af_packet0,iface=roce0', '--',
                                  '--uroce=net_af_packet0', '--listen', *options, f'{address}:7471'], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, text=True)

    def __enter__(self):
        line = self.process.stdout.readline()
        if not line.startswith('listener\t0\t'):
            raise LabError(f'uroce-connect does not listen: {line}')
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(HANG_S)
        self.process.stdout.close()
        expect('the listener ends with status 0', self.process.returncode == 0, self.process.returncode)


def drop(lab, host, interface, match):
    """Drop what an interface of a host receives and the filter matches: it goes to a link that is down."""
    lab.run_in(host, 'ip link add sink0 type veth')
    lab.run_in(host, f'tc qdisc add dev {interface} clsact')
    lab.run_in(host, f'tc filter add dev {interface} ingress protocol ip u32 match {match} action mirred egress redirect dev sink0')


class Script:
    """A program in Python on a host, which has printed a line that it is ready."""

    def __init__(self, lab, host, code, prefix=(), *words):
        self.process = lab.start([*inside(host), *prefix, sys.executable, '-c', f'import sys; sys.path.insert(0, {TOOLS!r})\n{code}',
                                  *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.process.stdout.readline()
        return self.process

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(HANG_S)
        self.process.stdin.close()
        self.process.stdout.close()
