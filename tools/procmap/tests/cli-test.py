#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the procmap client; results as TAP. Usage: cli-test.py [BUILD-DIRECTORY]"""

import ctypes
import json
import os
import pwd
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(__file__) + "/..")
PATH_MAX = 4096
PROCMAP = BUILD + "/procmap"
FAKE = BUILD + "/tests/procmap-fake"
TARGET = BUILD + "/tests/target"

ENOENT, ESRCH, EIO, ENOTTY = 2, 3, 5, 25
# The real client takes what the kernel has; the fake one always has scans and queries.
TEXT = [PROCMAP, "--text"]
QUERY = [FAKE, "--query"]
SCAN = [FAKE, "--scan"]
NO_IOCTL = "this kernel has no such ioctl: use --text, or leave --scan and --query out"


def run(command, *words, fake="", stdin="", **more):
    """Run a client: (exit status, output, errors)."""
    done = subprocess.run([*command, *map(str, words)], input=stdin.encode(), capture_output=True,
                          env={**os.environ, "PROCMAP_FAKE": fake}, check=False, timeout=300,
                          **more)
    return (done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode())


def equal(got, want):
    """What is not equal is a failure."""
    if got != want:
        raise AssertionError(f"got {got!r}, not {want!r}")


def refuses(command, *words, says, **more):
    """The client must fail with one line, no output and exit status 2."""
    equal(run(command, *words, **more), (2, "", f"procmap: {says}\n"))


def succeeds(command, *words, status=0, **more):
    """The client must succeed, silently but for its output, which is returned."""
    got, out, errors = run(command, *words, **more)
    equal((got, errors), (status, ""))
    return out


