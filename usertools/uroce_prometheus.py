# SPDX-License-Identifier: BSD-3-Clause
"""What uroce-stat shows, in Prometheus' text format."""

import uroce_clients


def escape(text):
    return text.replace('\\', '\\\\').replace('\n', '\\n')


def quote(label):
    return '"' + escape(str(label)).replace('"', '\\"') + '"'


# What the groups of counters of a connection manager count.
GROUPS = {
    'cm_tx_msgs': 'CM messages sent, repetitions included',
    'cm_tx_retries': 'CM messages repeated',
    'cm_rx_msgs': 'CM messages received, duplicates included',
    'cm_rx_duplicates': 'CM messages received again',
    'cm_drops': 'CM messages dropped or refused, by reason',
}


def series(processes, has_clients):
    """The samples of each metric: {name: [(labels, value)]}; and {name: (kind, help)}."""
    samples, heads = {}, {}

    def add(name, kind, text, labels, value):
        heads.setdefault(name, (kind, text))
        inner = ','.join(f'{key}={quote(label)}' for key, label in labels.items())
        samples.setdefault(name, []).append((inner, value))

    for process in processes:
        for device in process.devices:
            labels = {'process': process.name, 'pid': process.pid, 'program': process.program,
                      'device': device['name'], 'port': device['port']}
            add('uroce_link_up', 'gauge', 'whether the link of the port is up', labels, int(device['link'] == 'up'))
            add('uroce_qps', 'gauge', 'QPs that there are', labels, device['qps'])
            for name, value in device['counters'].items():
                add(f'uroce_{name}_total', 'counter', process.texts.get(name, name), labels, value)
            for name, value in device['verdicts'].items():
                add('uroce_verdicts_total', 'counter', 'what became of the frames received',
                    {**labels, 'verdict': name}, value)
            for qp in device['qp']:
                for name, value in qp['counters'].items():
                    add(f'uroce_qp_{name}_total', 'counter', process.texts.get(name, name),
                        {**labels, 'qpn': f'0x{qp["qpn"]:06x}'}, value)
        if process.uroced:
            labels = {'process': process.name, 'pid': process.pid, 'program': process.program}
            for sample in uroce_clients.samples_of(process.uroced, labels, has_clients):
                add(*sample)
        for manager in process.managers:
            labels = {'process': process.name, 'pid': process.pid, 'program': process.program,
                      'device': manager['device']}
            for group, counters in manager['counters'].items():
                for name, value in counters.items():
                    add(f'uroce_{group}_total', 'counter', GROUPS.get(group, group), {**labels, 'message': name}, value)
    return samples, heads


def lines_of(processes, has_clients):
    """The lines of the text format. `has_clients`: with the counters of uroced's clients."""
    samples, heads = series(processes, has_clients)
    for name, rows in samples.items():
        kind, text = heads[name]
        yield f'# HELP {name} {escape(text)}'
        yield f'# TYPE {name} {kind}'
        yield from (f'{name}{{{labels}}} {value}' for labels, value in rows)
