# SPDX-License-Identifier: BSD-3-Clause
"""A Containerfile: its stages and steps, and the image that the steps make, without a container runtime.

Steps that install packages need the network, and are not executed: the packages are those of this machine. The other
RUN steps are executed as they stand, by bubblewrap, in a root of which /usr/local and /etc belong to the image.
"""

import dataclasses
import json
import os
import re
import shutil
import subprocess

from sandbox import SEARCH, top_level

# What programs need in /etc, of this machine. The users are those of a new Debian: base-passwd has them.
ETC = ('alternatives', 'default', 'hosts', 'ld.so.conf', 'ld.so.conf.d', 'libibverbs.d', 'login.defs', 'nsswitch.conf',
       'openmpi', 'pam.d', 'protocols', 'python3', 'services', 'ucx')
USERS = '/usr/share/base-passwd/{}.master'
PACKAGES = 'apt-get'    # a step with this command needs the network


class ImageError(Exception):
    """A step has failed. The text has the end of its output."""


@dataclasses.dataclass
class Stage:
    base: str
    name: str = ''
    steps: list = dataclasses.field(default_factory=list)    # (instruction, text)

    def texts(self, instruction):
        return [text for name, text in self.steps if name == instruction]

    def last(self, instruction):
        """The text of the last step with this instruction, which is the one that counts."""
        return (self.texts(instruction) or [''])[-1]

    def words(self, instruction):
        """The words of an ENTRYPOINT or a CMD."""
        return json.loads(self.last(instruction) or '[]')


def logical_lines(text):
    """The lines without comments, with those joined that a backslash continues."""
    kept = [line for line in text.splitlines() if not line.lstrip().startswith('#')]
    return [line.strip() for line in '\n'.join(kept).replace('\\\n', ' ').splitlines() if line.strip()]


def parse(path):
    with open(path, encoding='utf-8') as file:
        lines = logical_lines(file.read())
    stages = []
    for line in lines:
        instruction, _, text = line.partition(' ')
        if instruction == 'FROM':
            base, _, name = text.partition(' AS ')
            stages.append(Stage(base, name))
        else:
            stages[-1].steps.append((instruction, ' '.join(text.split())))
    return stages


def packages_of(stage):
    """The packages that a stage installs by name."""
    found = re.search(r'apt-get install ((?:--\S+ )*)([^&]*)', ' '.join(stage.texts('RUN')))
    return [word.strip("'") for word in found[2].split()] if found else []


# ------------------------------------------------------------------------------------- the image

def copy_etc(folder):
    """Make /etc of the image."""
    os.makedirs(folder)
    for name in ETC:
        path = f'/etc/{name}'
        if os.path.isdir(path):
            shutil.copytree(path, f'{folder}/{name}', symlinks=True, ignore_dangling_symlinks=True)
        elif os.path.exists(path):
            shutil.copy(path, folder)
    for name in 'passwd', 'group':
        shutil.copy(USERS.format(name), f'{folder}/{name}')
    for name in 'shadow', 'gshadow', 'subuid', 'subgid', 'fstab':
        open(f'{folder}/{name}', 'w').close()


def run_step(text, image, tree=None):
    """Execute the text of a RUN step. `tree`: a copy of the working tree, which is the working folder."""
    words = ['bwrap', '--unshare-pid', '--unshare-ipc', '--die-with-parent']
    if os.geteuid() != 0:
        words += ['--unshare-user', '--uid', '0', '--gid', '0']
    words += [*top_level(), '--bind', f'{image}/usr/local', '/usr/local', '--bind', f'{image}/etc', '/etc',
              '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--dir', '/var/cache/ldconfig',
              '--dir', '/var/log', '--setenv', 'HOME', '/tmp', '--setenv', 'PATH', SEARCH]
    if tree:
        words += ['--bind', tree, '/uroce', '--chdir', '/uroce']
    done = subprocess.run(words + ['--', 'sh', '-c', text], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ImageError(f'RUN {text}: status {done.returncode}\n' + (done.stdout + done.stderr)[-2000:])


def run_steps(stage, image, tree=None):
    """Execute the RUN steps of a stage. @return those that need the network"""
    left = []
    for text in stage.texts('RUN'):
        if PACKAGES in text:
            left.append(text)
        else:
            run_step(text, image, tree)
    return left


def begin_image(image, confine):
    copy_etc(f'{image}/etc')
    os.makedirs(f'{image}/usr/local')
    shutil.copy(confine, f'{image}/confine')


def image_of_build(stages, image, build):
    """Make an image from a build that is there: `meson install` instead of the first stage.
    @return the steps that need the network
    """
    begin_image(image, os.path.join(build, 'test/containers/confine'))
    done = subprocess.run(['meson', 'install', '-C', build, '--no-rebuild', '--quiet'], capture_output=True, text=True,
                          check=False, env=dict(os.environ, DESTDIR=image))
    if done.returncode != 0:
        raise ImageError(f'meson install: {done.stderr[-2000:]}')
    return run_steps(stages[-1], image)


def image_of_source(stages, image, tree, confine):
    """Make an image by all steps, from a copy of the tree. @return the steps that need the network"""
    begin_image(image, confine)
    return run_steps(stages[0], image, tree) + run_steps(stages[-1], image)