class Target:
    """A process to look at, and what it says about its mappings."""

    def __init__(self, *words, cwd):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen([TARGET, *words], stdin=subprocess.PIPE, cwd=cwd,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.at = {}
        while "ready" not in self.at:
            what, addr = self.process.stdout.readline().split()
            self.at[what] = int(addr, 16)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate()

    def maps(self):
        """The text, parsed in a way that is not the client's; no names that are too long."""
        with open(f"/proc/{self.pid}/maps", encoding="utf-8", errors="surrogateescape",
                  newline="\n") as file:
            lines = file.read().split("\n")[:-1]
        rows = [re.fullmatch(r"(\w+)-(\w+) (\S+) (\w+) (\w+):(\w+) (\d+) *(.*)", line).groups()
                for line in lines if not line.endswith(" [vsyscall]")]
        return [{"start": hex(int(row[0], 16)), "end": hex(int(row[1], 16)), "perms": row[2],
                 "offset": hex(int(row[3], 16)),
                 "dev": f"{int(row[4], 16):x}:{int(row[5], 16):x}", "inode": row[6],
                 "file_backed": row[4:7] != ("00", "00", "0"),
                 "name": row[7] if 0 < len(os.fsencode(row[7])) < PATH_MAX else None}
                for row in rows]


def kernel_has(option):
    """Whether the real client can be used with --query, or --scan."""
    return run([PROCMAP, option], os.getpid())[0] == 0


def best_backend():
    """What the real client takes."""
    return next((option[2:] for option in ("--scan", "--query") if kernel_has(option)), "text")


def clients():
    """All ways to get an answer."""
    real = [[PROCMAP, option] for option in ("--query", "--scan") if kernel_has(option)]
    return [TEXT, QUERY, SCAN, *real, [PROCMAP]]


def as_text(name):
    """A name as the text shows it."""
    return name and name.replace("\n", "\\012")


def test_help(_):
    """--help and --version"""
    for option in "--help", "-h":
        out = succeeds([PROCMAP], option)
        equal(out.startswith("Usage: procmap "), True)
        for word in "--exec", "--json", "--verify", "--count", "--text", "--query", "--scan", \
                "watch", "--interval", "Exit status":
            equal(word in out, True)
    for option in "--version", "-V":
        equal(bool(re.fullmatch(r"procmap \d+\.\d+\n", succeeds([PROCMAP], option))), True)


def source(name):
    """A file of the directory above this one."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", name),
              encoding="utf-8") as file:
        return file.read()


def test_man_pages(_):
    """man pages have all options of --help and all names of the library, with their types"""
    page = source("procmap.1").replace(r"\-", "-")
    options = re.findall(r"(?<![\w-])--?[a-zA-Z][a-z-]*", succeeds([PROCMAP], "--help"))
    equal(len(options) > 20, True)
    equal([word for word in options if not re.search(rf"{word}(?![\w-])", page)], [])
    tries = re.search(r"^#define CLI_RETRIES (\d+)$", source("cli-verify.c"), re.M)[1]
    equal(f"up to {tries} times for one address" in page, True)
    page, header = source("libprocmap.3"), source("libprocmap.h")
    names = set(re.findall(r"PROCMAP_[A-Z_]+[A-Z]\b", header)) - {"PROCMAP_VERSION",
                                                                    "PROCMAP_QUERY", "PROCMAP_SCAN"}
    equal(len(names) > 15, True)
    equal([name for name in sorted(names) if not re.search(rf"\b{name}\b", page)], [])
    exported = re.findall(r"^\t(\w+);$", source("libprocmap.map"), re.M)
    declared = re.findall(r"^\w.*\b(procmap_\w+)\(", header, re.M)
    equal(exported, sorted(set(declared) - {"procmap_file_offset"}))
    synopsis = page.split(".SH DESCRIPTION")[0]
    text = re.sub(r"^\.\w+ |[\s\"]", "", synopsis, flags=re.M)
    prototypes = re.findall(r"^(?:static inline )?(\w[^;{]*?procmap_\w+\([^)]*\))[;\n]", header,
                            re.M)
    equal(len(prototypes), 15)
    equal([words for words in prototypes if re.sub(r"\s", "", words) + ";" not in text], [])


def test_cplusplus(_):
    """the headers are C++11 without a warning"""
    compilers = [name for name in ("g++", "clang++") if shutil.which(name)]
    if not compilers:
        raise SkipTest("no g++ and no clang++")
    program = """#include "libprocmap.h"
                 #include "procmap-abi.h"
                 #include "process-vm-abi.h"
                 struct procmap_vma vma = PROCMAP_VMA_INIT;
                 struct procmap_batch batch = PROCMAP_BATCH_INIT;
                 uint64_t offset(void) { return procmap_file_offset(&vma, batch.size); }
                 """
    above = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    for compiler in compilers:
        succeeds([compiler], "-std=c++11", "-Wall", "-Wextra", "-pedantic-errors", "-Werror",
                 "-fsyntax-only", "-I", above, "-x", "c++", "-", stdin=program)


def test_bad_options(target):
    """bad options: one line, status 2"""
    pid = target.pid
    for words, says in (
            (["--foo", pid], "unknown or ambiguous option '--foo', see --help"),
            (["--ver", pid], "unknown or ambiguous option '--ver', see --help"),
            (["-Z", pid], "unknown option '-Z', see --help"),
            (["--json", "-rZ", pid], "unknown option '-Z', see --help"),
            (["-:", pid], "unknown option '-:', see --help"),
            (["-\x1b", pid], "unknown option '-\\033', see --help"),
            (["--json=1", pid], "option '--json=1' takes no value, see --help"),
            ([pid, "--verify", "--count"], "option '--count' needs a value, see --help"),
            (["--text", "--query", pid], "--scan, --query and --text exclude each other"),
            (["-qS", pid], "--scan, --query and --text exclude each other"),
            (["--count", 5, pid], "--count goes with --verify only"),
            (["--verify", pid, "1000"],
             "--verify chooses the addresses itself: give only a PID"),
            (["--verify", "--text", pid], "--verify needs scans or queries: leave --text out"),
            (["--verify", "--json", pid], "--verify goes with --count only"),
            (["--verify", "--exec", pid], "--verify goes with --count only"),
            (["--exec", pid, "1000"], "filters (--exec and so on) go with the list only"),
            ([], "which process? Give a PID, see --help")):
        refuses([PROCMAP], *words, says=says)
    for count in "0", "-1", "x", "1x", "", " 1", "100000001", "99999999999999999999":
        refuses([PROCMAP], "--verify", "--count", count, pid,
                says=f"bad count '{count}': give a decimal number from 1 to 100000000")


def test_bad_pids(_):
    """PIDs that are none, and processes that are not there"""
    for pid in "0", "-", "x", "1x", "", " 1", "+1", "0x1", "2147483648", "99999999999999999999":
        refuses([PROCMAP], pid, says=f"bad PID '{pid}': give a decimal number")
    for client in clients():
        refuses(client, "2147483647", says="there is no process 2147483647")
        refuses(client, "2147483647", "1000", says="there is no process 2147483647")
    refuses([FAKE], "--verify", "2147483647", says="there is no process 2147483647")


def test_bad_watch(target):
    """watch: bad words are one line, status 2"""
    pid = target.pid
    only = "watch goes with a PID, filters, --build-id, --interval, --scan, --query and --text only"
    for words, says in (
            (["watch"], "which process? Give a PID, see --help"),
            (["watch", pid, "1000"], only),
            (["watch", "--json", pid], only),
            (["watch", "--verify", pid], only),
            (["watch", "-i", 0, pid], "bad interval '0': give milliseconds from 1 to 3600000"),
            (["watch", "-i", 3600001, pid],
             "bad interval '3600001': give milliseconds from 1 to 3600000"),
            (["-i", 9, pid], "--interval goes with watch only"),
            (["watch", 999999999], "there is no process 999999999")):
        refuses([PROCMAP], *words, says=says)


def watching(client, *words):
    """A running watch."""
    return subprocess.Popen([*client, "watch", *map(str, words)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="surrogateescape",
                            env={**os.environ, "PROCMAP_FAKE": ""})


def test_watch(target):
    """watch: what is there, then what comes and goes; it ends with the process"""
    for client in clients():
        for options in [], ["-x", "-f"]:
            with Target(cwd=target.cwd) as quiet:
                listed = succeeds(client, *options, quiet.pid).splitlines()[1:]
                watch = watching(client, *options, "-i", 10, quiet.pid)
                lines = [watch.stdout.readline() for _ in listed]
                equal(select.select([watch.stdout], [], [], 0.05)[0], [])
            equal([re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} \+ (.*)\n", line)[1] for line in lines],
                  listed)
            # At its end the process may unmap something.
            equal((watch.communicate()[1], watch.returncode), ("", 0))
        with Target("--change", cwd=target.cwd) as changing:
            watch = watching(client, "-i", 1, changing.pid)
            signs = ""
            while not re.search(r"-+\++-", signs):
                signs += watch.stdout.readline().split()[1]
        _, errors = watch.communicate()
        equal((errors, watch.returncode), ("", 0))


def test_zombie(_):
    """a process that has exited but is still there"""
    with subprocess.Popen(["true"]) as zombie:
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        says = f"process {zombie.pid} has no mappings: it has exited or called execve(), " \
               "or is a kernel thread"
        for client in clients():
            refuses(client, zombie.pid, says=says)
            refuses(client, "--json", zombie.pid, says=says)
            refuses(client, zombie.pid, "1000", says=says)
        refuses([FAKE], "--verify", zombie.pid, says=says)


def test_permission(_):
    """a process of somebody else"""
    if os.getuid():
        raise SkipTest("only root can become somebody else")
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        for client in clients():
            # Not where it was built: that may be closed for others.
            mine = [shutil.copy(client[0], directory), *client[1:]]
            refuses(mine, os.getpid(), user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[],
                    says=f"no permission to read the mappings of process {os.getpid()}: "
                         "try as its owner or as root")


def test_no_queries(target):
    """a kernel without scans, or queries: the next best; --scan, --query and --verify refuse"""
    text = succeeds(TEXT, target.pid)
    for fake, backend in ("", "scan"), ("noscan", "query"), ("off", "text"):
        equal(succeeds([FAKE], target.pid, fake=fake), text)
        equal(json.loads(succeeds([FAKE], "-j", target.pid, fake=fake))["backend"], backend)
    for client, fake in (QUERY, "off"), (SCAN, "off"), (SCAN, "noscan"):
        refuses(client, target.pid, fake=fake, says=NO_IOCTL)
        refuses(client, target.pid, "1000", fake=fake, says=NO_IOCTL)
        refuses(client, "watch", target.pid, fake=fake, says=NO_IOCTL)
    refuses(QUERY, "--verify", target.pid, fake="off",
            says="this kernel has no PROCMAP_QUERY: nothing to verify")
    refuses(SCAN, "--verify", target.pid, fake="noscan",
            says="this kernel has no PROCMAP_SCAN: nothing to verify")


def test_kernel_errors(target):
    """errors from the kernel, at once and midway"""
    pid = target.pid
    says = f"cannot read the mappings of process {pid}: Input/output error"
    for client in QUERY, SCAN:
        refuses(client, pid, fake=f"errno:{EIO}:1", says=says)
        refuses(client, pid, "1000", fake=f"errno:{EIO}:2", says=says)
        refuses(client, "watch", pid, fake=f"errno:{EIO}:2", says=says)
    # The first query is to see whether there are any; scans fetch eight VMAs, then more.
    for client, nth, lines in (QUERY, 10, 9), (SCAN, 3, 9):
        status, out, errors = run(client, pid, fake=f"errno:{EIO}:{nth}")
        equal((status, errors), (2, f"procmap: {says}\n"))
        equal(len(out.splitlines()), lines)
    gone = f"procmap: process {pid} has no mappings: it has exited or called execve(), " \
           "or is a kernel thread\n"
    status, out, errors = run([FAKE], "--verify", pid, fake=f"errno:{ESRCH}:500")
    equal((status, errors), (2, gone))
    status, out, errors = run([FAKE, "--text"], pid, fake="eof:2")
    equal((status, errors), (2, gone))


def test_list(target):
    """the list: every line is that of the text"""
    maps = target.maps()
    for client in clients():
        lines = succeeds(client, target.pid).split("\n")
        equal(lines[0].split(), ["ADDRESSES", "PERM", "OFFSET", "NAME"])
        equal(len(lines), len(maps) + 2)
        for line, vma in zip(lines[1:], maps):
            name = re.sub("[\0-\x1f\x7f-\x9f\udc80-\udc9f]",
                          lambda c: "".join(f"\\{byte:03o}" for byte in os.fsencode(c[0])),
                          vma["name"] or "[name not known]" * vma["file_backed"])
            want = "{}-{} {} {}".format(vma["start"][2:].zfill(12), vma["end"][2:].zfill(12),
                                        vma["perms"], vma["offset"][2:].zfill(8))
            equal(line, f"{want} {name}" if name else want)


def test_list_json(target):
    """the list as JSON: every member is that of the text, with all filters"""
    perms = {"--read": "r...", "--write": ".w..", "--exec": "..x.", "--shared": "...s"}
    for client in clients():
        for options in ([], ["--read"], ["--write"], ["--exec"], ["--shared"], ["--file"],
                        ["--file", "--exec"], ["--write", "--shared", "--read"],
                        ["--shared", "-x"]):
            maps = [vma for vma in target.maps() if
                    all(re.match(perms.get(option.replace("-x", "--exec"), "...."), vma["perms"])
                        for option in options if option != "-x") and
                    ("-x" not in options or vma["perms"][2] == "x") and
                    ("--file" not in options or vma["file_backed"])]
            got = json.loads(succeeds(client, "--json", *options, target.pid))
            equal(got["pid"], target.pid)
            asked = client[-1][2:] if len(client) > 1 else best_backend()
            equal(got["backend"], asked)
            query = asked != "text"
            for vma in got["vmas"]:
                equal(vma.pop("page_size", None), 4096 if query else None)
                vma["name"] = as_text(vma["name"])
            equal(got["vmas"], maps)


def test_json_tool(target):
    """JSON: python's json.tool takes it, names come through byte for byte"""
    tool = [sys.executable, "-m", "json.tool"]
    for client in clients():
        for words in (), ("1000",), (hex(target.at["utf8"]),), ("-",):
            _, out, _ = run(client, "-j", target.pid, *words)
            subprocess.run(tool, input=out.encode(), stdout=subprocess.DEVNULL, check=True)
        odd = b"/\xc3\xa4\xff\xed\xa0\x80\xc0\xaf\xe0\x80\xaf\xf4\x90\x80\x80"
        for what, name in (("utf8", odd), ("control", b"/\x1b[31m\x7f"),
                           ("c1", b"/c\xc2\x9b31m\xc2\x80\xc2\xa0\x9b"),
                           ("newline", b"/new\nline"), ("quotes", b'/"quotes\\"'),
                           ("spaces", b"/with spaces  "), ("deleted", b"/gone (deleted)")):
            out = succeeds(client, "-j", target.pid, hex(target.at[what]))
            got = os.fsencode(json.loads(out)["addresses"][0]["vma"]["name"])
            equal(got.endswith(name), True)
            equal(re.findall("[\x7f-\x9f\udc80-\udcff]", out), [])


def test_names(target):
    """names: deleted files, newlines; none where it is longer than PATH_MAX"""
    for client in clients():
        for what, name in (("plain", "/plain"), ("deleted", "/gone (deleted)"),
                           ("named-deleted", "/x (deleted)"), ("newline", "/new\\012line"),
                           ("escape", "/new\\012line"), ("control", "/\\033[31m\\177"),
                           ("c1", "/c\\302\\23331m\\302\\200\xa0\\233"),
                           ("deep", "  [name not known]")):
            line = succeeds(client, target.pid, hex(target.at[what] + 0x1234))
            equal(line.endswith(name + "\n"), True)
            equal(line.split()[1], "0x2234")


def test_addresses(target):
    """addresses: answers in the order they were given, holes make status 1"""
    hole = hex(target.at["hole"] + 0x1000)
    plain = target.at["plain"]
    for client in clients():
        given = [f"{plain + 0x2fff:x}", f"{plain:#X}", hole, "0", f"{target.at['anon']:x}",
                 "ffffffffffffffff", "ffffffffff600000", f"{plain:#x}"]
        out = succeeds(client, target.pid, *given, status=1)
        rows = [line.split() for line in out.splitlines()]
        equal([int(row[0], 16) for row in rows], [int(word, 16) for word in given])
        equal([row[1] for row in rows],
              ["0x3fff", "0x1000", "unmapped", "unmapped", "-", "unmapped", "unmapped", "0x1000"])
        equal(rows[4][3] in ("anonymous", "[anon:a"), True)
        # The same from standard input, in lines of all kinds.
        words = f"\n {given[0]}\t{given[1]}\r\n" + "\n".join(given[2:])
        equal(succeeds(client, target.pid, "-", stdin=words, status=1), out)
        equal(succeeds(client, target.pid, "-", stdin=" \n\n"), "")
        got = json.loads(succeeds(client, "--json", target.pid, *given, status=1))["addresses"]
        equal([row["mapped"] for row in got], [True, True, False, False, True, False, False, True])
        equal([row.get("file_offset") for row in got],
              ["0x3fff", "0x1000", None, None, None, None, None, "0x1000"])
        equal({row["vma"]["start"] for row in got if row.get("file_offset")}, {hex(plain)})


def test_bad_addresses(target):
    """addresses that are none"""
    for word in ("x", "0x", "", " 1", "+1", "0x0x1", "1g", "-", "10000000000000000", "[heap]"):
        says = f"bad address '{word}': give a hexadecimal number of at most 64 bits"
        refuses([PROCMAP], target.pid, "1000", word, says=says)
    for word, shown in (("z" * 100000, "z" * 64 + "..."), ("\x1b]0;x\x07", r"\033]0;x\007")):
        says = f"bad address '{shown}' in line 1 of standard input: " \
               "give a hexadecimal number of at most 64 bits"
        refuses([PROCMAP], target.pid, "-", stdin=f"{word}\n", says=says)
    refuses([PROCMAP], target.pid, "-", stdin="1000\n2000 zz 3000\n",
            says="bad address 'zz' in line 2 of standard input: "
                 "give a hexadecimal number of at most 64 bits")
    refuses([PROCMAP], target.pid, "-", stdin="1000\n20\x0000\n",
            says="bad address in line 2 of standard input: there is a NUL in it")
    done = subprocess.run([PROCMAP, str(target.pid), "-"], stdin=os.open("/", os.O_RDONLY),
                          capture_output=True, check=False)
    equal((done.returncode, done.stdout, done.stderr),
          (2, b"", b"procmap: cannot read standard input: Is a directory\n"))


def readelf_build_id(path):
    """The build ID of a file, or '-'."""
    out = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=False)
    match = re.search(r"Build ID: (\w+)", out.stdout)
    return match[1] if match else "-"


