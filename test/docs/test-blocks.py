#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of the markers of code blocks, and of the translation units that blocks in C become."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import blocks as docs  # noqa: E402
import fragments  # noqa: E402

HEADER = '#ifdef __cplusplus\nextern "C"\n#endif\nint uroce_x(int first, char *second);\n'


def markdown(text):
    """The only block of a page in Markdown."""
    block, = docs.markdown_blocks('page.md', text.splitlines())
    return block


def manual(text):
    """The only block of a man page."""
    block, = docs.roff_blocks('page.3', text.splitlines())
    return block


def synopsis(*declaration):
    return manual('\n'.join(['.SH SYNOPSIS', '.nf', '.B #include <uroce_x.h>', '.PP', *declaration, '.fi']))


def failed_languages(block):
    """The languages in which a block does not compile, with HEADER as its header."""
    failed = []
    for language, command in fragments.LANGUAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            for name in ('uroce_x.h', 'uroce.h', 'uroce_dv.h'):
                with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                    file.write(HEADER if name == 'uroce_x.h' else '')
            run = subprocess.run([*command.split(), '-x', language, '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
                                  f'-I{folder}', '-'], input=fragments.source(block), text=True, capture_output=True,
                                 check=False)
            if run.returncode != 0:
                failed.append(language)
    return failed


class Markers(unittest.TestCase):
    def refused(self, block, text):
        with self.assertRaises(docs.MarkerError) as raised:
            block.marked()
        self.assertIn(text, str(raised.exception))

    def test_a_block_without_marker_is_refused(self):
        self.refused(markdown('```\nls\n```'), 'page.md:2: the block has no marker')
        self.refused(markdown('```c\nint a;\n```'), 'has no marker')

    def test_a_block_of_a_man_page_needs_a_marker_in_any_section(self):
        self.refused(manual('.SH DESCRIPTION\n.nf\nint a;\n.fi'), 'page.3:3: the block has no marker')

    def test_a_block_in_c_is_not_a_shell_script(self):
        self.refused(markdown('<!-- run -->\n```c\nint a;\n```'), 'is not run')

    def test_norun_needs_a_reason(self):
        self.refused(markdown('<!-- norun  -->\n```c\nint a;\n```'), 'needs a reason')
        self.assertEqual(markdown('<!-- norun a table -->\n```\na\n```').marked(), {'norun': 'a table'})

    def test_options_belong_to_one_kind_of_marker(self):
        self.refused(markdown('<!-- compile shows x -->\n```c\nint a;\n```'), 'allowed are given, include')
        self.refused(markdown('<!-- run given x -->\n```\nls\n```'), 'given: allowed are shows')

    def test_a_synopsis_is_compiled_without_marker(self):
        self.assertEqual(synopsis('.B int uroce_x(int first, char *second);').kind, 'compile')


class TranslationUnits(unittest.TestCase):
    def test_a_part_of_a_program_uses_what_the_marker_gives(self):
        text = '{}\n```c\nputs(name);\n```'
        self.assertEqual(failed_languages(markdown(text.format('<!-- compile given "const char *name" -->'))), [])
        self.assertEqual(failed_languages(markdown(text.format('<!-- compile -->'))), ['c', 'c++'])

    def test_a_part_of_a_program_is_also_cxx(self):
        block = markdown('<!-- compile given "char **to, void *from" -->\n```c\n*to = from;\n```')
        self.assertEqual(failed_languages(block), ['c++'])

    def test_a_header_is_included(self):
        text = '<!-- compile{} -->\n```c\n(void)uroce_x(0, NULL);\n```'
        self.assertEqual(failed_languages(markdown(text.format(' include uroce_x.h'))), [])
        self.assertEqual(failed_languages(markdown(text.format(''))), ['c', 'c++'])

    def test_a_synopsis_agrees_with_the_header(self):
        self.assertEqual(failed_languages(synopsis('.BI "int uroce_x(int " first ,', '.BI "            char *" second );')), [])
        self.assertIn('c', failed_languages(synopsis('.BI "int uroce_x(long " first ", char *" second );')))
        self.assertIn('c', failed_languages(synopsis('.BI "long uroce_x(int " first ", char *" second );')))

    def test_a_synopsis_declares_a_function(self):
        with self.assertRaises(docs.MarkerError):
            fragments.source(synopsis('.B struct uroce_x;'))


if __name__ == '__main__':
    unittest.main()
