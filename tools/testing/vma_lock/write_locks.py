#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Is every VMA write-locked before a write to it? usage: write_locks.py TREE [--self-test]

Finds all writes to the fields of VMAs that Documentation/mm/vma_lock.rst protects, all stores to
trees of VMAs, and all places that free a VMA, in a kernel tree. Each must be one of these:

locked   the VMA is write-locked before it in the same function, on every path
new      the VMA has been allocated in this function, or is an object that is in no tree
mmap     the VMA is the parameter of an ->mmap() handler, which attaches it later
excused  the table names it, with a reason

--self-test removes each write-lock of the tree in turn: the check must fail then.
Exit status: 0 all is well, 1 something is not write-locked or excused, 2 the check could not be
made.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COCCI = os.path.join(HERE, "write_locks.cocci")
TABLE = os.path.relpath(os.path.join(HERE, "write_locks.table"))
TOP = ("arch", "block", "drivers", "fs", "include", "init", "io_uring", "ipc", "kernel", "lib",
       "mm", "net", "security", "sound", "virt")
# The maple tree itself; trace events, which have fields of the same names; without an MMU there are
# no such locks (CONFIG_VMA_SEARCH); KUnit's test of the lock makes VMAs as it likes.
LEAVE_OUT = re.compile(r"include/trace/|lib/(test_)?maple_|include/linux/maple_|mm/nommu\.c|"
                       r"mm/vma_lock_kunit\.c")

FIELDS = r"(?:vm_start|vm_end|vm_pgoff|(?:__)?vm_flags|vm_file|anon_name)"
FIELD = re.compile(FIELDS + "$")
ASSIGN = r"(?:=(?!=)|[-+|&^]=|<<=|>>=|\+\+|--)"
# What a line of text looks like that writes a field. spatch has to see all of these.
LINE = re.compile(rf"[\w\])](?:->|\.){FIELDS}\s*{ASSIGN}|WRITE_ONCE\([^,]*->{FIELDS},")
CALL = re.compile(r"^\s.*?\b((?:vma_tree_store(?:_gfp)?|vma_mas_\w+|vma_iter_(?:store|clear|bulk_store)\w*|"
                  r"vm_flags_(?:init|reset|set|clear|mod)\w*|vma_set_(?:file|range)|vm_area_free|"
                  r"remove_vma|mas_(?:wr_)?(?:store|erase)\w*|__mt_destroy))\(")
# These write-lock the VMA themselves; vm_flags_set() in include/linux/mm.h is looked at like the
# rest.
OWN_WRITE_LOCK = ("vm_flags_set", "vm_flags_clear", "vm_flags_mod", "vma_tree_store_gfp")
STORES = (r"(?:mas_store|mas_wr_store|mas_insert|mas_erase|mtree_store|mtree_insert|mtree_erase|"
          r"mtree_destroy|__mt_destroy)")
HELPERS = (r"(?:vma_mas_|vma_tree_store|vma_iter_(?:store|clear|bulk)|vma_set_file|vma_set_range|"
           r"vm_flags_(?:init|reset|set|clear|mod)|__vm_flags_mod|vm_area_free|remove_vma|"
           r"kmem_cache_free\(vm_area_cachep)")
WHOLE = (r"\*\w*vma = |\*(?:new|tmp) = |mem(?:set|cpy|move)\(&?\w*(?:vma|new)\b")
GREP = (rf"(->|\.){FIELDS}[[:space:]]*([-+|&^<>]*=[^=]|\+\+|--)|&[^;]*(->|\.){FIELDS}|"
        rf"(\+\+|--)[a-z_>.-]*(->|\.){FIELDS}|WRITE_ONCE\(.*{FIELDS}|swap\(.*{FIELDS}|"
        rf"ACCESS_PRIVATE|\b{STORES}[a-z_]*\(|\b{HELPERS}|{WHOLE}").replace("(?:", "(")

WRITE_LOCK = re.compile(r"^\s*(vma_change_begin|vma_change_attach|vma_write_detach|"
                        r"vma_note_removal|vma_cancel_detach|vma_tree_store|vma_note_code|"
                        r"vma_lock_retire)\(.*\);$")
