# SPDX-License-Identifier: BSD-3-Clause
"""A mutant is a plausible bug, in the form of code that replaces other code. A file NAME.mutant looks like this:

    The oldest request is not flushed.
    Search: both

    lib/transport/done.c: flush_queue
    - for (uint32_t idx = tail; idx != head; idx++)
    + for (uint32_t idx = tail + 1; idx != head; idx++)

The first line describes the bug. The lines `Key: text` after it are properties, for the program that runs the
mutant. Next is the file, and the function, macro, type or table in it that contains the code. Lines with `-`
are the replaced code. Lines with `+` are the new code, if any.

The code is found by its tokens: line breaks, indentation and comments do not matter. It must occur exactly
once. A mutant may replace several pieces of code. A new piece begins with a `-` after a `+`, after an empty
line, or after a line with a file and a name.
"""

import collections
import os
import re

_TOKEN = re.compile(r'''
    (?P<space> (?: \s | \\\n | /\*.*?\*/ | //[^\n]* )+ )
  | \# (?: \\\n | /\*.*?\*/ | [^\n] )*          # a directive is one token
  | "(?: \\. | [^"\\\n] )*" | '(?: \\. | [^'\\\n] )*'
  | [A-Za-z_]\w* | \.?\d (?: [eEpP][+-] | [\w.] )*
  | <<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | && | \|\| | [-+*/%&|^<>=!]=
  | .''', re.VERBOSE | re.DOTALL)

_MACRO = re.compile(r'#\s*define\s+(\w+)')

Token = collections.namedtuple('Token', 'text begin end')
Replacement = collections.namedtuple('Replacement', 'path name old new')
Mutant = collections.namedtuple('Mutant', 'what properties replacements')


class Broken(Exception):
    """The mutant cannot be built, or its result is unknown."""


def tokens_of(text, begin=0, end=None):
    return [Token(match.group(), match.start(), match.end())
            for match in _TOKEN.finditer(text, begin, len(text) if end is None else end)
            if not match.group('space')]


def _defined_name(tokens):
    """The function, type or table that the tokens of a declaration define, or None."""
    depth, name = 0, None
    for token in tokens:
        if depth == 0 and token.text in ('{', '='):
            return name
        depth += (token.text in '([') - (token.text in ')]')
        if depth == 0 and re.match(r'[A-Za-z_]', token.text):
            name = token.text
    return None


def definitions(text):
    """(name, tokens) of each function, macro, type and table of a C file or a model."""
    depth, declaration = 0, []
    for token in tokens_of(text):
        macro = _MACRO.match(token.text)
        if macro:
            yield macro.group(1), tokens_of(text, token.begin + macro.end(), token.end)
        if token.text[0] == '#' and not declaration:
            continue
        declaration.append(token)
        depth += (token.text in '([{') - (token.text in ')]}')
        if depth == 0 and token.text in ';}':
            yield _defined_name(declaration), declaration
            declaration = []


def find(text, name, code):
    """The position of the code in the definition of `name`: (begin, end) in the text."""
    wanted = [token.text for token in tokens_of(code)]
    bodies = [tokens for defined, tokens in definitions(text) if defined == name]
    if not bodies:
        raise Broken(f'{name} is not defined')
    places = []
    for tokens in bodies:
        words = [token.text for token in tokens]
        places += [(tokens[i].begin, tokens[i + len(wanted) - 1].end)
                   for i in range(len(words) - len(wanted) + 1)
                   if words[i:i + len(wanted)] == wanted]
    if len(places) != 1:
        times = f'{len(places)} times' if places else 'not'
        raise Broken(f'{name} has this {times}:\n{code}')
    return places[0]


def replace(text, replacements):
    """Apply all replacements to the text. All code is searched for in the original text."""
    found = sorted((*find(text, each.name, each.old), each) for each in replacements)
    for (_, end, _), (begin, _, each) in zip(found, found[1:]):
        if begin < end:
            raise Broken(f'{each.name}: two replacements overlap:\n{each.old}')
    for begin, end, each in reversed(found):
        text = text[:begin] + each.new + text[end:]
    return text


def _parse_head(head):
    what, *lines = head.splitlines() or ['']
    if not what:
        raise Broken('it does not say what the bug is')
    for line in lines:
        if not re.fullmatch(r'[A-Z][a-z ]*: \S.*', line):
            raise Broken(f'this is no property: {line}')
    return what, dict(line.split(': ', 1) for line in lines)


def parse(text):
    head, _, body = text.partition('\n\n')
    what, properties = _parse_head(head)
    path = name = None
    pieces, before = [], ''
    for line in body.splitlines():
        place = re.fullmatch(r'(\S+): (\w+)', line)
        if place:
            path, name = place.groups()
        elif line[:1] == '-' and path:
            if before != '-':
                pieces.append((path, name, [], []))
            pieces[-1][2].append(line[1:].strip())
        elif line[:1] == '+' and before in ('-', '+') and pieces:
            pieces[-1][3].append(line[1:].strip())
        elif line:
            raise Broken(f'this line is not understood: {line}')
        before = line[:1]
    if not pieces or not all(tokens_of(' '.join(old)) for _, _, old, _ in pieces):
        raise Broken('it replaces nothing')
    # The code is put into one line, because a macro may contain it.
    return Mutant(what, properties, [Replacement(path, name, ' '.join(old), ' '.join(new))
                                     for path, name, old, new in pieces])


def names_in(folder):
    return sorted(name[:-len('.mutant')] for name in os.listdir(folder) if name.endswith('.mutant'))


def load(folder, name):
    with open(os.path.join(folder, name + '.mutant'), encoding='utf-8') as file:
        return parse(file.read())


def apply(mutant, root):
    """{path: text} of the files of the tree at `root` that the mutant changes."""
    texts = {}
    for path in sorted({each.path for each in mutant.replacements}):
        with open(os.path.join(root, path), encoding='utf-8') as file:
            text = file.read()
        try:
            texts[path] = replace(text, [each for each in mutant.replacements if each.path == path])
        except Broken as broken:
            raise Broken(f'{path}: {broken}') from broken
    return texts
