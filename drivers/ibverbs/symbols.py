#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write the version script of the library, and the functions that always fail, from the list of symbols.

Usage: symbols.py SYMBOLS EXPORTS.MAP REFUSALS.C
"""
import re
import sys

HIDING = 'IBVERBS_1.18'
HEAD = '/* SPDX-License-Identifier: BSD-3-Clause */\n/* Made by symbols.py of symbols. */\n'
REFUSALS = '''
#include <errno.h>

long uroce_refuse_errno(void);
long uroce_refuse_null(void);

long
uroce_refuse_errno(void)
{
	errno = EOPNOTSUPP;
	return EOPNOTSUPP;
}

long
uroce_refuse_null(void)
{
	errno = EOPNOTSUPP;
	return 0;
}

'''


class Node:
    """A version node: its symbols, each with the kind of its failure, or None if it is implemented."""

    def __init__(self, name, is_older):
        self.name = name
        self.is_older = is_older
        self.symbols = {}
        self.copied = {}


def read(path):
    nodes = []
    for line in open(path):
        line = line.split('#')[0].strip()
        head = re.fullmatch(r'\[(\(?)([\w.]+)\)?\](?: like (\S+))?', line)
        if head:
            nodes.append(Node(head[2], bool(head[1])))
            for other in nodes[:-1]:
                if other.name == head[3]:
                    nodes[-1].copied = {name: kind for name, kind in
                                        {**other.copied, **other.symbols}.items()
                                        if not name.startswith('verbs_register_driver_')}
        elif line:
            name, _, kind = line.partition(' ')
            nodes[-1].symbols[name] = kind or None
    return nodes


def exports_map(nodes):
    """The version script: nodes in order, each depends on the previous one of its family. The node HIDING hides all
    other names.
    """
    text = HEAD
    before = {}
    for node in nodes:
        if node.is_older:
            continue
        family = 'PRIVATE' in node.name
        names = ''.join('\t%s;\n' % name for name in node.symbols)
        local = 'local:\n\t*;\n' if node.name == HIDING else ''
        text += '%s {\nglobal:\n%s%s}%s;\n\n' % (
            node.name, names, local, ' ' + before[family] if family in before else '')
        before[family] = node.name
    return text


def alias(nick, kind):
    return 'long %s(void) __attribute__((alias("uroce_refuse_%s")));\n' % (nick, kind)


def versioned(name, node, idx, kind, sign):
    """A failing function with an explicit version, because other versions of its name exist."""
    nick = 'uroce_%s_%d' % (name, idx)
    return alias(nick, kind) + '__asm__(".symver %s,%s%s%s");\n' % (nick, name, sign, node.name)


def refusals(nodes):
    text = HEAD + REFUSALS
    copied = {name for node in nodes for name in node.copied}
    for idx, node in enumerate(nodes):
        for name, kind in node.symbols.items():
            if kind and node.is_older:
                text += versioned(name, node, idx, kind, '@')
            elif kind and name in copied:
                text += versioned(name, node, idx, kind, '@@')
            elif kind:
                text += alias(name, kind)
        for name, kind in node.copied.items():
            if kind:
                text += versioned(name, node, idx, kind, '@')
    return text


def main():
    nodes = read(sys.argv[1])
    open(sys.argv[2], 'w').write(exports_map(nodes))
    open(sys.argv[3], 'w').write(refusals(nodes))


main()
