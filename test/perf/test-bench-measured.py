#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether devtools/check-measured sees which changes of lib are more than comments, in a repository of its own.

    test-bench-measured.py CHECK
"""

import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
CHECK = os.path.abspath(sys.argv[1])
C = 'int f(int a, int b)\n{\n\treturn a - -b; /* why */\n}\n'

failed = 0


def expect(what, is_right):
    global failed
    print(f"{'ok' if is_right else 'FAIL'}    {what}")
    failed += not is_right


def load():
    loader = importlib.machinery.SourceFileLoader('check_measured', CHECK)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def check_tokens():
    tokens = load().tokens

    def is_same(path, old, new):
        return tokens(path, old) == tokens(path, new)
    for what, path, old, new in (
            ('a comment', 'a.c', C, C.replace('why', "don't \" // ask")),
            ('a comment of one line', 'a.c', 'x; // a\ny;', 'x;\ny;'),
            ('a new file of comments', 'a.h', '', '/* SPDX */\n\n// x\n'),
            ('a comment between two words', 'a.c', 'int/**/x', 'int x'),
            ('the distance of operators', 'a.c', 'a=b+c;', 'a = b\n\t+ c;'),
            ('a directive in two lines', 'a.h', '#define X(a) \\\n\tf(a)', '#define X(a)   f(a) /* x */'),
            ('a comment of meson', 'meson.build', "x = 'a' # b\n", "x  =  'a'\n"),
            ('a comment of Python', 'a.py', 'if x:  # y\n    z\n', 'if x:\n\n    z\n')):
        expect(f'{what} is no change', is_same(path, old, new))
    for what, path, old, new in (
            ('an operator', 'a.c', 'a - -b', 'a--b'),
            ('two words in one', 'a.c', 'int x', 'intx'),
            ('a text with the mark of a comment', 'a.c', 'f("/* a */")', 'f("/* b */")'),
            ('the white space of a text', 'a.c', 'f("a b")', 'f("a  b")'),
            ('a character behind a quoted one', 'a.c', "f('\\'', '/')", "f('\\'', '+')"),
            ('the white space of a macro', 'a.h', '#define X (a)', '#define X(a)'),
            ('code behind a comment', 'a.c', '/* a */ b', '/* a */ c'),
            ('the end of a directive', 'a.h', '#define A\nb', '#define A b'),
            ('a text with # in meson', 'meson.build', "x = '#a'", "x = '#b'"),
            ('the indentation of Python', 'a.py', 'if x:\n    y\n    z\n', 'if x:\n    y\nz\n')):
        expect(f'{what} is a change', not is_same(path, old, new))


class Tree:
    """A repository with one file of lib."""

    def __init__(self, folder):
        self.folder = folder
        self.git('init', '-q')
        self.begin = self.commit(**{'lib/a.c': C, 'README.md': 'x\n'})

    def git(self, *words):
        identity = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgsign=false', '-c', 'core.hooksPath=']
        return subprocess.run(['git', '-C', self.folder, *identity, *words], check=True, capture_output=True,
                              text=True).stdout.strip()

    def commit(self, **files):
        for path, text in files.items():
            full = os.path.join(self.folder, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, 'w', encoding='utf-8') as file:
                file.write(text)
        self.git('add', '-A')
        self.git('commit', '-q', '--allow-empty', '-m', 'x')
        return self.git('rev-parse', 'HEAD')

    def results(self, commit, page=None, readme=None, dirty=''):
        def named(what):
            return f'Machine `vm`: a CPU. DPDK 22. uroce {what[:12]}, then to now.\n'
        return self.commit(**{'doc/perf/bench.json': json.dumps({'versions': {'uroce': commit + dirty}}),
                              'doc/perf/README.md': named(page or commit), 'README.md': named(readme or commit)})

    def check(self, *words):
        """@return the exit status and the output"""
        done = subprocess.run([CHECK, '--top', self.folder, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def check_trees(tree):
    tree.results(tree.begin)
    code, said = tree.check()
    expect('the measured library: status 0, and both commits are named',
           code == 0 and tree.begin[:12] in said and 'same code' in said)
    tree.commit(**{'lib/a.c': C.replace('why', 'another reason'), 'app.c': 'int x;'})
    expect('comments, and files elsewhere, may change', tree.check()[0] == 0)
    tree.commit(**{'lib/a.c': C.replace('- -', '+ -'), 'lib/b.c': '/* nothing */\n'})
    code, said = tree.check('--list')
    expect('changed code: status 1, with the files', code == 1 and '1 file of lib differs' in said and
           'lib/a.c' in said and 'lib/b.c' not in said)
    expect('without --list one line', tree.check()[1].count('\n') == 1)
    expect('another commit can be compared', tree.check(tree.begin)[0] == 0)
    code, said = tree.check('0' * 40)
    expect('a commit that is not there: status 77', code == 77 and 'is not in this repository' in said)
    code, said = tree.check('--nosuch')
    expect('a wrong option: status 2', code == 2)


def check_results(tree):
    changed = tree.commit(**{'lib/a.c': C.replace('f(', 'g(')})
    tree.results(changed)
    expect('new measurements: status 0', tree.check()[0] == 0)
    tree.results(changed, readme=tree.begin)
    code, said = tree.check()
    expect('README names another commit: status 1', code == 1 and f'README.md names {tree.begin[:12]}' in said)
    tree.results(changed, page=tree.begin)
    expect('so does the page', tree.check()[0] == 1)
    tree.results(changed, dirty='-dirty')
    code, said = tree.check()
    expect('a tree with changes was measured: status 1', code == 1 and 'had changes' in said)
    tree.commit(**{'doc/perf/bench.json': '{}'})
    code, said = tree.check()
    expect('results without a commit: status 1, in one line', code == 1 and said.count('\n') == 1 and 'bench.json' in said)
    tree.results('f' * 40)
    expect('the measured commit is not there: status 77', tree.check()[0] == 77)


def main():
    check_tokens()
    if not shutil.which('git'):
        print('skipped: no git')
        return failed > 0 or 77
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder)
        check_trees(tree)
        check_results(tree)
    return failed > 0


sys.exit(main())