def test_build_ids(target):
    """build IDs: '?' where nobody can tell, those of readelf where the kernel has them"""
    lines = succeeds(TEXT, "--build-id", target.pid).splitlines()[1:]
    equal({line.split()[3] for line in lines}, {"?"})
    for client, file in (QUERY, "?"), (SCAN, "-"):
        lines = succeeds(client, "--build-id", target.pid).splitlines()[1:]
        equal([line.split()[3] for line in lines],
              [file if vma["file_backed"] else "-" for vma in target.maps()])
        plain = target.at["plain"]
        equal(succeeds(client, target.pid, f"{plain:x}").split()[2], file)
        row, = json.loads(succeeds(client, "-j", target.pid, f"{plain:x}"))["addresses"]
        equal(row["vma"].get("build_id", "?"), {"?": "?", "-": None}[file])
    equal("build_id" in succeeds(TEXT, "--json", "--build-id", target.pid), False)
    if not kernel_has("--query") or not shutil.which("readelf"):
        raise SkipTest("no PROCMAP_QUERY, or no readelf")
    for client in clients()[3:]:
        rows = [line.split(maxsplit=4)
                for line in succeeds(client, "-bxf", target.pid).splitlines()[1:]]
        equal(bool(rows), True)
        for row in rows:
            equal(row[3].replace("?", "-"), readelf_build_id(row[4]))


