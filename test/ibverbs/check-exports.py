#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that the library exports what the distribution's libibverbs exports, version by version. It must not depend on
libibverbs.

Usage: check-exports.py OURS.so THEIRS.so SYMBOLS ENGINE.so

Additional symbols must have a version that the distribution's library does not define, or be newer than that library,
according to the list of symbols. The engine contains DPDK: it must need no shared library of DPDK, because the program
would have to load that library.
"""
import os
import re
import subprocess
import sys


def exports(path):
    """(symbol, version, is_default) of each symbol that a library defines, without its version nodes."""
    text = subprocess.run(['objdump', '-T', path], capture_output=True, text=True, check=True).stdout
    found = set()
    for line in text.splitlines():
        part = re.match(r'[0-9a-f]+ g\s+D\S+\s+(\S+)\s+[0-9a-f]+\s+(\(?)([\w.]+)\)?\s+(\S+)$', line)
        if part and part[1] != '*UND*' and part[4] != part[3]:
            found.add((part[4], part[3], not part[2]))
    return found


def younger(path):
    """Symbols that a later release added to an existing version."""
    with open(path) as file:
        return set(re.findall(r'^(\w+).*# since rdma-core \d+$', file.read(), re.MULTILINE))


def needed(path):
    text = subprocess.run(['readelf', '-d', path], capture_output=True, text=True, check=True).stdout
    return re.findall(r'\(NEEDED\).*\[(.*)\]', text)


def main():
    ours, theirs = exports(sys.argv[1]), exports(sys.argv[2])
    known = {version for _, version, _ in theirs}
    added = younger(sys.argv[3])
    faults = ['%s@%s is missing' % (name, version) for name, version, _ in sorted(theirs - ours)]
    faults += ['%s@%s is not theirs' % (name, version)
               for name, version, _ in sorted(ours - theirs) if version in known and name not in added]
    for path in sys.argv[1], sys.argv[4]:
        faults += ['%s: NEEDED %s' % (os.path.basename(path), name) for name in needed(path)
                   if re.search('ibverbs|mlx|rte_', name)]
    if not theirs:
        faults.append('%s exports nothing' % sys.argv[2])
    print('\n'.join(faults) if faults else
          '%d symbols of %d versions are the same, %d are newer' %
          (len(theirs), len(known), len(ours - theirs)))
    sys.exit(bool(faults))


main()
