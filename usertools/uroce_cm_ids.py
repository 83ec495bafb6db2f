# SPDX-License-Identifier: BSD-3-Clause
"""The table of the listeners and connections of a connection manager, for uroce-stat."""


def time_left(row):
    """Time until the timer of an id's state expires, if one runs."""
    if 'left_ms' not in row:
        return '-'
    return f'{row["left_ms"] / 1000:.1f}s'


def retries_of(row):
    """How often the last message was repeated; of a listener, the requests that wait at it."""
    if 'backlog' in row:
        return f'{row["waiting"]}/{row["backlog"]}'
    return str(row['retries'])


def number_of(row, name, digits):
    return f'0x{row[name]:0{digits}x}' if name in row else '-'


# The columns of the table of ids: title, and text of an id.
COLUMNS = (
    ('ID', lambda row, process: str(row['id'])),
    ('STATE', lambda row, process: row['state']),
    ('SIDE', lambda row, process: {'none': '-'}.get(row['side'], row['side'])),
    ('PS', lambda row, process: row['space']),
    ('LOCAL', lambda row, process: row.get('local', '-')),
    ('REMOTE', lambda row, process: row.get('remote', '-')),
    ('QPN', lambda row, process: number_of(row, 'qpn', 6)),
    ('DEST_QPN', lambda row, process: number_of(row, 'dest_qpn', 6)),
    ('COMM_ID', lambda row, process: number_of(row, 'comm_id', 8)),
    ('REMOTE_COMM_ID', lambda row, process: number_of(row, 'remote_comm_id', 8)),
    ('RETRIES', lambda row, process: retries_of(row)),
    ('LEFT', lambda row, process: time_left(row)),
    ('PID', lambda row, process: 'destroyed' if row['destroyed'] else str(row.get('pid', process.pid))),
    ('UID', lambda row, process: str(row.get('uid', '-'))),
)


def rows(ids, process):
    """The rows of a table: the titles, and the texts of each id."""
    return [[title for title, _ in COLUMNS], *([text(row, process) for _, text in COLUMNS] for row in ids)]