def test_output(target):
    """output that cannot be written is an error"""
    many = "0\n" * 100000
    for words, stdin in (("--help",), ""), ((target.pid,), ""), (("-j", target.pid), ""), \
            ((target.pid, "-"), many), (("--version",), ""):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROCMAP, *map(str, words)], input=stdin.encode(), stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        equal((done.returncode, done.stderr),
              (2, b"procmap: cannot write the output: No space left on device\n"))
        read, write = os.pipe()
        os.close(read)
        # Python has SIGPIPE ignored, and so has the client then.
        done = subprocess.run([PROCMAP, *map(str, words)], input=stdin.encode(), stdout=write,
                              stderr=subprocess.PIPE, check=False, restore_signals=False)
        os.close(write)
        equal((done.returncode, done.stderr),
              (2, b"procmap: cannot write the output: Broken pipe\n"))
    done = subprocess.run(["sh", "-c", '"$0" "$@" <&-', PROCMAP, str(target.pid), "-"],
                          capture_output=True, check=False)
    equal((done.returncode, done.stdout, done.stderr),
          (2, b"", b"procmap: cannot read standard input: Bad file descriptor\n"))
    done = subprocess.run(["sh", "-c", '"$0" "$@" >&-', PROCMAP, str(target.pid)],
                          capture_output=True, check=False)
    equal((done.returncode, done.stderr),
          (2, b"procmap: cannot write the output: Bad file descriptor\n"))


