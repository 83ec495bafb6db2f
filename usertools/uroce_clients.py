# SPDX-License-Identifier: BSD-3-Clause
"""What uroce-stat shows of a uroced: its port, its users, and its clients."""

import os
import pwd

NAME = 'uroced'    # the name of a uroced in the place of a device
MANAGER_UID = 0xffffffff    # the UID of uroced's connection manager, which no process has
COUNT_OF_CLIENTS = 1 << 16    # no uroced has more clients
# Values of /uroced/host that are no counters.
STATES = ('port', 'is_up', 'clients')
LIMIT, DROP = 'limit_', 'drop_'
# Values that are counted for each client, and their columns in a table.
COUNTED = ('frames_up', 'bytes_up', 'frames_down', 'bytes_down')
IDS_SHOWN = 4    # the longest list of ids in a table


def program_of(pid):
    """The name of the program of a process; ? if it cannot be read."""
    try:
        with open(f'/proc/{pid}/cmdline', encoding='utf-8', errors='replace') as file:
            return os.path.basename(file.read().split('\0')[0]) or '?'
    except OSError:
        return '?'


def name_of(uid):
    """The name of a user; its number if it has no name."""
    if uid == MANAGER_UID:
        return 'connection-manager'
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


# --- queries
# -----------------------------------------------------------------------------------------


def slots_of(telemetry):
    """The numbers of the clients, which are in order. The list ends with an empty part."""
    slots, last = [], ''
    while len(slots) < COUNT_OF_CLIENTS:
        part = telemetry.ask(f'/uroced/clients{last}') or []
        if not part or slots and part[0] <= slots[-1]:
            return slots
        slots += part
        last = f',{part[-1]}'
    return slots


def dropped(told):
    return sum(value for name, value in told.items() if name.startswith(DROP))


def client_of(told):
    """A client, without the objects of its process. `lanes` is a name of telemetry."""
    return {'pid': told['pid'], 'program': 'uroced-cm' if told['uid'] == MANAGER_UID else program_of(told['pid']),
            'pairs': told['lanes'], 'area_bytes': told['area_bytes'], 'leases': told['leases'],
            **{name: told[name] for name in COUNTED}, 'drops': dropped(told)}


def user_of(telemetry, uid, clients):
    """The sums of a user. A user whose clients have all left has none."""
    sums = telemetry.ask(f'/uroced/user,{uid}') or {}
    return {'uid': uid, 'user': name_of(uid),
            **{name: sums.get(name, 0) for name in ('clients', 'pairs', 'area_bytes', 'leases')},
            **{name: sum(client[name] for client in clients) for name in (*COUNTED, 'drops')},
            'client': clients}


def read_uroced(telemetry):
    """The state of a process that is a uroced; None: it is none."""
    host = telemetry.ask('/uroced/host')
    if not host:
        return None
    clients = {}
    for slot in slots_of(telemetry):
        told = telemetry.ask(f'/uroced/client,{slot}')
        if told:    # a client that left meanwhile has no reply
            clients.setdefault(told['uid'], []).append(client_of(told))
    uids = set(clients) | {uid % (1 << 32) for uid in telemetry.ask('/uroced/users') or []}
    return {'port': host.get('port', '?'), 'link': 'up' if host['is_up'] else 'down', 'clients': host['clients'],
            'limits': {name[len(LIMIT):]: value for name, value in host.items() if name.startswith(LIMIT)},
            'counters': {name: value for name, value in host.items()
                         if name not in STATES and not name.startswith(LIMIT)},
            'users': [user_of(telemetry, uid, clients.get(uid, [])) for uid in sorted(uids)]}


def join(uroced, processes, ids):
    """Add to each client the numbers of QPs and MRs, which its own process reports, and the ids of
    its connections. A process that does not report has no numbers.
    """
    attached = {}
    for process in processes:
        if process.attached:
            attached[process.pid] = process.attached
    for user in uroced['users']:
        for client in user['client']:
            devices = attached.get(client['pid'])
            for name in ('qps', 'mrs'):
                client[name] = sum(device.get(name, 0) for device in devices) if devices else None
            client['cm_ids'] = [row['id'] for row in ids
                                if row.get('pid') == client['pid'] and row.get('uid') == user['uid']]


# --- output
# ------------------------------------------------------------------------------------------


def title(process, uroced):
    return (f'{process.name}/{NAME}: {process.program}, PID {process.pid}; {uroced["port"]}, link {uroced["link"]}, '
            f'clients: {uroced["clients"]}')


