# SPDX-License-Identifier: BSD-3-Clause
"""The check of uroce-doctor that connects to a listener. The program uroce-connect goes through the steps of a connection,
and prints the outcome of each; this file says what an outcome means, and what helps.
"""

import dataclasses
import errno
import os
import shutil
import subprocess

import uroce_probe as roce
import uroce_probe_socket as sockets
from uroce_doctor_network import ask_device
from uroce_ports import AF_PACKET_RING, built
from uroce_target import FAULT, NOTE, OK, Finding

PROGRAM = built('build/apps/uroce-connect')
ANSWER_S = 10     # time for the answer to a request, in which a lost one is repeated twice; the user may change it
START_S = 60      # time for the start and the end of uroce-connect, which only a hang exceeds
NB_STEPS = 5      # steps that wait for the peer: address, route, connection, datagram service, disconnection

# Reasons of a REJ [IBA 12.6.7.2].
NO_LISTENER, STALE, REFUSED = 8, 10, 28

LISTENERS = 'uroce-stat --cm    (there; of the kernel there: rdma resource show cm_id)'
# What helps, by the reason. The texts of the reasons are those of the library.
REMEDIES = {
    NO_LISTENER: LISTENERS,
    STALE: 'uroce-stat --cm    (there; the earlier connection ends within some seconds: try again)',
    REFUSED: 'UROCE_LOG=warning,cm=debug    (in the environment of the program there; and look at what it logs itself)',
}
OTHER_REASON = 'UROCE_LOG=warning,cm=debug    (in the environment of the programs here and there)'


@dataclasses.dataclass
class Step:
    """A step of uroce-connect. The outcome is 0, a negative errno, or a reason of the peer."""
    name: str
    outcome: int
    text: str


def steps_of(output):
    """The steps in the output of uroce-connect."""
    found = []
    for line in output.splitlines():
        words = line.split('\t', 2)
        if len(words) == 3 and words[1].lstrip('-').isdigit():
            found.append(Step(words[0], int(words[1]), words[2]))
    return found


def device_of(target):
    """The device for uroce-connect, and its EAL options. An interface gets a port of AF_PACKET."""
    keys = ''.join(f',{key}={value}' for key, value in target.keys.items())
    if target.interface and target.name == target.interface:
        vdev = f'--vdev=net_af_packet_doctor,iface={target.interface},qdisc_bypass=1,{AF_PACKET_RING}'
        return f'net_af_packet_doctor{keys}', ['--no-pci', vdev, *target.eal]
    if target.nic and target.nic == target.name.lower():
        return f'{target.name}{keys}', [*target.device().allow, *target.eal]
    return (target.spec if target.is_udp else f'{target.name}{keys}'), target.eal or ['--no-pci']


def endpoint(target):
    address, port = target.connect
    return f'[{address}]:{port}' if ':' in address else f'{address}:{port}'


def answer_s(target):
    return target.timeout or ANSWER_S


def on_link(target):
    return target.interface or target.name


# ---------------------------------------------------------------------------------------------- the steps

def of_address(target, step):
    """The device, the source address and the neighbour."""
    address = target.connect[0]
    if step.outcome == 0:
        yield Finding(OK, 'source', f'{step.text}: the way to {address}, and its neighbour answers')
    elif step.outcome == -errno.ETIMEDOUT:
        yield Finding(FAULT, 'neighbour', f'no host on the link of {on_link(target)} replies for {address}, or for the gateway to '
                      'it: wrong address, wrong network or VLAN, or the host is down', f'ip neigh show; ping {address}')
    elif step.outcome == -errno.ENETUNREACH:
        yield Finding(FAULT, 'route', f'no route to {address} by {on_link(target)}: it is in no network of the device, and there is '
                      'no gateway', f'ip route get {address}    (of other ports: PORT,addr=...,gw=...)')
    elif step.outcome == -errno.EHOSTUNREACH:
        yield Finding(FAULT, 'route', f'the kernel refuses to send to {address}', f'ip route get {address}')
    elif step.outcome == -errno.ECONNREFUSED:
        yield Finding(FAULT, 'uroced', 'this uroced serves no connection management: it was started with --no-cm, or with '
                      'cm = no', 'uroced ... PORT    (without --no-cm and cm = no)')
    elif step.outcome in (-errno.EADDRNOTAVAIL, -errno.ENODEV):
        yield Finding(FAULT, 'source', f'{on_link(target)} has no address of the family of {address}',
                      f'ip addr add ... dev {on_link(target)}    (of other ports: PORT,addr=...)')
    else:
        yield Finding(FAULT, 'source', f'the address was not resolved: {step.text}', 'UROCE_LOG=debug    (and again)')


def of_route(_, step):
    if step.outcome == 0:
        yield Finding(OK, 'route', step.text)
    else:
        yield Finding(FAULT, 'route', f'the route was not resolved: {step.text}', 'UROCE_LOG=debug    (and again)')