def test_output_of_the_last(target):
    """output that cannot be written is the same error if only the last mapping fills the buffer"""
    with Target("--only", "2", cwd=target.cwd) as few:
        fits = 2 + (4096 - len(succeeds([PROCMAP], few.pid))) // 40
    for nr in range(max(2, fits - 2), fits + 4):
        with Target("--only", str(nr), cwd=target.cwd) as some, open("/dev/full", "wb") as full:
            done = subprocess.run([PROCMAP, str(some.pid)], stdout=full, stderr=subprocess.PIPE,
                                  check=False)
        equal((done.returncode, done.stderr),
              (2, b"procmap: cannot write the output: No space left on device\n"))


def verify(out):
    """The figures in the summary of --verify, and the number of lines before it."""
    match = re.fullmatch(r"((?:.*\n)*)process \d+: (\d+) addresses .*\n"
                         r"(\d+) in (\d+) VMAs \(the text has (\d+)\) of (\d+) files, "
                         r"(\d+) in holes\n"
                         r"text read again (\d+) times after a difference, "
                         r"which did not explain it (\d+) times\n"
                         r"(\d+) mismatches\n", out)
    names = "addresses mapped vmas text_vmas files holes rereads unexplained mismatches"
    return match[1].count("\n"), dict(zip(names.split(), map(int, match.groups()[1:])))


