# SPDX-License-Identifier: GPL-2.0
"""The terminal of an interactive test machine: pass its size on, and restore its state."""

import contextlib
import os
import socket
import sys
import termios


class Terminal:
    """The terminal behind standard input."""

    def __init__(self, path):
        self.saved = termios.tcgetattr(sys.stdin)
        self.path = path
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.listener.setblocking(False)
        self.port = None
        self.told = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Restore the terminal: QEMU puts it into raw mode, and does not restore it if killed."""
        for end in (self.listener, self.port):
            if end:
                end.close()
        with contextlib.suppress(termios.error):
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, self.saved)

    def options(self):
        """What makes QEMU use it; Ctrl-C is a byte for the machine, not a signal for QEMU."""
        return ["-chardev", "stdio,id=terminal,signal=off",
                "-device", "virtconsole,chardev=terminal",
                "-chardev", f"socket,id=size,path={self.path}",
                "-device", "virtserialport,chardev=size,name=size"]

    def tell_size(self):
        """Tell the machine the size if it has changed; called now and then."""
        if not self.port:
            with contextlib.suppress(BlockingIOError):
                self.port = self.listener.accept()[0]
        if not self.port:
            return
        columns, lines = os.get_terminal_size(sys.stdin.fileno())
        if (lines, columns) == self.told:
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.port.sendall(f"{lines} {columns}\n".encode())
        self.told = (lines, columns)
