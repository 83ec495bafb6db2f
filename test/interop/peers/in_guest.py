# SPDX-License-Identifier: BSD-3-Clause
"""What all peers have in common whose programs run in a guest."""

import subprocess

from uroce_ports import stop


class InGuest:
    """A mixin of peers. `guest` is None until the peer starts."""

    guest = None

    @property
    def control_address(self):
        return self.guest.address

    def kernel_file(self, path):
        return self.guest.output(f'cat {path}')

    def finish(self):
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            stop(self.process)

    def stop(self):
        if self.guest:
            self.end()
            self.guest.stop()
            self.guest = None

    def restart(self):
        """Start a new actor in the same guest."""
        self.end()
        if self.program:
            self.begin_program()
