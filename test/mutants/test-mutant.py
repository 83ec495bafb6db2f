#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests whether the code of a mutant is found, whatever its layout, and refused if it does not exist.

    test-mutant.py ROOT

The test uses sources of its own. It also applies the mutants of the tree at ROOT: each must be found.
"""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutant  # noqa: E402

SOURCE = '''
#include "wire/psn.h"
#define NEXT(psn) ((psn) + 1) /* a macro, \\
				  of two lines */
struct window {
	int first; /* int last; */
	int nb;
};

static int take_one(struct window *window);

static const int limits[] = {
	[0] = 1,
	[1] = 2,
};

static int
take_one(struct window *window)
{
	/* if (window->nb == 0) return 0; */
	if (window->nb == 0 || // the end
	    window->first < limits[0])
		return 0;
	window->nb--;
#ifdef TRACE
	puts("if (window->nb == 0)");
#endif
	return NEXT(window->first++);
}

struct window *
take_all(struct window *window)
{
	while (take_one(window))
		;
	window->nb--;
	window->nb--;
	return window;
}
'''


def replaced(name, old, new, source=SOURCE):
    return mutant.replace(source, [mutant.Replacement('a.c', name, old, new)])


class Finder(unittest.TestCase):
    def assert_broken(self, pattern, *arguments):
        with self.assertRaisesRegex(mutant.Broken, pattern):
            replaced(*arguments)

    def test_layout_and_comments_do_not_matter(self):
        made = replaced('take_one', 'if(window -> nb==0||window->first<limits [ 0 ]) return 0;', '')
        self.assertEqual(made, SOURCE.replace('''if (window->nb == 0 || // the end
	    window->first < limits[0])
		return 0;''', ''))

    def test_other_code_stays_as_it_is(self):
        self.assertEqual(replaced('limits', '[1] = 2', '[1] = 3'),
                         SOURCE.replace('[1] = 2', '[1] = 3'))

    def test_comment_and_string_are_no_code(self):
        self.assert_broken('^window has this not', 'window', 'int last;', '')
        self.assert_broken('^take_one has this not', 'take_one', 'if (window->nb == 0)', '')

    def test_part_of_a_token_is_not_found(self):
        self.assert_broken('not', 'take_one', 'nb-', '')
        self.assert_broken('not', 'take_one', 'indow->nb--', '')
        self.assert_broken('not', 'take_one', 'first+', '')

    def test_other_definitions_are_not_searched(self):
        self.assertEqual(replaced('take_one', 'window->nb--;', ''),
                         SOURCE.replace('window->nb--;', '', 1))
        self.assert_broken('not', 'take_all', 'limits[0]', '')

    def test_found_twice_is_broken(self):
        self.assert_broken('^take_all has this 2 times', 'take_all', 'window->nb--;', '')

    def test_name_without_definition_is_broken(self):
        self.assert_broken('^take_none is not defined', 'take_none', 'window->nb--;', '')
        self.assert_broken('^puts is not defined', 'puts', 'window->nb--;', '')

    def test_macro_type_and_table_are_definitions(self):
        self.assertIn('((psn) + 2)', replaced('NEXT', '((psn) + 1)', '((psn) + 2)'))
        self.assertIn('long nb;', replaced('window', 'int nb;', 'long nb;'))
        self.assertEqual([name for name, _ in mutant.definitions(SOURCE) if name],
                         ['NEXT', 'window', 'limits', 'take_one', 'take_all'])

    def test_code_is_not_found_across_a_directive(self):
        self.assert_broken('not', 'take_one', 'window->nb--; puts', '')

    def test_definitions_of_both_branches_are_searched(self):
        both = '#ifdef A\nint f(void)\n{\n\treturn 1;\n}\n#else\nint f(void)\n{\n\treturn 2;\n}\n#endif\n'
        self.assertIn('return 3', replaced('f', 'return 2', 'return 3', both))
        self.assert_broken('2 times', 'f', 'return', 'return -', both)

    def test_function_of_a_model_is_found(self):
        model = 'inline ring(qp)\n{\n\tif\n\t:: is_rung[qp] -> skip\n\t:: else\n\tfi\n}\nbyte nb = 1;\n'
        self.assertIn(':: true -> skip', replaced('ring', ':: is_rung[qp] ->', ':: true ->', model))

    def test_replacements_find_the_code_as_it_was(self):
        swapped = mutant.replace(SOURCE, [mutant.Replacement('a.c', 'limits', '[0]', '[1]'),
                                          mutant.Replacement('a.c', 'limits', '[1]', '[0]')])
        self.assertEqual(swapped, SOURCE.replace('[0] = 1', '[9] = 1').replace('[1] = 2', '[0] = 2')
                         .replace('[9]', '[1]'))

    def test_overlapping_replacements_are_broken(self):
        with self.assertRaisesRegex(mutant.Broken, 'overlap'):
            mutant.replace(SOURCE, [mutant.Replacement('a.c', 'limits', '[0] = 1', ''),
                                    mutant.Replacement('a.c', 'limits', '1, [1]', '')])


class Format(unittest.TestCase):
    def test_all_parts_are_read(self):
        read = mutant.parse('What it is.\nDoes not end: why\n\na/b.c: f\n- x(1,\n-   2);\n+ y();\n'
                            '- z();\n\n- u();\n\nc.h: g\n- v\n+ w\n')
        self.assertEqual(read.what, 'What it is.')
        self.assertEqual(read.properties, {'Does not end': 'why'})
        self.assertEqual(read.replacements, [('a/b.c', 'f', 'x(1, 2);', 'y();'),
                                             ('a/b.c', 'f', 'z();', ''),
                                             ('a/b.c', 'f', 'u();', ''), ('c.h', 'g', 'v', 'w')])

    def test_code_that_begins_with_a_sign_is_read(self):
        read = mutant.parse('What.\n\na.c: f\n- --x\n+ ++x\n')
        self.assertEqual(read.replacements, [('a.c', 'f', '--x', '++x')])

    def test_what_is_not_understood_is_broken(self):
        for text in ('', 'What.\n', 'What.\n\na.c: f\n', '\n\na.c: f\n- x\n', 'What.\n\n- x\n',
                     'What.\n\na.c: f\n+ x\n', 'What.\n\na.c: f\n- x\n\n+ y\n',
                     'What.\n\na.c: f\nx\n', 'What.\nsecond line\n\na.c: f\n- x\n',
                     'What.\n\na.c: f\n- /* nothing */\n'):
            with self.subTest(text), self.assertRaises(mutant.Broken):
                mutant.parse(text)


class Tree(unittest.TestCase):
    def test_every_mutant_is_found(self):
        for folder in ('test/mutants', 'test/models/mutants'):
            folder = os.path.join(ROOT, folder)
            names = mutant.names_in(folder)
            self.assertTrue(names)
            for name in names:
                with self.subTest(name):
                    self.assertTrue(mutant.apply(mutant.load(folder, name), ROOT))


ROOT = sys.argv.pop(1)
unittest.main()
