#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the recipes of config/container in containers that bubblewrap makes (sandbox.py).

    test-container.py SOURCE BUILD

The image has what `meson install` installs from BUILD, and the steps of the Containerfile are executed that need no
network. In its containers run the entry point, the programs of the pod, and programs of ibverbs-utils and perftest
between two addresses of the loopback interface. `test/containers/run` runs more programs. Prints TAP.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SOURCE, BUILD = map(os.path.abspath, sys.argv[1:3])
sys.path[:0] = [os.path.join(SOURCE, folder) for folder in ('test/apps', 'test/interop', 'usertools')]
import containerfile  # noqa: E402
import pair  # noqa: E402
import sandbox  # noqa: E402
import tap  # noqa: E402
from uroce_ports import Lab, LabError, Side, inside, loopback_pair  # noqa: E402

try:
    import yaml
except ImportError:
    yaml = None

FOLDER = os.path.join(SOURCE, 'config/container')
PROBE = os.path.join(SOURCE, 'test/containers/probe.py')
TIMEOUT_S = 300    # only a hang exceeds it
GID = ['-g', '0']
# Pairs of processes: each type of QP, and each kind of operation of perftest.
PAIRS = [*(f'ibv_{kind}_pingpong -g 0' for kind in ('rc', 'uc', 'ud', 'srq')),
         *(f'ib_{verb}_{kind} -x 0 -n 200' for verb in ('send', 'write', 'read', 'atomic') for kind in ('bw', 'lat')),
         'ib_send_bw -x 0 -n 200 -c UD', 'ib_write_bw -x 0 -n 200 -c UC', 'rping']


def skip(what, why):
    tap.result(True, f'{what} # SKIP {why}')