def of_limit(user, uroced, name):
    """A value and its limit, which the connection manager does not have."""
    value, limit = user[name], uroced['limits'].get(name)
    return str(value) if limit is None or user['uid'] == MANAGER_UID else f'{value}/{limit}'


def mib_of(user, uroced):
    mib = f'{user["area_bytes"] / (1 << 20):.0f}'
    limit = uroced['limits'].get('bytes')
    return mib if limit is None or user['uid'] == MANAGER_UID else f'{mib}/{limit >> 20}'


def shown(value):
    return '-' if value is None else f'{value:,}'


def ids_text(ids):
    more = [f'+{len(ids) - IDS_SHOWN}'] if len(ids) > IDS_SHOWN else []
    return ','.join([str(number) for number in ids[:IDS_SHOWN]] + more) or '-'


COUNTED_COLUMNS = tuple((name.upper(), lambda row, *_, name=name: shown(row[name])) for name in (*COUNTED, 'drops'))
# The columns of the table of users: title, and text.
USER_COLUMNS = (
    ('UID', lambda user, uroced: '-' if user['uid'] == MANAGER_UID else str(user['uid'])),
    ('USER', lambda user, uroced: user['user']),
    ('CLIENTS', lambda user, uroced: of_limit(user, uroced, 'clients')),
    ('PAIRS', lambda user, uroced: of_limit(user, uroced, 'pairs')),
    ('LEASES', lambda user, uroced: of_limit(user, uroced, 'leases')),
    ('MIB', mib_of),
    *COUNTED_COLUMNS,
)
# The columns of the table of clients, which follow the user.
CLIENT_COLUMNS = (
    ('PID', lambda client: str(client['pid'])),
    ('PROGRAM', lambda client: client['program']),
    ('QPS', lambda client: shown(client['qps'])),
    ('MRS', lambda client: shown(client['mrs'])),
    ('PAIRS', lambda client: str(client['pairs'])),
    ('LEASES', lambda client: str(client['leases'])),
    ('MIB', lambda client: f'{client["area_bytes"] / (1 << 20):.0f}'),
    *COUNTED_COLUMNS,
    ('CM_IDS', lambda client: ids_text(client['cm_ids'])),
)


def users_rows(uroced):
    """The table of users, as rows of texts: the titles first."""
    return [[name for name, _ in USER_COLUMNS],
            *([text(user, uroced) for _, text in USER_COLUMNS] for user in uroced['users'])]


def clients_rows(uroced):
    """The table of clients by user, as rows of texts: the titles first."""
    rows = [['UID', 'USER', *(name for name, _ in CLIENT_COLUMNS)]]
    for user in uroced['users']:
        whose = ['-' if user['uid'] == MANAGER_UID else str(user['uid']), user['user']]
        rows += [whose + [text(client) for _, text in CLIENT_COLUMNS] for client in user['client']]
    return rows


# Prometheus: the gauges of a user, and the counters of a client.
GAUGES = {'clients': 'connections of a user', 'pairs': 'pairs of rings of a user\'s clients',
          'leases': 'blocks of QP numbers that a user holds', 'area_bytes': 'mapped shared memory of a user\'s clients'}
HELP = {'frames_up': 'frames sent', 'bytes_up': 'bytes of frames sent', 'frames_down': 'frames received',
        'bytes_down': 'bytes of frames received', 'drops': 'frames dropped'}


def samples_of(uroced, labels, has_clients):
    """The samples for Prometheus: (name, kind, help, labels, value)."""
    labels = {**labels, 'port': uroced['port']}
    yield 'uroced_link_up', 'gauge', 'whether the link of the port is up', labels, int(uroced['link'] == 'up')
    yield 'uroced_clients', 'gauge', 'clients that are attached', labels, uroced['clients']
    for name, value in uroced['counters'].items():
        yield f'uroced_{name}_total', 'counter', HELP.get(name, f'{name} of the wire'), labels, value
    for user in uroced['users']:
        whose = {**labels, 'uid': user['uid'], 'user': user['user']}
        for name, text in GAUGES.items():
            yield f'uroced_user_{name}', 'gauge', text, whose, user[name]
        for client in user['client'] if has_clients else []:
            for name, text in HELP.items():
                yield (f'uroced_client_{name}_total', 'counter', f'{text} of a client',
                       {**whose, 'client_pid': client['pid']}, client[name])


def as_object(process, uroced, has_clients):
    users = uroced['users'] if has_clients else [{name: value for name, value in user.items() if name != 'client'}
                                                 for user in uroced['users']]
    return {'process': process.name, 'pid': process.pid, 'program': process.program, **uroced, 'users': users}
