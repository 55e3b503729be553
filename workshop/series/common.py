# SPDX-License-Identifier: GPL-2.0
"""What all steps share: places, progress lines, logs, locks, error exits."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOP = os.path.join(ROOT, "build")
INTERRUPTS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def bases():
    """The kernels that have patches here: the directories of patches/."""
    top = os.path.join(ROOT, "patches")
    return sorted(name for name in os.listdir(top)
                  if os.path.isfile(os.path.join(top, name, "series")))


def default_base():
    return read(os.path.join(ROOT, "patches", "default")).strip()


def chosen_base():
    """The base to work on, as the environment says."""
    name = os.environ.get("BASE") or default_base()
    if name not in bases():
        sys.exit(f"error: BASE={name} is unknown; there are patches for {', '.join(bases())}")
    return name


def read(path, mode="r"):
    with open(path, mode, **({} if "b" in mode else {"encoding": "utf-8"})) as handle:
        return handle.read()


def entries(path):
    """The lines of a file, without comments and without those that are empty."""
    lines = (line.split("#")[0].strip() for line in read(path).splitlines())
    return [line for line in lines if line]


BASE = chosen_base()
PATCHES = os.path.join(ROOT, "patches", BASE)
BUILD = os.path.join(TOP, BASE)
SRC = os.path.join(BUILD, "src")
SRC_BASE = os.path.join(BUILD, "src-base")
# Logs of other bases are below those of the default one, so that BASE=all keeps the logs of each
LOGS = os.path.join(TOP, "log", *([BASE] if BASE != default_base() else []))


class Failure(Exception):
    """One line for the user, exit status 1."""


def say(step, text):
    print(f"  {step:<8}{text}", flush=True)


def notice(text):
    print(f"notice: {text}", file=sys.stderr, flush=True)


def rel(path):
    """The path as a user at the top of the repository would write it."""
    short = os.path.relpath(path, ROOT)
    return path if short.startswith("..") else short


def main(func):
    """Run a step; failures become one line, Ctrl-C and the like an exit status."""
    interrupt_on(signal.SIGTERM, signal.SIGHUP)
    try:
        sys.exit(func() or 0)
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted; the next call continues", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)


def interrupt_on(*signals):
    """End by these signals as by Ctrl-C; nohup keeps its meaning."""
    def interrupt(_number, _frame):
        raise KeyboardInterrupt

    for number in signals:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)


def run_to_end(command, data=None, **kwargs):
    """subprocess.run() with all output, but an interrupt never leaves the program running.

    An interrupt while Popen() waits for the exec() would lose the child: hold signals back so long.
    """
    held = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    with subprocess.Popen(command, **pipes, **kwargs) as child:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, held)
            out, err = child.communicate(data)
        except BaseException:
            child.kill()
            raise
    return child.returncode, out, err


def need_space(path, megabytes):
    """Refuse early instead of running into a full disk half-way."""
    os.makedirs(path, exist_ok=True)
    free = shutil.disk_usage(path).free >> 20
    if free < megabytes:
        raise Failure(f"no disk space: {rel(path)} needs about {megabytes} MB, {free} MB are free; "
                      "make room or move build/ to a larger disk (a symbolic link will do)")


@contextlib.contextmanager
def lock(name):
    """Hold a lock: two calls of make must not build the same thing at a time."""
    os.makedirs(BUILD, exist_ok=True)
    with open(os.path.join(BUILD, f".lock-{name}"), "w", encoding="ascii") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("WAIT", f"another make is at work on {name}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


# Of lines that say what goes on, where there is no terminal: columns, and seconds between them
WIDTH = 80
PAUSE = 60


class Progress:
    """What goes on meanwhile: each second on a terminal, on one line; else a line a minute."""

    def __init__(self):
        self.terminal = sys.stdout.isatty()
        self.pause = 1 if self.terminal else PAUSE
        self.start = time.monotonic()

    def tell(self, text):
        took = int(time.monotonic() - self.start)
        if self.terminal:
            width = shutil.get_terminal_size().columns - 20
            print(f"\r          {took // 60}:{took % 60:02} {text[:width]}\033[K", end="",
                  flush=True)
        else:
            print(f"          {took // 60} min: {text[:WIDTH]}", flush=True)

    def end(self):
        """Leave no trace of the line on a terminal."""
        if self.terminal:
            print("\r\033[K", end="", flush=True)


def wait_for(child, path, describe, mask):
    """Wait for a process that writes to a log; show meanwhile what describes its last line.

    An interrupt ends all of its process group: dpkg-buildpackage passes no signal on.
    """
    progress = Progress()
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        while True:
            try:
                return child.wait(progress.pause)
            except subprocess.TimeoutExpired:
                progress.tell(describe(tail(path, 1).strip()))
    except BaseException:
        # It may take its time to leave nothing behind.
        os.killpg(child.pid, signal.SIGTERM)
        try:
            child.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
        raise
    finally:
        progress.end()


def logged(log, command, describe=str, preexec_fn=lambda: None, **kwargs):
    """Run a command with its output in <log>.log of LOGS; a failure shows the end of it."""
    os.makedirs(LOGS, exist_ok=True)
    path = os.path.join(LOGS, f"{log}.log")
    with open(path, "w", encoding="utf-8") as out:
        out.write("$ " + " ".join(command) + "\n")
        out.flush()
        # As in run_to_end(); but the child must get these signals.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)

        def prepare():
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            preexec_fn()

        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, preexec_fn=prepare,
                              stderr=subprocess.STDOUT, process_group=0, **kwargs) as child:
            status = wait_for(child, path, describe, mask)
    if status:
        sys.stderr.write(tail(path, 15))
        raise Failure(f"{command[0]} failed with status {status}; the full log is {rel(path)}")
    return path


def tail(path, lines):
    with open(path, encoding="utf-8", errors="replace") as text:
        return "".join(text.readlines()[-lines:])


def write(path, content):
    """Replace a file in one step, so that an interruption leaves the old or the new one."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    data = content if isinstance(content, bytes) else content.encode()
    with open(f"{path}.new", "wb") as handle:
        handle.write(data)
    os.replace(f"{path}.new", path)
