# SPDX-License-Identifier: BSD-3-Clause
"""The code blocks of the documents, and the marker of each.

A block is fenced by ``` in Markdown, or stands between .nf and .fi in a man page. The line before it is its marker: an
HTML comment in Markdown, and a comment `.\\" MARKER` before .nf in a man page. A marker is one of these:

    run [OPTION]...       the block is a shell script, and run-blocks runs it as it stands
    compile [OPTION]...   the block is a part of a program in C, and run-blocks compiles it as C and as C++ (fragments.py)
    norun REASON          the block can be neither run nor compiled, for this reason

A block that is fenced as ```c has no marker `run`. The SYNOPSIS of a man page of section 3 needs no marker: it is
compiled.

Options of run, as words of a shell:

    shows TEXT            this text must appear in the output
    needs PROGRAM         the block is skipped if this program is not installed
    in FOLDER             the working directory, in the tree
    with WORD=TEXT        the placeholder WORD of the block means TEXT
    terminals             each line has a terminal of its own: a line starts when the line before it listens on TCP or on a UNIX
                          socket, and the last line must end with success
    endless               the block does not end: it passes when its texts have appeared
    before COMMAND        this command runs in the background, as long as the block, which starts when the command listens
                          as above
    beside COMMAND        this command runs in the background, as long as the block, which does not wait for it
    status N              the exit status must be N, not 0

Options of compile:

    given PARAMETERS      what the part of a program uses: parameters of a function in C, whose body the block is
    include HEADER        a header beside those of fragments.py

If lines of a block begin with `$ `, these lines are commands, and the others are the output of the commands.
"""

import dataclasses
import glob
import os
import re
import shlex

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGES = ('README.md', 'doc/guides/*.md', 'doc/man/*.[1-8]')
FLAGS = ('terminals', 'endless')
OPTIONS = {
    'run': ('shows', 'needs', 'in', 'with', 'before', 'beside', 'status') + FLAGS,
    'compile': ('given', 'include'),
}
MARKDOWN_MARKER = re.compile(r'<!-- ((?:run|compile|norun)\b.*) -->$')
ROFF_MARKER = re.compile(r'\.\\" ((?:run|compile|norun)\b.*)$')


class MarkerError(Exception):
    """A block has no marker, or a wrong one. The text begins with file and line."""


@dataclasses.dataclass
class Block:
    """A code block. `marker` is None if there is none."""
    page: str
    line: int        # of the first line of the block
    text: list       # lines
    marker: str = None
    language: str = ''           # as the fence names it
    is_synopsis: bool = False

    @property
    def name(self):
        return f'{self.page}:{self.line}'

    @property
    def kind(self):
        """run, compile or norun; None: there is no marker."""
        return self.marker.partition(' ')[0] if self.marker else None

    def refuse(self, text):
        raise MarkerError(f'{self.name}: {text}')

    def marked(self):
        """The options of the marker: a dictionary of lists, or a reason under `norun`."""
        if not self.marker:
            self.refuse('the block has no marker: `run`, `compile` or `norun REASON` (test/docs/blocks.py)')
        rest = self.marker.partition(' ')[2]
        if self.kind == 'norun':
            if not rest.strip():
                self.refuse('norun needs a reason')
            return {'norun': rest.strip()}
        if self.kind == 'run' and self.language == 'c':
            self.refuse('a block in C is not run: allowed are `compile` and `norun REASON`')
        options = self.parse_options(OPTIONS[self.kind], rest)
        if options.get('endless') and not options['shows']:
            self.refuse('endless needs a text to wait for: shows TEXT')
        return options

    def parse_options(self, allowed, rest):
        options = {name: [] for name in allowed}
        try:
            words = shlex.split(rest)
        except ValueError as error:
            self.refuse(error)
        while words:
            word = words.pop(0)
            if word in allowed and word in FLAGS:
                options[word].append(word)
            elif word in allowed and words:
                options[word].append(words.pop(0))
            else:
                self.refuse(f'{word}: allowed are {", ".join(allowed)}')
        return options

    def commands(self):
        """The lines that a reader types, with the placeholders replaced."""
        lines = self.text
        if any(line.startswith('$ ') for line in lines):
            lines = [line[2:] for line in lines if line.startswith('$ ')]
        text = '\n'.join(lines)
        for pair in self.marked()['with']:
            word, _, value = pair.partition('=')
            if not re.search(rf'(?<!\w){re.escape(word)}(?!\w)', text):
                raise MarkerError(f'{self.name}: the block has no placeholder {word}')
            text = re.sub(rf'(?<!\w){re.escape(word)}(?!\w)', lambda _, value=value: value, text)
        return text


def markdown_blocks(page, lines):
    block, marker = None, None
    for number, line in enumerate(lines, 1):
        if line.startswith('```'):
            if block:
                yield block
                block, marker = None, None
            else:
                block = Block(page, number + 1, [], marker, language=line.strip('` '))
        elif block:
            block.text.append(line)
        else:
            found = MARKDOWN_MARKER.match(line)
            marker = found[1] if found else None


def plain(line):
    """A line of a man page without requests and escapes: .BI joins its words, .B keeps the spaces between them."""
    line = line.replace('\\-', '-').replace('\\e', '\\')
    request, _, rest = line.partition(' ')
    if request in ('.B', '.BI'):
        return (' ' if request == '.B' else '').join(shlex.split(rest))
    return '' if request == '.PP' else line


def roff_blocks(page, lines):
    block, marker, section = None, None, ''
    for number, line in enumerate(lines, 1):
        if line.startswith('.SH '):
            section = line[4:].strip(' "')
        if line in ('.nf', '.EX'):
            is_synopsis = section == 'SYNOPSIS' and page.endswith('.3')
            block = Block(page, number + 1, [], marker or ('compile' if is_synopsis else None), is_synopsis=is_synopsis)
            marker = None
        elif line in ('.fi', '.EE') and block:
            yield block
            block = None
        elif block:
            block.text.append(plain(line))
        else:
            found = ROFF_MARKER.match(line)
            marker = found[1] if found else None


def blocks(pages=()):
    """The blocks of these pages; without pages: of all documents."""
    for page in pages or sorted(path for pattern in PAGES for path in glob.glob(pattern, root_dir=TOP)):
        with open(os.path.join(TOP, page), encoding='utf-8') as file:
            lines = file.read().splitlines()
        yield from (markdown_blocks if page.endswith('.md') else roff_blocks)(page, lines)
