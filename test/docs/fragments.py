# SPDX-License-Identifier: BSD-3-Clause
"""The C blocks of the documents as translation units, which compile as C and as C++.

A block is the body of a function whose parameters the marker gives. A SYNOPSIS declares its functions anew, so the
compiler finds a difference from the header, and refers to each of them, so the linker finds one that the library lacks.
"""

import re
import shlex

HEADERS = ('inttypes.h', 'stdio.h', 'uroce.h', 'uroce_dv.h')    # of each block; a SYNOPSIS names its own
LANGUAGES = {'c': 'cc -std=gnu11', 'c++': 'c++'}
FLAGS = '-Wall -Wextra -Werror -fPIC -shared -Wl,-z,defs'


def wrap_body(block, options):
    """A function with the block as its body."""
    headers = ''.join(f'#include <{header}>\n' for header in (*HEADERS, *options['include']))
    head = f'void fragment({", ".join(options["given"]) or "void"})'
    return f'{headers}\n{head};\n{head}\n{{\n#line {block.line} "{block.page}"\n{chr(10).join(block.text)}\n}}\n'


def wrap_declarations(block):
    """The declarations of a SYNOPSIS, and a reference to each function."""
    text = '\n'.join(line if not line.startswith('#include') else '' for line in block.text)
    headers = '\n'.join(line for line in block.text if line.startswith('#include'))
    names = re.findall(r'\b(uroce_\w+)\(', text)
    if not names:
        block.refuse('the SYNOPSIS declares no function')
    references = ',\n'.join(f'(void (*)(void)){name}' for name in names)
    return (f'{headers}\n#ifdef __cplusplus\nextern "C" {{\n#endif\n#line {block.line} "{block.page}"\n{text}\n'
            f'#ifdef __cplusplus\n}}\n#endif\nextern void (*calls[])(void);\nvoid (*calls[])(void) = {{\n{references}\n}};\n')


def source(block):
    """The translation unit of a block that is marked `compile`."""
    options = block.marked()
    return wrap_declarations(block) if block.is_synopsis else wrap_body(block, options)


def script(block):
    """The commands that compile a block in each language and link it with the library that is installed."""
    text = shlex.quote(source(block))
    return '\n'.join(f'printf %s {text} | {command} -x {language} - -x none -o /dev/null {FLAGS} '
                     '$(pkg-config --cflags --libs liburoce)' for language, command in LANGUAGES.items())