def test_verify(target):
    """--verify: all VMAs and files, as many addresses as wanted"""
    maps = target.maps()
    for client in [QUERY, SCAN] + clients()[3:-1]:
        for count in 1, 1000, 2500:
            lines, got = verify(succeeds(client, "--verify", "--count", count, target.pid))
            equal(15 <= lines <= 22, True)
            equal(got["addresses"] >= count, True)
            equal(got["mapped"] + got["holes"], got["addresses"])
            equal((got["vmas"], got["text_vmas"]), (len(maps), len(maps)))
            equal(got["files"],
                  len({(vma["dev"], vma["inode"]) for vma in maps if vma["file_backed"]}))
            equal((got["holes"] >= 4, got["mismatches"]), (True, 0))
            equal((got["rereads"], got["unexplained"]), (0, 0))


def test_verify_lies(target):
    """--verify: a wrong answer is found; one that was only out of date is not held against it"""
    status, out, errors = run([FAKE], "--verify", target.pid, fake="lie:200:100000")
    lines, got = verify(out)
    equal((status, errors), (1, ""))
    equal((got["mismatches"] > 500, got["rereads"] > 500), (True, True))
    equal(out.count("MISMATCH at 0x"), 10)
    equal(lines < 55, True)
    _, got = verify(succeeds([FAKE], "--verify", target.pid, fake="lie:200:201"))
    equal((got["mismatches"], got["rereads"] in (1, 2)), (0, True))
    equal(got["unexplained"], got["rereads"])
    # What the handle has kept is not asked for again and again.
    _, got = verify(succeeds(SCAN, "--verify", target.pid, fake="kept:4:8"))
    equal((got["mismatches"], got["unexplained"] > 0), (0, True))