# No answer to a connection request: what the answer to another request on UDP port 4791 says about it.
SILENCES = {
    roce.ANSWERED: ('its RoCE device is there, but nobody serves connection management: no program there has used rdma_cm yet, '
                    'uroced there was started with --no-cm, or the kernel there has no module rdma_ucm',
                    'uroced ... PORT    (there, without --no-cm and cm = no; of the kernel there: modprobe rdma_ucm); ' + LISTENERS),
    roce.CLOSED: ('UDP port 4791 passes, and there is no RoCE device now: no program of uroce, no uroced and no kernel device',
                  'systemctl status uroced; rdma link    (there)'),
    roce.CM_ANSWERED: ('its connection manager answers other requests: it is slow, or the network loses packets', LISTENERS),
    roce.PROHIBITED: ('a firewall on the path, here or there refuses UDP port 4791',
                      'nft list ruleset    (then: nft insert rule inet filter input udp dport 4791 accept)'),
    roce.SILENT: ('nothing answers on UDP port 4791: a firewall drops it, the program of the RoCE device there does not run, or the '
                  'kernel there has its module rdma_rxe and no device of it',
                  'nft list ruleset; tcpdump udp port 4791    (there and on the path); rdma link    (there)'),
    roce.REFUSED_HERE: ('a rule of this host refuses to send to UDP port 4791', 'nft list ruleset; ip rule    (here)'),
    sockets.UNREACHABLE: ('the host, or a router on the path, says that it cannot be reached', 'ip route get ADDRESS; ip neigh show'),
    sockets.NO_ROUTE: ('this host has no route to it', 'ip route get ADDRESS'),
    None: ('a firewall drops UDP port 4791, no RoCE device is there, or nobody there serves connection management',
           'nft list ruleset; tcpdump udp port 4791    (there and on the path)'),
}


def of_silence(target):
    """Nobody has answered the connection request."""
    can_ask = target.interface or target.is_udp
    outcome = ask_device(dataclasses.replace(target, peer=target.connect[0])) if can_ask else None
    why, remedy = SILENCES.get(outcome, SILENCES[None])
    yield Finding(FAULT, 'connection', f'{endpoint(target)} does not answer connection requests for {answer_s(target)} s: {why}', remedy)


def of_connection(target, step):
    peer = endpoint(target)
    if step.outcome == 0:
        yield Finding(OK, 'connection', f'connected to {peer}, and disconnected again')
    elif step.outcome == -errno.ETIMEDOUT:
        try:
            yield from of_silence(target)
        except OSError as error:
            yield Finding(FAULT, 'connection', f'{peer} does not answer connection requests, and no other request can be sent: '
                          f'{error.strerror}', 'sudo ...')
    elif step.outcome > 0:
        yield Finding(FAULT, 'connection', f'{peer} answers with REJ, reason {step.outcome}: {step.text}',
                      REMEDIES.get(step.outcome, OTHER_REASON))
    else:
        yield Finding(FAULT, 'connection', f'no connection to {peer}: {step.text}', OTHER_REASON)


def of_datagram(target, step):
    """The resolution of a datagram service, which is tried if nobody listens for connections."""
    if step.outcome == 0:
        yield Finding(NOTE, 'datagrams', f'a service at {endpoint(target)} takes datagrams only, and no connections',
                      'RDMA_PS_UDP    (in rdma_create_id() of the program here; or RDMA_PS_TCP there)')


MEANINGS = {'address': of_address, 'route': of_route, 'connection': of_connection, 'datagram': of_datagram}


def explain(target, steps):
    """The findings for the steps of uroce-connect."""
    for step in steps:
        yield from MEANINGS[step.name](target, step)


def complaint(done):
    """Why there are no steps, from the standard error of uroce-connect."""
    lines = [line for line in done.stderr.splitlines() if line.startswith(('roce: ', 'uroce-connect: '))]
    return lines[0].split(': ', 1)[1] if lines else f'uroce-connect: status {done.returncode}'


def connection(target):
    """Connect to a listener, step by step."""
    if not target.connect:
        return
    if not os.path.exists(PROGRAM) and not shutil.which(PROGRAM):
        yield Finding(FAULT, 'connection', f'cannot be tried: {PROGRAM} is not there', 'ninja -C build')
        return
    spec, eal = device_of(target)
    try:
        done = subprocess.run([PROGRAM, *eal, '--', f'--uroce={spec}', f'--timeout={answer_s(target)}', endpoint(target)],
                              capture_output=True, text=True, check=False, timeout=START_S + NB_STEPS * answer_s(target))
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding(FAULT, 'connection', f'cannot be tried: {error}', 'uroce-connect --help')
        return
    steps = [step for step in steps_of(done.stdout) if step.name in MEANINGS]
    if not steps:
        yield Finding(FAULT, 'device', f'no device for the connection: {complaint(done)}', f'uroce-devinfo ... --uroce={spec}')
    yield from explain(target, steps)