# Files whose write-locks --self-test removes: not the lock itself.
LOCKING = re.compile(r"(?!mm/vma_lock)(mm|fs|kernel|ipc|arch|drivers)/|include/linux/mm\.h")
# Removing these leaves no write in the same function without a write-lock.
NO_WRITE_LOCK = {
    "vma_change_begin(brkvma)": "for mm->brk, which names the VMA",
    "brk_change_begin: vma_change_begin(vma)": "for mm->brk, which names the VMA",
    "vma_change_begin(remove)":
        "vma_complete() frees it, and vm_area_free() asserts the write-lock",
    "vma_change_begin(remove2)":
        "vma_complete() frees it, and vm_area_free() asserts the write-lock",
    "dup_mmap: vma_change_attach(tmp)": "no reader can lock a VMA that stays detached",
    "vma_tree_store_gfp: vma_change_attach(vma)":
        "no reader can lock a VMA that stays detached",
    "vms_gather_munmap_vmas: vma_note_removal(vms->vma->vm_mm, vms->start, vms->end)":
        "for vma_write_detach(), which asserts it; the callers store",
    "vma_cancel_detach": "attaches again what was not removed: nothing is written",
    "vma_note_code": "a note for readers of generations, next to the write-lock",
}

Excuse = collections.namedtuple("Excuse", "number word file function what reason")


class Failure(Exception):
    """The check could not be made; the text is for the user."""


class Write:
    """A write to a VMA, a store to a tree, or a release, with what spatch says about it."""

    def __init__(self, path, line, function, vma, name):
        self.path, self.line, self.function, self.name = path, line, function, name
        self.vma = re.sub(r"\s+", "", vma)
        self.facts = set()
        self.given, self.kept = set(), set()
        self.type = ""

    @property
    def what(self):
        """The field, or the store, as the table has it."""
        if FIELD.match(self.name):
            return f"{self.vma}->{self.name}"
        return f"{self.name}({self.vma})"

    def is_store(self):
        """Is this a store to a tree without vma_tree_store()?"""
        return bool(re.match(STORES, self.name))

    def is_write_locked(self):
        """Does every path come from a write-lock?"""
        if self.is_store():
            return "later" in self.facts and "never" not in self.facts
        if self.vma == "NULL":
            return "noted" in self.facts
        if self.name in OWN_WRITE_LOCK:
            return True
        return "lock" in self.facts and "bare" not in self.facts

    def is_partly_write_locked(self):
        """Does some path come from a write-lock, also of what is freed under another name?"""
        return "lock" in self.facts and self.given <= self.kept

    def is_new(self):
        """Does every path come from the allocation?"""
        if self.type == "struct vm_area_struct":
            return True
        return ("new" in self.facts and "bare" not in self.facts and not self.is_store() and
                self.name != "vma_tree_store")

    def advice(self):
        """What to do about it."""
        if self.is_store():
            return "store with vma_tree_store(), or excuse it in the table"
        if self.vma == "NULL":
            return "call vma_note_removal() before, or excuse it in the table"
        if self.name == "vma_tree_store":
            return f"call vma_change_attach({self.vma}) before, or excuse it in the table"
        if self.name == "whole":
            return "set the fields one by one, or excuse it in the table"
        some = " on every path" if "lock" in self.facts else ""
        return f"call vma_change_begin({self.vma}) before{some}, or excuse it in the table"


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def grep(tree, *args):
    """What grep says about the C files of the tree."""
    tops = [top for top in TOP if os.path.isdir(os.path.join(tree, top))]
    result = subprocess.run(["grep", "-rE", "--include=*.c", "--include=*.h", *args, *tops],
                            cwd=tree, capture_output=True, text=True, errors="surrogateescape",
                            env=dict(os.environ, LC_ALL="C"), check=False)
    if result.returncode > 1:
        raise Failure(f"grep fails in {tree}: {result.stderr.strip()}")
    return result.stdout.splitlines()


def candidates(tree):
    """Files that may write to a VMA."""
    about = re.compile(r"vm_area_struct|VMA_ITERATOR|\bvma->|mm_mt\b")
    return sorted(name for name in grep(tree, "-l", "-e", GREP)
                  if not LEAVE_OUT.match(name) and about.search(read(os.path.join(tree, name))))


def mmap_handlers(tree):
    """The functions that are assigned to a member that is named mmap or the like."""
    handlers = set()
    assigned = r"(\.|->)[a-z_]*mmap[[:space:]]*=[[:space:]]*&?[A-Za-z_0-9]+"
    for line in grep(tree, "-o", "-e", assigned):
        handlers.add(re.split(r"[\s=&]+", line)[-1])
    return handlers