def test_verify_changing(target):
    """--verify: of a process that changes its mappings all the time"""
    client = PROCMAP if kernel_has("--query") else FAKE
    with Target("--change", cwd=target.cwd) as changing:
        _, got = verify(succeeds([client], "--verify", changing.pid))
    equal(got["mismatches"], 0)


def test_no_mappings(_):
    """a process that has unmapped everything: an empty list, nothing to verify"""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        lines = file.read().splitlines()
    if not lines[-1].endswith("[vsyscall]"):
        raise SkipTest("without [vsyscall] the text does not tell this from an exit")
    end = int(re.match(r"\w+-(\w+)", lines[-2])[1], 16)
    libc = ctypes.CDLL(None)
    pid = os.fork()
    if not pid:
        libc.ptrace(0, 0, None, None)
        libc.munmap(None, ctypes.c_size_t(end))
        os._exit(1)
    equal(os.WSTOPSIG(os.waitpid(pid, 0)[1]), signal.SIGSEGV)
    try:
        for client in clients():
            equal(len(succeeds(client, pid).splitlines()), 1)
            equal(succeeds(client, pid, "1000", status=1).split()[1], "unmapped")
        for client in QUERY, SCAN:
            status, out, errors = run(client, "--verify", pid)
            equal((status, errors), (1, "procmap: only 0 of 1000 addresses verified: "
                                        "there are no more in this process\n"))
            equal(verify(out)[1]["text_vmas"], 0)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def test_many(target):
    """a process with 20,000 mappings"""
    with Target("20000", cwd=target.cwd) as many:
        maps = many.maps()
        equal(len(maps) > 20000, True)
        for client in [TEXT] + clients()[3:-1]:
            equal(len(succeeds(client, many.pid).splitlines()), len(maps) + 1)
            stdin = "\n".join(f"{many.at['many'] + i * 4096:x}" for i in reversed(range(20000)))
            equal(len(succeeds(client, many.pid, "-", stdin=stdin).splitlines()), 20000)


class SkipTest(Exception):
    """The kernel or the machine lacks something."""


def main():
    """Run all tests with one process to look at. Return the exit status."""
    tests = [value for name, value in globals().items() if name.startswith("test_")]
    failed = 0
    print("TAP version 13")
    with tempfile.TemporaryDirectory() as directory, Target(cwd=directory) as target:
        target.cwd = directory
        for number, test in enumerate(tests, 1):
            result, skip = "ok", ""
            try:
                test(target)
            except SkipTest as why:
                skip = f" # SKIP {why}"
            except Exception:  # pylint: disable=broad-except
                result = "not ok"
                failed += 1
                print("# " + traceback.format_exc().strip().replace("\n", "\n# "))
            print(f"{result} {number} - {test.__doc__}{skip}", flush=True)
    print(f"1..{len(tests)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
