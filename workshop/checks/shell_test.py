#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make shell: commands and their status, the terminal. Results as TAP."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

import cases
from places import ROOT

SHELL = os.path.join(ROOT, "workshop", "qemu", "shell.sh")


def shell(*words):
    return cases.call(SHELL, *words, cwd=ROOT, stdin=subprocess.DEVNULL, timeout=300)


def test_make_passes_the_command_on_as_it_is():
    """Run it without the steps before it, which have their own tests."""
    line = """echo "$HOME" 'a  b' '$(nothing)' $((6 * 7)); pwd; echo err >&2; exit 3"""
    result = cases.call("make", "-s", "SERIES=: ", "need=", "shell", f"CMD={line}", cwd=ROOT,
                        timeout=300, env=dict(os.environ, HOME="/some where"))
    assert result.returncode == 2, result
    assert re.search(r"^err\n.* Error 3$", result.stderr, re.M), result
    assert result.stdout == f"/some where a  b $(nothing) 42\n{ROOT}\n", result


def test_procmap_is_in_path_and_uses_queries():
    result = shell("procmap --query -xf $$ && procmap $$ 0")
    assert result.returncode == 1, result
    assert re.search(r" r-xp .* /\S*bash$", result.stdout, re.M), result
    assert result.stdout.endswith(" unmapped\n"), result


def test_without_a_terminal_it_says_so():
    result = shell()
    assert (result.returncode, result.stdout) == (2, ""), result
    assert re.fullmatch(r"shell: .*CMD=.*\n", result.stderr), result


class Terminal:
    """A shell in the machine, on a terminal of ours."""

    def __enter__(self):
        self.master, slave = pty.openpty()
        self.resize(33, 111)
        self.slave = slave
        self.before = termios.tcgetattr(slave)
        self.text = b""
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            [SHELL], stdin=slave, stdout=slave, stderr=slave, cwd=ROOT, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            env=dict(os.environ, SHELL="/bin/bash", HOME="/nonexistent"))
        return self

    def resize(self, lines, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def expect(self, word, seconds=90):
        """Returns what was printed up to and with the word."""
        end = time.monotonic() + seconds
        while word.encode() not in self.text:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {word} after {self.text[-500:]}"
            self.text += os.read(self.master, 65536)
        seen, _, self.text = self.text.partition(word.encode())
        return seen.decode(errors="replace")

    def drain(self):
        """The status of the shell; what it prints at the end has to be read."""
        end = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self.master], [], [], 0.2)[0]:
                os.read(self.master, 65536)
        return self.process.poll()

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.drain()
        os.close(self.master)
        os.close(self.slave)


def use_terminal(terminal):
    terminal.expect("# ")
    terminal.type("stty size; tty; echo 1-e''nd\n")
    seen = terminal.expect("1-end")
    assert "33 111" in seen and "/dev/hvc0" in seen, seen
    terminal.type("sleep 1000\n")
    time.sleep(2)
    start = time.monotonic()
    terminal.type("\x03echo $? 2-e''nd\n")
    assert terminal.expect("2-end", 20).endswith("130 "), "sleep did not end by Ctrl-C"
    assert time.monotonic() - start < 20
    terminal.resize(50, 99)
    time.sleep(2)
    terminal.type("stty size; echo 3-e''nd\n")
    seen = terminal.expect("3-end")
    assert "50 99" in seen, seen
    terminal.type("exit 7\n")
    assert terminal.drain() == 7, "the status of the shell"
    assert termios.tcgetattr(terminal.slave) == terminal.before, "the terminal was changed"


def test_the_terminal_has_size_ctrl_c_and_status():
    with Terminal() as terminal:
        use_terminal(terminal)


def test_a_killed_shell_leaves_the_terminal_as_it_was():
    with Terminal() as terminal:
        terminal.expect("# ")
        assert termios.tcgetattr(terminal.slave) != terminal.before, "it was never raw"
        terminal.process.terminate()
        assert terminal.drain() == 130
        assert termios.tcgetattr(terminal.slave) == terminal.before, "the terminal was changed"


if __name__ == "__main__":
    sys.exit(cases.run(globals()))