def output_of(words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


# --------------------------------------------------------------------------------------- the image

def libraries(image):
    """The libraries outside of the image that its files need."""
    found = set()
    for top, _, names in os.walk(f'{image}/usr/local'):
        for name in names:
            path = os.path.join(top, name)
            if os.path.islink(path) or not (os.access(path, os.X_OK) or '.so' in name):
                continue
            found |= set(re.findall(r'=> (/\S+)', output_of(['ldd', path])))
    return {path for path in found if not path.startswith(image)}


def package_of(path):
    """The package that owns a file; dpkg knows some files by the name before /usr was merged."""
    for name in path, os.path.realpath(path), path.removeprefix('/usr'), '/usr' + path:
        said = output_of(['dpkg-query', '-S', name])
        if said:
            return said.split(':')[0]
    return None


def depends(package):
    said = output_of(['dpkg-query', '-W', '-f', '${Pre-Depends}, ${Depends}', package])
    return re.findall(r'[a-z0-9][a-z0-9+.-]+(?=[ ,:|(]|$)', re.sub(r'\([^)]*\)', '', said))


def closure(patterns):
    """The packages that apt installs for these names, of those that this machine has."""
    names = set(output_of(['dpkg-query', '-W', '-f', '${Package}\n']).split())
    left = {name for name in names for pattern in patterns if re.fullmatch(pattern.strip('^$'), name)}
    found = set()
    while left:
        package = left.pop()
        found.add(package)
        left |= set(depends(package)) & names - found
    return found


def test_packages(stage, image):
    chosen = closure(containerfile.packages_of(stage))
    needed = {package_of(path): path for path in libraries(image)}
    lacking = [f'{path} of {package}' for package, path in needed.items() if package and package not in chosen]
    tap.result(len(needed) > 10 and not lacking,
               'the packages of the last stage have the libraries of the installed files', '\n'.join(lacking))


# ------------------------------------------------------------------------------------ restrictions

def test_restrictions(container):
    done = subprocess.run(container.words([sandbox.CONFINE + '-probe']), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        tap.result(False, 'the probe runs in the container', done.stdout + done.stderr)
        return
    found = json.loads(done.stdout)
    status = found['status']
    user = str(sandbox.NOBODY)
    tap.result(status['Uid'] == status['Gid'] == user, f'the user is {user}', str(status))
    tap.result(all(int(status[name], 16) == 0 for name in status if name.startswith('Cap')),
               'there is no capability, and the bounding set is empty', str(status))
    is_on = status['NoNewPrivs'] == '1' and status['Seccomp'] == '2'
    tap.result(is_on, 'no_new_privs and a filter are on', str(status))
    wanted = {name: 'ENOSYS' if name == 'clone3' else 'EPERM' for name in found['calls']}
    tap.result(found['calls'] == wanted and found['vsock'] == 'EPERM', 'the filter refuses calls', str(found))
    writable = list(sandbox.WRITABLE)
    tap.result(found['writable'] == writable, 'only /tmp and /dev/shm can be written to', str(found))
    tap.result(found['memlock'] == [65536, 65536] and found['shm'] == 64 << 20,
               '64 KiB can be locked, and /dev/shm has 64 MiB', str(found))
    tap.result(not found['kcore'], '/proc/kcore is masked', str(found))


# ---------------------------------------------------------------------------------------- programs

def run_alone(container, command, keeper=None):
    done = subprocess.run(inside(keeper) + container.words(command), capture_output=True, text=True, check=False,
                          timeout=TIMEOUT_S, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def test_namespace(container):
    """uroce-lab makes no namespace in a container, and says so."""
    code = 'import sys; sys.path.insert(0, "/usr/local/share/uroce/usertools")\n' \
           'import uroce_ports\n' \
           'try: uroce_ports.Lab().namespace()\n' \
           'except uroce_ports.LabError as error: print(error)'
    status, said = run_alone(container, ['/usr/bin/python3', '-B', '-c', code])
    tap.result(status == 0 and said.startswith('no network namespace'), 'no namespace is made in a container', said)


def test_entry_point(container, stage, keeper):
    command = stage.words('ENTRYPOINT') + stage.words('CMD')
    status, said = run_alone(container, command, keeper)
    tap.result(status == 0 and 'PORT_ACTIVE' in said, f'the entry point with its arguments: {" ".join(command)}', said)
    status, said = run_alone(container, [*stage.words('ENTRYPOINT')[:-1], '--', 'ibv_devinfo', '-d', 'uroce1'], keeper)
    tap.result(status != 0, 'the status of a container is that of the program', said)


def pair_words(command, addresses):
    """The words of server and client."""
    if command == 'rping':
        return ['rping', '-s', '-C', '10', '-v'], ['rping', '-c', '-a', addresses[0], '-C', '10', '-v']
    return command.split(), [*command.split(), '127.0.0.1']


def test_pairs(keeper):
    for command in PAIRS:
        package = pair.missing(command.split()[0]) if command != 'rping' else \
            None if shutil.which('rping') else 'rdmacm-utils'
        if package:
            skip(f'two containers: {command}', f'{package} is not installed')
            continue
        test_pair(command, keeper)


def run_pair(command, keeper):
    """The statuses of the client and the server, and the lines of output of each."""
    addresses = loopback_pair()
    sides = [Side(f'udp,addr={address}') for address in addresses]
    lab, logs = Lab(), [tempfile.TemporaryFile('w+') for _ in range(2)]
    env = dict(os.environ, UROCE_LOG='warning,cm=debug')
    try:
        before = pair.listeners(keeper)
        ends = []
        for side, words, log in zip(sides, pair_words(command, addresses), logs):
            ends.append(lab.start(inside(keeper) + pair.under_run(side, None, words), stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, env=env))
            if len(ends) == 1 and command == 'rping':
                wait_for_line(ends[0], log, 'listens, backlog')
            elif len(ends) == 1:
                pair.wait_for_server(ends[0], keeper, before)
        statuses = [wait_for(end) for end in reversed(ends)]
    finally:
        lab.close()
    return statuses, [pair.lines_of(log) for log in logs]


def test_pair(command, keeper, what='two containers'):
    for _ in range(pair.TRIES):
        statuses, lines = run_pair(command, keeper)
        if statuses == [0, 0] or not pair.has_no_clock(lines):
            break
    said = '\n'.join(line for end in lines for line in end)
    # rping frees its channel while another thread of it is about to wait there, which may end it with 255
    is_right = statuses == [0, 0] or (command == 'rping' and set(statuses) <= {0, 255} and 'rdma-ping-9' in said)
    tap.result(is_right, f'{what}: {command}', f'statuses of client and server: {statuses}\n{said}')


def test_without_tmp(image, keeper):
    """Programs need no folder that can be written to. uroce's own programs say that they do."""
    before = pair.container
    pair.container = sandbox.Container(image, writable={})
    if not pair.missing('ibv_rc_pingpong'):
        test_pair('ibv_rc_pingpong -g 0', keeper, 'two containers without a writable folder')
    status, said = run_alone(pair.container, ['uroce-devinfo', '--', '--uroce=udp'], keeper)
    tap.result(status == 1 and 'allowed: a writable /tmp' in said, 'uroce-devinfo says that it needs /tmp', said)
    status, said = run_alone(pair.container, ['uroce-lab', 'udp', 'write_bw', '-n', '100'], keeper)
    tap.result(status == 1 and 'allowed: a writable /tmp' in said and 'Traceback' not in said,
               'uroce-lab says that it needs /tmp', said)
    pair.container = before


def wait_for(process):
    """@return the status of a process; None: it has not ended"""
    try:
        return process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None


def wait_for_line(process, log, text):
    while process.poll() is None and not any(text in line for line in pair.lines_of(log)):
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            pass


# --------------------------------------------------------------------------------------------- pod

def run_pod(lab, container, pod, keeper, command):
    """Run the containers of the pod, with this command of uroced.
    @return the statuses of the programs, and what all of them said
    """
    folder = lab.path('run')
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    container = sandbox.Container(container.image, {}, container.user, {folder: '/run/uroced'})
    logs = {name: tempfile.TemporaryFile('w+') for name in ('uroced', 'server', 'client')}

    def start(name, command):
        return lab.start(inside(keeper) + container.words(command), stdin=subprocess.DEVNULL, stdout=logs[name],
                         stderr=logs[name])

    sidecar = pod['spec']['initContainers'][0]
    uroced = start('uroced', command or sidecar['command'])
    probe = container.words(sidecar['startupProbe']['exec']['command'])
    while subprocess.run(probe, check=False).returncode != 0:
        if uroced.poll() is not None:
            raise LabError((pair.lines_of(logs['uroced']) or ['uroced has ended'])[-1])
    programs = [start(each['name'], each['command']) for each in pod['spec']['containers']]
    statuses = [wait_for(program) for program in programs]
    return statuses, '\n'.join(line for log in logs.values() for line in pair.lines_of(log)[-20:])


def test_pod(container, keeper):
    if not yaml:
        skip('the pod', 'python3-yaml is not installed')
        return
    with open(os.path.join(FOLDER, 'pod.yaml'), encoding='utf-8') as file:
        pod = list(yaml.safe_load_all(file))[1]
    null = ['uroced', '--no-pci', '--no-huge', '--vdev=net_null0,no-rx=1', '--', '--mode=0660',
            'net_null0,addr=192.0.2.1/24']
    for what, command in ('the programs of the pod', None), ('the programs of the pod, with uroced on net_null', null):
        lab = Lab()
        try:
            statuses, said = run_pod(lab, container, pod, keeper, command)
            tap.result(statuses == [0, 0] and 'bytes in' in said, what, f'{statuses}\n{said}')
        except LabError as error:
            tap.result(False, what, str(error))
        finally:
            lab.close()


def main():
    why = sandbox.missing()
    if why:
        print(f'1..0 # SKIP {why}')
        return 0
    stages = containerfile.parse(os.path.join(FOLDER, 'Containerfile'))
    lab = Lab()
    keeper = pair.alone(lab)
    with tempfile.TemporaryDirectory(prefix='uroce-image-') as image:
        os.chmod(image, 0o755)
        try:
            left = containerfile.image_of_build(stages, image, BUILD)
            tap.result(len(left) == 1, 'the steps of the last stage make the image; one needs the network', str(left))
            with open(f'{image}/etc/passwd', encoding='ascii') as file:
                tap.result(f':{stages[-1].last("USER")}:' in file.read(), 'the image has the user of the Containerfile')
            test_packages(stages[-1], image)
            pair.use_container(image)
            test_restrictions(sandbox.Container(image, {}, sandbox.NOBODY, {PROBE: sandbox.CONFINE + '-probe'}))
            own = sandbox.Container(image, {}, int(stages[-1].last('USER').split(':')[0]))
            test_namespace(own)
            test_entry_point(own, stages[-1], keeper)
            test_pairs(keeper)
            test_without_tmp(image, keeper)
            test_pod(own, keeper)
        except containerfile.ImageError as error:
            tap.result(False, 'the image', str(error))
        finally:
            lab.close()
    return tap.end()


sys.exit(main())
