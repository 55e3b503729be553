#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run one command in a test machine under QEMU.

The output of the command is passed on while it runs. Its exit status becomes the exit status of
this program, unless the machine itself failed:

  120  a splat on the console (BUG, WARNING, KASAN, KCSAN, lockdep, RCU stall, leak, ...)
  121  a kernel panic without a splat before it
  122  the machine did not come to an end in time
  123  the test machine itself is broken (no verdict, incomplete output)
  130  interrupted

In the machine /tmp and /dev/shm are tmpfs. The initramfs has busybox, the installed kselftests
below /kselftest and the client as /bin/procmap. With --root host the command runs on the root
file system of the host instead (read-only, changes go to a tmpfs). With --out the files that it
writes to /out appear in a directory of the host.
"""

import argparse
import contextlib
import ctypes
import fcntl
import json
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import console
import terminal

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "series"))

from common import BUILD, ROOT, entries, interrupt_on, read, write  # noqa: E402  pylint: disable=wrong-import-position

SPLAT, PANIC, HANG, BROKEN, INTERRUPTED = 120, 121, 122, 123, 130
ACCEL = {
    "multi": ["-accel", "tcg,thread=multi", "-smp", "2", "-cpu", "max"],
    "single": ["-accel", "tcg,thread=single", "-smp", "2", "-cpu", "max"],
    "icount": ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-smp", "1",
               "-cpu", "max"],
    "slow": ["-accel", "tcg,thread=single", "-icount", "shift=3,sleep=off", "-smp", "1",
             "-cpu", "max"],
    "kvm": ["-accel", "kvm", "-smp", "2", "-cpu", "host"],
}
# File systems of the machine itself; a repository below them is put back into its place.
HIDDEN = ("/tmp/", "/run/", "/dev/")
# A processor counts as stuck late, since the host may have other things to do.
CMDLINE = ("panic=-1 oops=panic loglevel=7 printk.devkmsg=on random.trust_cpu=on "
           "watchdog_thresh=30")
# For each architecture: QEMU's program, its machine, the suffix of files, more for the kernel;
# rodata=full: without it arm64 has no memfd_secret()
# pci=noacpi: on a loaded host KASAN does not get through the tables of ACPI for interrupts of PCI
# in the 30 s that the kernel gives them; the firmware has routed these interrupts as well
MACHINE = {
    "x86": ("qemu-system-x86_64", [], "", "console=ttyS0 no_timer_check tsc=reliable pci=noacpi"),
    "arm64": ("qemu-system-aarch64", ["-machine", "virt"], "-arm64", "console=ttyAMA0 rodata=full"),
}
VERDICT = re.compile(r"status (\d+) stdout (\d+) stderr (\d+) leaks (\d+)\n")
STREAMS = ("stdout", "stderr")
# On a line that multiplexes, QEMU takes this for a break; the kernel takes the key after it for one
# of SysRq.
BREAK = b"\x01b"
RUNNING, ALL_TASKS = b"l", b"t"


class Trouble(Exception):
    """The machine failed; has the exit status and what to say."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        self.results = None


def parse(argv):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="vm.py [options] -- COMMAND [ARGUMENT]...")
    parser.add_argument("--variant", default="plain", help="kernel build/BASE/VARIANT/bzImage (default "
                        "plain); arm64 is a machine of that architecture, also with --kernel")
    parser.add_argument("--kernel", help="another kernel image")
    parser.add_argument("--initrd", help="initramfs (default build/BASE/initrd.cpio)")
    parser.add_argument("--memory", default="1G", help="of the machine (default 1G)")
    parser.add_argument("--accel", default=os.environ.get("ACCEL"),
                        help="multi: two processors, TCG with a thread each (default); single: two "
                        "processors in turn (default for a kernel with kprobes); icount: one "
                        "processor that counts instructions, a virtual nanosecond each; slow: the "
                        "same, 8 nanoseconds each; kvm: two processors of the host; the environment "
                        "variable ACCEL says the same")
    parser.add_argument("--timeout", type=float, default=300, help="seconds (default 300)")
    parser.add_argument("--root", default="initrd", choices=["initrd", "host"])
    parser.add_argument("--out", metavar="DIR", help="what the command writes to /out lands here")
    parser.add_argument("--uid", type=int, default=0, help="run the command as this user")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--append", default="", help="more for the kernel's command line")
    parser.add_argument("--interactive", action="store_true",
                        help="the command gets this terminal (for a shell; no time limit)")
    parser.add_argument("--results", metavar="DIR", help="where console, output, verdict and "
                        "configuration are kept (default build/BASE/results/vm)")
    parser.add_argument("--quiet", action="store_true", help="do not pass the output on")
    parser.add_argument("command", nargs="+")
    args = parser.parse_args(argv)
    args.arch = args.variant if args.variant in MACHINE else "x86"
    args.kernel = args.kernel or os.path.join(BUILD, args.variant, "bzImage")
    args.initrd = args.initrd or os.path.join(BUILD, f"initrd{MACHINE[args.arch][2]}.cpio")
    wanted = f" VARIANT={args.variant}"
    for path, make in ((args.kernel, f"make kernel{wanted}"),
                       (args.initrd, "make initrd" + (wanted if args.arch != "x86" else ""))):
        if not os.path.isfile(path):
            raise Trouble(BROKEN, f"{path} does not exist; `{make}` makes it")
    args.accel = args.accel or default_accel(args.kernel)
    if args.accel not in ACCEL:
        raise Trouble(BROKEN, f"unknown accelerator {args.accel}; there are {', '.join(ACCEL)}")
    if args.interactive and not sys.stdin.isatty():
        raise Trouble(BROKEN, "--interactive needs a terminal as standard input")
    return args


