# SPDX-License-Identifier: BSD-3-Clause
"""The checks of uroce-doctor of a configuration file: `uroce-run --config FILE`, or the file that UROCE_CONFIG names. The
file is read as the library reads it (rte_cfgfile): `;` begins a comment, and a line without `=` is ignored.
"""

import difflib
import os
import re
import socket

import uroce_doctor
from uroce_target import FAULT, NOTE, OK, PORTS_WITH_ADDRESS, UDP, Finding, target_of

DEVICES_MAX = 16
LINE_MAX = 320
# The key of a section that the library reads.
KEYS = {'eal': 'options', 'device': 'spec'}
ALLOWED = '[eal] with options=..., [device...] with spec=PORT[,key=value...]'


def kind_of(section):
    """The kind of a section; None: there is no such kind."""
    return 'eal' if section == 'eal' else 'device' if section.startswith('device') else None


class File:
    """A configuration file: the sections in their order, and the findings about its lines."""

    def __init__(self, path):
        self.path = path
        self.sections = []    # (name, {key: value}, number of the line)
        self.findings = []
        try:
            with open(path, encoding='utf-8', errors='surrogateescape') as file:
                lines = file.read().splitlines()
        except OSError as error:
            self.fault(f'{path} cannot be read: {error.strerror}', f'ls -l {path}')
            return
        for number, line in enumerate(lines, 1):
            self.take(number, line)
        if not self.sections and not self.findings:
            self.fault(f'{path} has no section: allowed are {ALLOWED}', '[device]')

    def fault(self, text, remedy):
        self.findings.append(Finding(FAULT, 'file', text, remedy))

    def note(self, text, remedy):
        self.findings.append(Finding(NOTE, 'file', text, remedy))

    def take(self, number, line):
        where = f'{self.path}:{number}'
        if '\0' in line:
            self.fault(f'{where}: the line has a byte 0, so this is no text', 'uroce-doctor --config FILE    (another file)')
            return
        text = line.partition(';')[0].strip()
        if not text:
            return
        if len(line) > LINE_MAX:
            self.fault(f'{where}: a line of {len(line)} characters: allowed are {LINE_MAX}', 'options=...    (fewer; or UROCE_EAL)')
        elif text.startswith('['):
            self.take_section(where, text)
        elif '=' not in text:
            self.note(f'{where}: {text} has no "=", and is ignored', f'; {text}    (if it is a comment)')
        else:
            self.take_entry(where, *(part.strip() for part in text.split('=', 1)))

    def take_section(self, where, text):
        name, bracket, _ = text[1:].partition(']')
        name = name.strip()
        if not bracket:
            self.fault(f'{where}: {text} has no "]"', f'[{name}]')
        elif not kind_of(name):
            near = difflib.get_close_matches(name, list(KEYS), 1)
            self.fault(f'{where}: unknown section [{name}]: allowed are {ALLOWED}', f'[{near[0] if near else "device"}]')
        elif name in (section for section, _, _ in self.sections):
            self.fault(f'{where}: section [{name}] is there twice, and the second is ignored',
                       f'[{name}{len(self.sections)}]' if name != 'eal' else 'options=...    (all in one section)')
        self.sections.append((name, {}, where))

    def take_entry(self, where, key, value):
        if not self.sections:
            self.fault(f'{where}: {key} is in no section', '[device]    (before it)')
            return
        section, entries, _ = self.sections[-1]
        wanted = KEYS.get(kind_of(section))
        if not value:
            self.fault(f'{where}: {key} has no value', f'{key}=VALUE')
        elif wanted and key in entries:
            self.note(f'{where}: {key} is there twice in [{section}], and the second is ignored',
                      f'; {key} = {value}')
        elif wanted and key != wanted:
            self.note(f'{where}: unknown key {key} in [{section}], which is ignored: allowed is {wanted}',
                      self.proposal(section, key, value, wanted))
        entries.setdefault(key, value)

    def proposal(self, section, key, value, wanted):
        """What was probably meant by an unknown key."""
        if kind_of(section) == 'device' and key in uroce_doctor.KEYS:
            return f'spec=PORT,{key}={value}'
        return f'{wanted}={value}'

    def values(self, kind):
        """The words of all sections of a kind. A section without its key is a fault."""
        for section, entries, where in self.sections:
            if kind_of(section) != kind:
                continue
            if KEYS[kind] in entries:
                yield from entries[KEYS[kind]].split()
            else:
                self.fault(f'{where}: section [{section}] has no {KEYS[kind]}', f'{KEYS[kind]}=...')


def vdevs(eal):
    """The names of the virtual ports that EAL's options make."""
    joined = ' '.join(eal)
    return [name.split(',')[0] for name in re.findall(r'--vdev[= ]([^ ]+)', joined)]


def port(target):
    """Check that EAL's options make the port, unless the port needs none."""
    made = vdevs(target.eal)
    if target.nic or target.name in made or target.name in ('uroced', UDP):
        return
    interfaces = [name for _, name in socket.if_nameindex()]
    if target.name in interfaces:
        yield Finding(FAULT, 'port', f'{target.name} is an interface of the kernel, and no option of EAL makes a port of it',
                      f'options=--vdev=net_af_packet0,iface={target.name}    (in [eal]; and spec=net_af_packet0 in [device])')
    elif target.name in PORTS_WITH_ADDRESS:
        yield Finding(FAULT, 'port', f'{target.name} is a name of uroce-run --dev alone',
                      'options=--vdev=net_null0    (in [eal]; and spec=net_null0,addr=192.0.2.1/24 in [device])')
    else:
        yield Finding(FAULT, 'port', f'there is no port {target.name or "without a name"}: the options of EAL make '
                      f'{", ".join(made) or "none"}, and the interfaces are {", ".join(sorted(interfaces))}',
                      f'options=--vdev={target.name or "PORT"},...    (in [eal])')


def precedence():
    """The variables of the environment that the library takes instead of the file."""
    for name, what in ('UROCE', 'devices'), ('UROCE_EAL', 'options of EAL'):
        if os.environ.get(name):
            yield Finding(NOTE, 'environment', f'{name} is set, and goes before the {what} of the file', f'unset {name}')


def examine_port(target):
    """The findings of one device of the file."""
    found = list(port(target))
    yield from found
    if found:    # the checks of the command line take any other name for an interface
        yield from uroce_doctor.keys(target)
    else:
        yield from uroce_doctor.examine(target)


def examine_file(path):
    """The findings of the file and of its devices. What is the same of several devices is there once."""
    file = File(path)
    eal, specs = list(file.values('eal')), list(file.values('device'))
    if not specs and not any(finding.level == FAULT for finding in file.findings):
        file.fault(f'{path} names no device: allowed are {ALLOWED}', 'spec=PORT,...    (in [device])')
    if len(specs) > DEVICES_MAX:
        file.fault(f'{path} names {len(specs)} devices: allowed are {DEVICES_MAX}', 'spec=...    (fewer of them)')
    yield from precedence()
    yield from file.findings or [Finding(OK, 'file', f'{path}: {len(specs)} device{"" if len(specs) == 1 else "s"}')]
    seen = set()
    for spec in specs[:DEVICES_MAX]:
        yield Finding(OK, 'device', spec)
        for finding in examine_port(target_of(spec, eal)):
            if (finding.check, finding.text) not in seen:
                seen.add((finding.check, finding.text))
                yield finding
