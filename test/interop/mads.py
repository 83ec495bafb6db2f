# SPDX-License-Identifier: BSD-3-Clause
"""Reads the messages of connection management from badwire's captures. check-capture parses them, with the codec of
lib/cm, and builds them again.
"""

import os
import re
import struct
import subprocess

from uroce_ports import TOP, LabError

CHECK_CAPTURE = os.path.join(TOP, 'build', 'test', 'check-capture')
GLOBAL_HEADER_LEN, RECORD_LEN = 24, 16
LINE = re.compile(r'frame (\d+): (\S+) > (\S+): (\w+)(.*)')
FIELD = re.compile(r' ([a-z_.]+) (0x[0-9a-f]+|\d+)(?=[ ,:]|$)')


class Mad:
    """One message, as its sender sent it. `fate` is the verdict of badwire: pass, drop, duplicate or delay."""

    def __init__(self, number, seconds, sender, name, text, fate):
        self.number = number      # number of the frame in the capture, from 1
        self.seconds = seconds    # time since the first frame of the capture
        self.sender = sender      # IP address
        self.name = name          # REQ, REP ...
        self.text = text          # all fields that are not zero
        self.fate = fate
        self.fields = {key: int(value, 0) for key, value in FIELD.findall(text)}

    def __str__(self):
        return f'{self.seconds:9.3f} {self.sender} {self.name}{self.text} [{self.fate}]'


def read(path):
    """The messages of a capture that has ended. @return them, and the faults that check-capture finds"""
    if not os.path.exists(CHECK_CAPTURE):
        raise LabError(f'{CHECK_CAPTURE} was not built: it needs libpcap-dev')
    done = subprocess.run([CHECK_CAPTURE, '--cm', path], capture_output=True, text=True, check=False)
    fates, times = fates_of(path), times_of(path)
    found, faults = [], []
    for line in done.stdout.splitlines():
        said = LINE.match(line.removeprefix(f'{path}: '))
        if not said:
            continue
        number, sender, _, name, rest = said.groups()
        found.append(Mad(int(number), times[int(number)], sender, name, rest, fates.get(int(number), '?')))
        if not line.endswith((': ok', 'skipped')):
            faults.append(line.removeprefix(f'{path}: '))
    if done.returncode != 0 and not faults:
        faults.append(f'check-capture: {done.stderr.strip() or done.stdout.strip()}')
    return [mad for mad in found if not mad.text.endswith('skipped')], faults


def fates_of(path):
    with open(path + '.verdicts', encoding='ascii') as file:
        return {int(number): fate for number, _, fate in map(str.split, file)}


def times_of(path):
    """{number of a frame: seconds since the first one}"""
    times, first = {}, None
    with open(path, 'rb') as file:
        file.read(GLOBAL_HEADER_LEN)
        while len(record := file.read(RECORD_LEN)) == RECORD_LEN:
            seconds, micros, length, _ = struct.unpack('=IIII', record)
            first = seconds + micros / 1e6 if first is None else first
            times[len(times) + 1] = seconds + micros / 1e6 - first
            file.seek(length, os.SEEK_CUR)
    return times


def write(found, path):
    """Write a line for each message, to be read beside the capture."""
    with open(path, 'w', encoding='utf-8') as file:
        file.writelines(f'{mad}\n' for mad in found)


def changed(found):
    """The faults of messages that were repeated with another content. A repetition has the ids of its message."""
    seen, faults = {}, []
    for mad in found:
        key = mad.sender, mad.name, mad.fields.get('tid'), mad.fields.get('local_comm_id')
        if seen.setdefault(key, mad.text) != mad.text:
            faults.append(f'frame {mad.number}: {mad.sender} repeats its {mad.name} with another content')
    return faults