def config_of(kernel):
    """The configuration of a kernel image, where it was built here."""
    path = os.path.join(os.path.dirname(kernel), ".config")
    return read(path) if os.path.exists(path) else ""


def default_accel(kernel):
    """A kernel with probes patches its code: QEMU has to run it in one thread, see README.md."""
    return "single" if "CONFIG_KPROBES=y" in config_of(kernel) else "multi"


def die_with_parent():
    """Runs in the child: QEMU ends when this program does, however that happens."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Line:
    """The serial line of a machine: what it prints is kept, and it takes keys of SysRq.

    The kernel does not wait long for its line. A pipe of a megabyte takes what a socket could not.
    """

    def __init__(self, path, log, stack):
        self.path = path
        for end in "in", "out":
            os.mkfifo(f"{path}.{end}")
        # Open for both directions: neither program waits for the other.
        self.input, self.output = (stack.enter_context(open(f"{path}.{end}", "r+b", buffering=0))
                                   for end in ("in", "out"))
        fcntl.fcntl(self.output, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.log = stack.enter_context(open(log, "wb", buffering=0))

    def keep(self):
        self.log.write(self.output.read(1 << 20))


class Machine:
    """One boot of QEMU."""

    def __init__(self, args):
        self.args = args
        self.results, self.lock = self.claim_results()
        self.received = dict.fromkeys(STREAMS, 0)
        self.qemu = self.terminal = self.line = None

    def path(self, name):
        return os.path.join(self.results, name)

    def claim_results(self):
        """An empty results directory: files of an earlier run must not be read."""
        wanted = self.args.results or os.path.join(BUILD, "results", "vm")
        for number in range(1, 100):
            where = os.path.abspath(wanted if number == 1 else f"{wanted}-{number}")
            os.makedirs(where, exist_ok=True)
            lock = os.open(os.path.join(where, ".lock"), os.O_CREAT | os.O_RDWR, 0o644)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                continue
            for name in ("verdict", "console.log", "qemu.log", "resets.log", *STREAMS):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(os.path.join(where, name))
            return where, lock
        raise Trouble(BROKEN, f"all directories {wanted}-N are in use")

    def append_command(self, directory):
        """The initramfs with the command appended as a second archive."""
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "HOME": "/tmp" if self.args.uid else "/root", "TERM": os.environ.get("TERM", "linux"),
               "PWD": os.getcwd() if self.args.root == "host" else "/", "LC_ALL": "C.UTF-8"}
        env.update(pair.split("=", 1) for pair in self.args.env)
        parts = {"command": self.args.command,
                 "environment": [f"{key}={value}" for key, value in env.items()]}
        if self.args.root == "host" and ROOT.startswith(HIDDEN):
            parts["hidden"] = [ROOT]
        spec = ["dir /vm 755 0 0"]
        for name, strings in parts.items():
            path = os.path.join(directory, name)
            write(path, b"".join(os.fsencode(string) + b"\0" for string in strings))
            spec.append(f"file /vm/{name} {path} 644 0 0")
        listed = os.path.join(directory, "spec")
        write(listed, "\n".join(spec) + "\n")
        whole = os.path.join(directory, "initrd")
        shutil.copyfile(self.args.initrd, whole)
        tool = os.path.join(os.path.dirname(self.args.initrd), "gen_init_cpio")
        with open(whole, "ab") as image:
            subprocess.run([tool, listed], stdout=image, check=True)
        return whole

    def kernel_options(self):
        """The kernel's command line; after our options comes the environment of init."""
        args = self.args
        # A data race of the base kernel must not end the run before the tests.
        told = ["panic_on_warn=" + ("0" if "CONFIG_KCSAN=y" in config_of(args.kernel) else "1"), args.append,
                f"VM_ROOT={args.root}", f"VM_UID={args.uid}"]
        told += ["VM_OUT=1"] if args.out else []
        told += ["VM_INTERACTIVE=1"] if args.interactive else []
        return " ".join([CMDLINE, MACHINE[args.arch][3], *told])

    def command_line(self, directory, sockets):
        args = self.args
        program, machine = MACHINE[args.arch][:2]
        command = [program, *machine, "-nodefaults", "-no-user-config", "-display", "none",
                   "-no-reboot", "-monitor", "none", *ACCEL[args.accel], "-m", args.memory,
                   "-kernel", args.kernel, "-initrd", self.append_command(directory),
                   "-append", self.kernel_options(),
                   "-d", "cpu_reset", "-D", self.path("resets.log"),
                   "-chardev", f"pipe,id=console,path={self.line.path},mux=on",
                   "-serial", "chardev:console",
                   "-object", "rng-random,id=rng,filename=/dev/urandom",
                   "-device", "virtio-rng-pci,rng=rng", "-device", "virtio-serial-pci",
                   "-chardev", f"file,id=verdict,path={self.path('verdict')}",
                   "-device", "virtserialport,chardev=verdict,name=verdict"]
        for name in STREAMS:
            command += ["-chardev", f"socket,id={name},path={sockets[name]}",
                        "-device", f"virtserialport,chardev={name},name={name}"]
        if self.terminal:
            command += self.terminal.options()
        if args.root == "host":
            command += ["-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,"
                        "multidevs=remap"]
        if args.out:
            os.makedirs(args.out, exist_ok=True)
            command += ["-virtfs", f"local,path={os.path.abspath(args.out)},mount_tag=out,"
                        "security_model=none,multidevs=remap"]
        return command

    def run(self):
        """Boot, pass the output on, return the status of the command or raise Trouble."""
        with contextlib.ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="vm-"))
            sockets, listeners = {}, {}
            for name in STREAMS:
                sockets[name] = os.path.join(directory, f"{name}.socket")
                listeners[name] = stack.enter_context(socket.socket(socket.AF_UNIX))
                listeners[name].bind(sockets[name])
                listeners[name].listen(1)
            if self.args.interactive:
                self.terminal = stack.enter_context(
                    terminal.Terminal(os.path.join(directory, "size.socket")))
            self.line = Line(os.path.join(directory, "console"), self.path("console.log"), stack)
            command = self.command_line(directory, sockets)
            write(self.path("command.json"), json.dumps(command, indent=1))
            write(self.path("config"), config_of(self.args.kernel))
            log = stack.enter_context(open(self.path("qemu.log"), "wb"))
            self.qemu = subprocess.Popen(  # pylint: disable=consider-using-with
                command, stdin=None if self.args.interactive else subprocess.DEVNULL,
                stdout=None if self.args.interactive else log, stderr=log,
                preexec_fn=die_with_parent,
                # Ctrl-C reaches this program alone, which then ends QEMU.
                process_group=None if self.args.interactive else 0)
            stack.callback(self.kill)
            hung = self.pass_output_on(listeners)
        return self.judge(hung)

    def kill(self):
        if self.qemu.poll() is None:
            self.qemu.kill()
        self.qemu.wait()

    def pass_output_on(self, listeners):
        """Returns what ask_for_tasks() does, when the time is over before the machine is."""
        end = time.monotonic() + self.args.timeout
        with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
            for name, listener in listeners.items():
                selector.register(listener, selectors.EVENT_READ, name)
            selector.register(self.line.output, selectors.EVENT_READ)
            while self.qemu.poll() is None:
                if time.monotonic() > end and not self.args.interactive:
                    return self.ask_for_tasks(selector, stack)
                self.take_events(selector, stack, 0.2)
                if self.terminal:
                    self.terminal.tell_size()
            while self.take_events(selector, stack, 0):
                pass
        return None

    def ask_for_tasks(self, selector, stack):
        """Let the kernel write to the console what its tasks do. Returns where that begins."""
        begin = len(self.read("console.log"))
        for key in RUNNING, ALL_TASKS:
            self.line.input.write(BREAK + key)
            before = -1
            for _ in range(12):
                size = os.path.getsize(self.path("console.log"))
                if size == before:
                    break
                before, end = size, time.monotonic() + 5
                while time.monotonic() < end:
                    self.take_events(selector, stack, 0.2)
        return begin

    def take_events(self, selector, stack, timeout):
        """Accept connections and copy what has come; returns whether there was something."""
        some = False
        for key, _ in selector.select(timeout):
            if key.fileobj == self.line.output:
                some = True
                self.line.keep()
                continue
            if key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                port = stack.enter_context(key.fileobj.accept()[0])
                log = stack.enter_context(open(self.path(key.data), "wb"))
                selector.unregister(key.fileobj)
                selector.register(port, selectors.EVENT_READ, (key.data, log))
                some = True
                continue
            data = key.fileobj.recv(65536)
            if not data:
                selector.unregister(key.fileobj)
                continue
            some = True
            name, log = key.data
            self.received[name] += len(data)
            log.write(data)
            log.flush()
            if not self.args.quiet:
                stream = getattr(sys, name).buffer
                stream.write(data)
                stream.flush()
        return some

    def read(self, name):
        path = self.path(name)
        return read(path, "rb").decode(errors="replace") if os.path.exists(path) else ""

    def judge(self, hung):
        """Turn what the machine left into a status; the worst for the kernel comes first."""
        text = self.read("console.log")
        text, tasks = text[:hung], text[hung or 0:]
        known = [re.compile(line) for line in entries(os.path.join(HERE, "known-splats"))]
        splat, panic = console.find_splat(text, known), console.find_panic(text)
        if splat:
            raise Trouble(SPLAT, f"the kernel printed a splat:\n{splat}")
        if panic:
            raise Trouble(PANIC, f"the kernel panicked: {panic}\n{console.tail(text)}")
        if hung is not None:
            raise Trouble(HANG, "\n".join((
                f"no end after {self.args.timeout:g} seconds; the output ends with",
                console.tail(self.read("stdout"), 5), "the console with", console.tail(text, 5),
                "and these programs are there:", *console.programs(tasks))))
        match = VERDICT.fullmatch(self.read("verdict"))
        if not match and "Triple fault" in self.read("resets.log"):
            raise Trouble(PANIC, "the processor reset itself (triple fault), its state is in "
                          f"{self.path('resets.log')}\n{console.tail(text)}")
        if not match:
            raise Trouble(BROKEN, "the machine ended without a verdict, QEMU with "
                          f"{self.qemu.returncode}; the console's last lines:\n"
                          f"{console.tail(text)}\n{self.read('qemu.log').strip()}")
        status, out, err, leaks = (int(group) for group in match.groups())
        if leaks:
            raise Trouble(SPLAT, f"kmemleak found {leaks} leaks, see {self.path('console.log')}")
        if (out, err) != (self.received["stdout"], self.received["stderr"]):
            raise Trouble(BROKEN, f"of {out}+{err} bytes of output only "
                          f"{self.received['stdout']}+{self.received['stderr']} arrived")
        return status


def boot(args):
    """Run it once, and once more if the emulator failed before the first program ran."""
    for is_last in False, True:
        machine = Machine(args)
        try:
            return machine.run()
        except Trouble as trouble:
            trouble.results = machine.results
            crashed = machine.qemu is not None and machine.qemu.returncode == -signal.SIGSEGV
            if is_last or not console.emulator_fault(machine.read("console.log"), crashed):
                raise
        kept = machine.path("emulator-fault.log")
        os.replace(machine.path("console.log"), kept)
        os.close(machine.lock)
        print(f"vm: the emulator failed in the boot, see {kept}; booting once more",
              file=sys.stderr)
    return None


def main():
    interrupt_on(signal.SIGTERM, signal.SIGHUP)
    try:
        return boot(parse(sys.argv[1:]))
    except Trouble as trouble:
        print(f"vm: {trouble}", file=sys.stderr)
        if trouble.results:
            print(f"vm: all logs are in {trouble.results}", file=sys.stderr)
        return trouble.status
    except KeyboardInterrupt:
        print("vm: interrupted, the machine was stopped", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