def run_spatch(tree, names):
    """The facts about some files of a tree."""
    with tempfile.NamedTemporaryFile("w", suffix=".groups") as groups:
        # One group for each file: spatch forgets a file before it reads the next one
        groups.write("\n\n".join(os.path.join(tree, name) for name in names) + "\n")
        groups.flush()
        try:
            result = subprocess.run(["spatch", "--sp-file", COCCI, "-D", "report", "--no-includes",
                                     "--include-headers", "--very-quiet", "--file-groups",
                                     groups.name],
                                    capture_output=True, text=True, errors="surrogateescape",
                                    check=False)
        except FileNotFoundError:
            raise Failure("spatch is missing; install the package coccinelle") from None
    if result.returncode:
        text = result.stderr.strip().splitlines() or ["no message"]
        raise Failure(f"spatch fails: {text[-1]}")
    return [line.split("\t") for line in result.stdout.splitlines() if line.count("\t") == 5]


def collect(tree, names):
    """All writes in these files, by place; those to other structures are left out."""
    facts = run_spatch(tree, names)
    texts = {name: read(os.path.join(tree, name)).split("\n") for name in names}
    writes = {}
    for word, path, line, column, function, text in facts:
        place = os.path.relpath(path, tree), int(line), int(column)
        if word == "whole":
            writes[place] = Write(place[0], place[1], function, "*", "whole")
        elif word == "write":
            name = re.match(r"\w*", texts[place[0]][place[1] - 1][place[2]:]).group()
            writes[place] = Write(place[0], place[1], function, text, name)
    for word, path, line, column, _, text in facts:
        write = writes[os.path.relpath(path, tree), int(line), int(column)]
        if word == "type":
            write.type = text
        elif word in ("given", "kept"):
            getattr(write, word).add(text)
        else:
            write.facts.add(word)
    seen = {(path, line) for path, line, _ in writes}
    for name, lines in texts.items():
        for number, line in enumerate(lines, 1):
            if (LINE.search(line) or CALL.match(line)) and (name, number) not in seen and \
                    not is_prose(line):
                writes[name, number, 0] = unseen(name, number, line)
    return [write for _, write in sorted(writes.items()) if not is_other(write)]


def is_prose(line):
    return bool(re.match(r"\s*(\*|/\*|//|\.\w+\s*=)", line)) or '"' in line


def unseen(name, number, line):
    """A write that spatch did not see: in a macro, or in what it cannot parse."""
    call = CALL.match(line)
    if call:
        return Write(name, number, "?", "?", call[1])
    vma, field = re.search(rf"([\w.>()*-]*?)(?:->|\.)({FIELDS})\s*(?:{ASSIGN}|,)", line).groups()
    return Write(name, number, "?", vma or "?", field)


def is_other(write):
    """Is this a field of another structure?"""
    return bool(write.type) and not re.match(r"(const )?struct vm_area_struct\b", write.type)


def read_table(path):
    """The excuses."""
    excuses = []
    for number, line in enumerate(read(path).splitlines(), 1):
        if not line.strip() or line[0] == "#":
            continue
        fields = line.split(None, 4)
        if len(fields) < 5 or fields[0] not in ("excused", "partly"):
            raise Failure(f"{path}:{number}: not `excused|partly FILE FUNCTION WRITE REASON`")
        word, name, function, what, reason = fields
        excuses += [Excuse(number, word, name, function, one, reason) for one in split(what)]
    return excuses


def split(what):
    """The writes of one line of the table: vma->{vm_start,vm_end} is two."""
    match = re.fullmatch(r"(.*)\{(.*)\}", what)
    return [match[1] + field for field in match[2].split(",")] if match else [what]


def judge(writes, handlers, excuses):
    """The verdict of each write, and the excuses that were used."""
    table = {(one.file, one.function, one.what): one for one in excuses}
    verdicts, used = [], set()
    for write in writes:
        excuse = table.get((write.path, write.function, write.what))
        if write.is_write_locked():
            verdict = "locked"
        elif write.is_new():
            verdict = "new"
        elif "param" in write.facts and write.function in handlers:
            verdict = "mmap"
        elif excuse and (excuse.word == "excused" or write.is_partly_write_locked()):
            verdict = "excused"
            used.add(excuse)
        else:
            verdict = "FAIL"
        verdicts.append((write, verdict))
    return verdicts, used


