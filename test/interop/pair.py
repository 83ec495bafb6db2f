# SPDX-License-Identifier: BSD-3-Clause
"""Runs two processes of one program that was built for libibverbs, under uroce-run: a server and a client. They are
joined by a port of usertools/uroce_ports.py. Several scripts of this folder use this module. With --container each
process runs in a container of its own, which has the uroce that is installed in its image.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, 'usertools'), os.path.join(TOP, 'test/containers')]
import sandbox  # noqa: E402
from uroce_ports import PORTS, Lab, LabError, built, inside, stop  # noqa: E402

RUN = os.path.join(TOP, 'usertools', 'uroce-run')
TIMEOUT = 150    # time limit in seconds for a pair, which only a hang exceeds
TRIES = 3
# lines of uroce about a peer that did not answer in time
LATE = re.compile('no reply to ARP|no response from the peer, after all retries|ADDR_ERROR, status -110')
GID = 1          # index of the address of the wire, or of the first configured address
TRACED = 'terminated with signal'    # libpsm2, which libfabric loads, prints a backtrace below such a line
UDP_GID = 0      # the same for the port udp, which has no link-local address unless one is configured
PACKAGES = {'ibv': 'ibverbs-utils', 'ib': 'perftest', 'ucx': 'ucx-utils', 'fi': 'libfabric-bin',
            'mpirun': 'openmpi-bin'}


container = None    # the sandbox.Container of the processes


def gid(port):
    """The index of the GID that programs use over this port."""
    return UDP_GID if port == 'udp' else GID


def run_words(side, libs, command, options=()):
    """The words that run a command on this side, with further options of uroce-run."""
    words = ['uroce-run' if container else RUN, '--dev', side.device, *options]
    if side.eal:
        words += ['--eal', ' '.join(side.eal)]
    if libs:
        words += ['--libs', libs]
    return words + ['--'] + command


def under_run(side, libs, command, options=(), folders=()):
    """The words that run a command on this side. A container gets these folders, and it can write to them."""
    words = run_words(side, libs, command, options)
    return contained(words, folders) if container else words


def contained(words, folders=()):
    """The words that run these words in a container. The first folder is its working directory."""
    folders = [folder.rstrip('/') for folder in folders]
    for folder in folders:
        os.chmod(folder, 0o777)    # the user of the container is another one
    with_folders = sandbox.Container(container.image, dict.fromkeys(folders, True), container.user,
                                     writable=container.writable)
    return with_folders.words(words, *folders[:1])


def daemon(lab, options, keeper=None):
    """Start a uroced, in the container if there is one, with these options of EAL; the port comes last.
    @return the device of its clients
    """
    path = lab.path('uroced.sock')
    program = 'uroced' if container else built('build/apps/uroced/uroced')
    words = [program, '--no-pci', '--no-huge', *options[:-1], '--', '--mode=0666', '--socket', path,
             options[-1]]
    log = tempfile.TemporaryFile('w+')
    process = lab.start(inside(keeper) + (contained(words, [lab.path('')]) if container else words),
                        stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    deadline = time.monotonic() + TIMEOUT
    while not os.path.exists(path):
        if process.poll() is not None or time.monotonic() > deadline:
            raise LabError('uroced: ' + (lines_of(log) or ['it did not start'])[-1])
        time.sleep(0.05)
    return f'uroced,socket={path}'


def missing(program):
    """The package of a program that is not installed; None: the program is installed."""
    return None if shutil.which(program) else PACKAGES[program.split('_')[0]]


def alone(lab):
    """A namespace for both ends, if possible: other processes may use the TCP ports of the programs."""
    try:
        return lab.namespace()
    except LabError:
        return None


def listeners(keeper):
    """TCP ports with a listening socket, in this namespace or the one of this process."""
    ports = set()
    for table in 'tcp', 'tcp6':
        with open(f'/proc/{keeper.pid if keeper else "self"}/net/{table}', encoding='ascii') as file:
            ports |= {words[1] for words in map(str.split, file) if words[3] == '0A'}
    return ports


def wait_for_server(process, keeper, before):
    """Wait until the server listens or has ended. Only a hang exceeds the limit."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline and process.poll() is None and not listeners(keeper) - before:
        time.sleep(0.05)


def nb_dropped(keeper):
    """The number of datagrams that found the buffer of their socket full, in this namespace."""
    with open(f'/proc/{keeper.pid if keeper else "self"}/net/snmp', encoding='ascii') as file:
        names, values = [line.split() for line in file if line.startswith('Udp:')]
    return int(values[names.index('RcvbufErrors')])


def excuse_loss(command, nb):
    """Raise an error if datagrams were dropped, and the QPs do not retransmit them: such programs wait for ever."""
    if nb > 0 and 'UC' in command:
        raise LabError(f'UC does not retransmit, and the buffer of the socket had no room for {nb} datagrams')


def lines_of(log):
    log.seek(0)
    return [line.strip() for line in log if line.strip()]


