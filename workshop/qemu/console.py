# SPDX-License-Identifier: GPL-2.0
"""What the console of a test machine says: splats and panics."""

import re

SPLAT = re.compile("|".join((
    r"\bBUG: ", r"\bkernel BUG at\b", r"\bWARNING: ", r"\bKASAN: ", r"\bKCSAN: ", r"\bUBSAN: ",
    r"\bkmemleak: \d+ new suspected", r"^unreferenced object ", r"\bINFO: task .* blocked for more",
    r"\bINFO: rcu_\w+ .*detected", r"\brcu: INFO: ", r"\brcu: .*stall", r"\bINFO: trying to register non-static key",
    r"\bINFO: possible ", r"\bDEBUG_LOCKS_WARN_ON\b", r"\[ INFO: ", r"\bgeneral protection fault",
    r"\bOops: ", r"\bunable to handle ", r"\binvalid opcode: ", r"\bdivide error: ", r"\bstack segment: ",
    r"\brefcount_t: ", r"\bBad page ", r"\bbad pmd ", r"\bBad rss-counter ", r"\bnon-zero pgtables_bytes",
    r"\bswap_info_get: ", r"\blist_(?:add|del) corruption", r"\bsoft lockup\b", r"\bhard LOCKUP\b",
    r"\bslab .*corrupt", r"\bOut of memory and no killable\b", r"\bhung_task: blocked tasks",
    r"\bVFS: Busy inodes\b", r"\bscheduling while atomic\b", r"\bsleeping function called\b",
    r"\bcheck_flags\b.*lock", r"\bIRQ handler .* enabled interrupts",
)))
PANIC = re.compile(r"\bKernel panic - not syncing: (.*)")
STAMP = re.compile(r"^\[ *\d+\.\d+\](?:\[ *[CT]\d+\])? ?")
# Not splats: the kernel's own command line, and what the kernel says about warnings at start.
HARMLESS = re.compile(r"Command line: |^Unknown kernel command line parameters")
INT3 = re.compile(r"int3: 0000 \[#1\]")
TEXT_LINES = 60
# What SysRq-T prints of a task, and a function on its stack
TASK = re.compile(r"task:(\S+) +state:(\S).* pid:(\d+) .*ppid:(\d+) ")
FRAME = re.compile(r" (\w[\w.]*)\+0x")
KTHREADD = "2"


def lines(text):
    """The console's lines without time stamps and carriage returns."""
    return [STAMP.sub("", line.rstrip("\r")) for line in text.split("\n")]


def find_splat(text, known=()):
    """The text of the first splat, up to the end of its trace; None when there is none.

    A splat whose first line matches one of the known patterns is passed over.
    """
    every, number = lines(text), 0
    while number < len(every):
        line = every[number]
        if SPLAT.search(line) and not HARMLESS.search(line):
            end = splat_end(every, number)
            if not any(pattern.search(line) for pattern in known):
                begin = number - 1 if number and set(every[number - 1]) == {"="} else number
                return "\n".join(every[begin:end])
            number = end
        else:
            number += 1
    return None


def splat_end(every, start):
    """One past the last line of the splat that starts here."""
    for number in range(start + 1, min(start + TEXT_LINES, len(every))):
        if "---[ end " in every[number] or (set(every[number]) == {"="} and number > start + 2):
            return number + 1
    return min(start + TEXT_LINES, len(every))


def find_panic(text):
    match = PANIC.search(text)
    return match.group(1).strip() if match else None


def emulator_fault(text, crashed=False):
    """Did the emulator fail before the first program ran?

    With a thread for each processor, QEMU's translator may run an old version of an instruction
    while another processor patches it. A kernel with jump labels patches one when it finds its
    clock stable, the last thing in a boot. A breakpoint stands there for a moment. If QEMU runs
    that breakpoint later, nobody owns it any more. An idle processor then dies of "int3", or of the
    fault of its handler, without a word. Our kernels have no jump labels (plain.config), but the
    one that --kernel names may have them.

    @crashed: QEMU ended by a segmentation fault of its own, which no kernel may cause.
    """
    every = [line for line in lines(text) if line.strip()]
    if any(line.startswith("Run /init") for line in every):
        return False
    if crashed or not every:
        return crashed
    return (any(INT3.match(line) for line in every)
            or every[-1].startswith("sched_clock: Marking stable"))


def tail(text, count=40):
    return "\n".join(lines(text.rstrip("\n"))[-count:])


def programs(text):
    """Of what SysRq-T prints: for each task of a program a line, with the functions on its stack."""
    told, skip = [], True
    for line in lines(text):
        task, frame = TASK.match(line), FRAME.match(line)
        if task:
            name, state, pid, parent = task.groups()
            skip = KTHREADD in (pid, parent)
            told += [] if skip else [f"{name} {pid}, child of {parent}, {state}:"]
        elif frame and not skip:
            told[-1] += f" {frame[1]}"
    return told