def check(tree):
    """Check a whole tree; returns the status."""
    excuses = read_table(TABLE)
    verdicts, used = judge(collect(tree, candidates(tree)), mmap_handlers(tree), excuses)
    bad = [f"{write.path}:{write.line}: {write.function}: {write.what}: {write.advice()}"
           for write, verdict in verdicts if verdict == "FAIL"]
    bad += [f"{TABLE}:{excuse.number}: {excuse.function}: {excuse.what}: "
            "excuses nothing any more, remove it" for excuse in excuses if excuse not in used]
    for line in bad:
        print(line)
    counts = collections.Counter(verdict for _, verdict in verdicts)
    print(f"{len(verdicts)} writes: " + ", ".join(
        f"{counts[word]} {word}" for word in ("locked", "new", "mmap", "excused")))
    if not counts["locked"]:
        raise Failure(f"{tree} write-locks no VMA: this is no patched kernel tree")
    return 1 if bad else 0


def only_function(lines, number):
    """A file with only the function that line @number belongs to, on its old lines."""
    first = max(index for index in range(number) if lines[index].startswith("{"))
    while first and lines[first - 1].strip() and not re.match(r" ?[*#}/]", lines[first - 1]):
        first -= 1
    last = next(index for index in range(number, len(lines)) if lines[index].startswith("}"))
    return [line if first <= index <= last else "" for index, line in enumerate(lines)]


def without_write_lock(lines, number):
    """The same with one write-lock removed; a store keeps to the tree without help of the lock."""
    lines = only_function(lines, number)
    line = lines[number - 1]
    raw = "mas_store_prealloc(" if "vma_tree_store(" in line else None
    lines[number - 1] = line.replace("vma_tree_store(", raw) if raw else "\tschedule();"
    return lines


def mutants(tree):
    """(file, line, call) for each write-lock."""
    for entry in grep(tree, "-n", "-e", r"^[[:space:]]*vma_[a-z_]+\(.*\);$"):
        name, number, text = entry.split(":", 2)
        if WRITE_LOCK.match(text) and LOCKING.match(name):
            yield name, int(number), text.strip()


def self_test(tree):
    """Remove each write-lock in turn; returns the status."""
    excuses = read_table(TABLE)
    handlers = mmap_handlers(tree)
    found = []
    with tempfile.TemporaryDirectory(prefix="write_locks-") as top:
        cases = list(mutants(tree))
        for index, (name, number, _) in enumerate(cases):
            path = os.path.join(top, str(index), name)
            os.makedirs(os.path.dirname(path))
            lines = without_write_lock(read(os.path.join(tree, name)).split("\n"), number)
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write("\n".join(lines))
        writes = collect(top, [f"{index}/{name}" for index, (name, *_) in enumerate(cases)])
    for index, (name, _, _) in enumerate(cases):
        mine = [write for write in writes if write.path == f"{index}/{name}"]
        for write in mine:
            write.path = name
        found.append([write for write, verdict in judge(mine, handlers, excuses)[0]
                      if verdict == "FAIL"])
    return tell(tree, cases, found)


def function_of(lines, number):
    """The name of the function that line @number belongs to."""
    first = max(index for index in range(number) if lines[index].startswith("{"))
    head = next(line for line in lines[first - 1::-1] if re.match(r"\w.*\(", line))
    return re.search(r"(\w+)\(", head)[1]


def unneeded(tree, name, number, call):
    """Why no write needs this write-lock, or None."""
    call = call.rstrip(";")
    function = function_of(read(os.path.join(tree, name)).split("\n"), number)
    for key in (call.partition("(")[0], call, f"{function}: {call}"):
        if key in NO_WRITE_LOCK:
            return NO_WRITE_LOCK[key]
    return None


def tell(tree, cases, found):
    """Say which removals were found."""
    missed = 0
    for (name, number, call), failures in zip(cases, found):
        reason = unneeded(tree, name, number, call)
        said = ", ".join(f"{write.what} in line {write.line}" for write in failures)
        missed += not failures and not reason
        print(f"{'found' if failures else 'not' if reason else 'MISSED':8}{name}:{number}: {call} "
              f"{said or reason or ''}".rstrip())
    print(f"{len(cases)} write-locks removed: {sum(map(bool, found))} found, {missed} missed, "
          f"{len(cases) - sum(map(bool, found)) - missed} that no write needs")
    return 1 if missed or not cases else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tree")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    tree = os.path.realpath(args.tree)
    if not os.path.isdir(os.path.join(tree, "mm")):
        raise Failure(f"{args.tree} is no kernel tree")
    return self_test(tree) if args.self_test else check(tree)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, OSError) as error:
        print(f"write_locks.py: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