def run(port, libs, command, env=None):
    """The statuses of server and client, None for one that did not end, and the lines of output of each."""
    lab = Lab()
    logs = [tempfile.TemporaryFile('w+') for _ in range(2)]
    try:
        wire = PORTS[port][0](lab)
        keeper = wire.server.keeper or alone(lab)
        before, dropped = listeners(keeper), nb_dropped(keeper)
        ends = []
        for side, target, log in zip((wire.server, wire.client), ([], [wire.tcp]), logs):
            ends.append(lab.start(inside(side.keeper or keeper) + under_run(side, libs, command + target),
                                  env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log))
            if not target:
                wait_for_server(ends[0], keeper, before)
        deadline = time.monotonic() + TIMEOUT
        for end in reversed(ends):
            try:
                end.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
        statuses = [end.poll() for end in ends]
        if port == 'udp' and None in statuses:
            excuse_loss(command, nb_dropped(keeper) - dropped)
        for end in ends:
            stop(end)
    finally:
        lab.close()
    return statuses, [lines_of(log) for log in logs]


def has_no_clock(said):
    """Whether perftest could not measure the frequency of the CPU, and ended. It happens on a machine that is busy."""
    words = 'Correlation coefficient r^2', "Can't produce a report"
    return any(word in line for lines in said for line in lines for word in words)


def has_lost_datagram(command, statuses):
    """Whether an end waits for a datagram. A process that ends closes its memif link, and what its peer has not read is lost."""
    return 'dgram' in command and None in statuses


def is_late(lines):
    """Whether an end gave up because its peer got no CPU for seconds, which lines of uroce say."""
    return any(LATE.search(line) for line in lines)


def has_lost_message(command, statuses):
    """Whether an end waits for a message of UC, or has ended so. A busy end has no room for all messages, and UC does not
    retransmit them.
    """
    return 'UC' in command and statuses != [0, 0]


def has_crashed(statuses):
    """Whether a signal has ended a process: uroce, or the program, has a fault."""
    return any(status is not None and status < 0 for status in statuses)


def run_again(port, libs, command, env):
    """Run a command, and once more for a reason that the machine or the service may have. A test that has such a reason each
    time skips if the reason is no fault of uroce, and fails otherwise.
    """
    for _ in range(TRIES):
        statuses, said = run(port, libs, command, env)
        if has_crashed(statuses):
            return statuses, said
        if has_lost_datagram(command, statuses):
            why = 'datagrams are not retransmitted, and one was lost'
        elif statuses != [0, 0] and has_no_clock(said):
            why = 'perftest could not measure the frequency of the CPU'
        elif statuses != [0, 0] and (is_late(said[0] + said[1]) or has_lost_message(command, statuses)):
            why = None
        else:
            return statuses, said
        print('# run again:', why or 'a peer was late, or a message of UC was lost', *reasons_of(said[1])[-1:], flush=True)
    if why is None:
        return statuses, said
    raise LabError(f'{why}, {TRIES} times')


def reasons_of(lines):
    """The lines that say why a program has failed: those of uroce, which stand before buffered ones, and the last. If the
    program has printed a backtrace, all lines of it are among the last."""
    traced = next((number for number, line in enumerate(lines) if TRACED in line), len(lines))
    return [line for line in lines if line.startswith('roce:')][-4:] + lines[min(traced, max(0, len(lines) - 4)):]


def report(port, libs, commands, result):
    """Run all commands and print TAP.

    Each of `commands` is a name, the words, and additions to the environment. `result` selects the important line from
    the client's lines, '' for none.
    @return the number of failures
    """
    print('TAP version 13')
    print(f'1..{len(commands)}', flush=True)
    failed = 0
    for number, (name, words, env) in enumerate(commands, 1):
        package = missing(words[0])
        try:
            if package:
                raise LabError(f'{package} is not installed')
            statuses, said = run_again(port, libs, words, env)
        except LabError as error:
            print(f'ok {number} - {name} # SKIP {error}', flush=True)
            continue
        found = result(said[1])
        is_well = statuses == [0, 0] and found is not None
        print(f'{"ok" if is_well else "not ok"} {number} - {name}', flush=True)
        if found:
            print(f'# {found}', flush=True)
        if not is_well:
            failed += 1
            for end, status, lines in zip(('server', 'client'), statuses, said):
                print(f'# {end}: {"did not end" if status is None else f"status {status}"}',
                      *reasons_of(lines), sep=f'\n# {end}: ', flush=True)
    return failed


def add_container(parser):
    """Add the option --container to a parser."""
    parser.add_argument('--container', metavar='IMAGE', type=use_container,
                        help='run each process in a container of this image, which test/containers/run has made')


def use_container(image):
    global container
    if not os.path.exists(os.path.join(image, 'confine')):
        raise argparse.ArgumentTypeError(f'{image} is no image of test/containers/run')
    container = sandbox.Container(image)
    return image


def check_container(parser, args):
    """Refuse ports that a container cannot reach."""
    if args.container and args.port != 'udp':
        parser.error(f'--container with --port {args.port}: allowed is --port udp')


def parse(description):
    parser = argparse.ArgumentParser(description=description)
    add_container(parser)
    parser.add_argument('--port', default='memif', choices=[port for port in PORTS if PORTS[port][0]])
    parser.add_argument('--all', action='store_true', help='every combination')
    parser.add_argument('--libs', metavar='FOLDER', type=os.path.abspath,
                        help='where the libraries are, if not in build/')
    parser.add_argument('words', nargs='*', metavar='WORD',
                        help='only commands with all of these words')
    args = parser.parse_args()
    check_container(parser, args)
    return args


def is_chosen(args, words, is_short):
    return all(word in words for word in args.words) and (args.all or bool(args.words) or is_short)
