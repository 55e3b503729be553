# SPDX-License-Identifier: GPL-2.0
"""Read litmus tests of the kernel, and run one thread of them at a time; see litmus.py."""

import re

TOKEN = re.compile(r"\s*(\d+:\w+|\w+|/\\|\\/|&&|\|\||==|!=|<=|>=|<<|>>|[-+*&|^!~<>=(){};,\[\]])")
LEVELS = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", ">", "<=", ">="],
          ["<<", ">>"], ["+", "-"]]
FENCES = {"smp_mb": "mb", "smp_rmb": "rmb", "smp_wmb": "wmb", "rcu_read_lock": "rcu-lock",
          "rcu_read_unlock": "rcu-unlock", "synchronize_rcu": "sync-rcu",
          "smp_mb__before_atomic": "before-atomic", "smp_mb__after_atomic": "after-atomic",
          "smp_mb__after_spinlock": "after-spinlock",
          "smp_mb__after_unlock_lock": "after-unlock-lock"}
LOADS = {"READ_ONCE": "once", "rcu_dereference": "once", "smp_load_acquire": "acquire",
         "atomic_read": "once", "atomic_read_acquire": "acquire"}
STORES = {"WRITE_ONCE": "once", "smp_store_release": "release", "rcu_assign_pointer": "release",
          "atomic_set": "once", "atomic_set_release": "release", "smp_store_mb": "mb"}
BY_NAME = {"READ_ONCE", "WRITE_ONCE", "rcu_dereference", "rcu_assign_pointer", "smp_store_mb"}
ATOMIC = re.compile(r"(?:atomic_)?(xchg|cmpxchg|fetch_add|fetch_sub|fetch_inc|fetch_dec|add|sub|"
                    r"inc|dec)(_return|_and_test)?(_acquire|_release|_relaxed)?")

class Unsupported(Exception):
    """The test uses what this program does not know."""


class Parser:
    """A test: its initial values, the statements of its threads, and the bad outcome."""

    def __init__(self, text):
        text = re.sub(r"\(\*\s.*?\*\)|/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text,
                      flags=re.S)
        lines = text.split("\n")
        self.kept = {i for i, line in enumerate(lines) if "// not needed" in line}
        lines = [re.sub(r'//.*|"[^"]*"', "", line) for line in lines]
        self.tokens = []
        for number, line in enumerate(lines[1:], 1):
            at = 0
            while line[at:].strip():
                match = TOKEN.match(line, at)
                if not match:
                    raise Unsupported(f"syntax: {line.strip()}")
                self.tokens.append((match[1], number))
                at = match.end()
        self.calls = []         # (thread, name, line)
        self.init, self.threads = self.read_init(), []
        while re.fullmatch(r"P\d+", self.peek()):
            self.threads.append(self.read_thread())
        while self.peek() in ("locations", "filter"):
            if self.next() == "filter":
                raise Unsupported("filter")
            while self.next() != "]":
                pass
        self.expect("exists")
        self.exists = self.read_or()

    def peek(self, ahead=0):
        return self.tokens[ahead][0] if ahead < len(self.tokens) else ""

    def next(self):
        if not self.tokens:
            raise Unsupported("end of the file")
        return self.tokens.pop(0)[0]

    def expect(self, token):
        got = self.next()
        if got != token:
            raise Unsupported(f"{got} where {token} is due")

    def read_init(self):
        values, words = {}, []
        self.expect("{")
        while (token := self.next()) != "}":
            words.append(token)
            if token == ";":
                if "=" in words:
                    value = words[-2]
                    values[words[words.index("=") - 1]] = int(value) if value.isdigit() else value
                words = []
        return values

    def read_thread(self):
        self.next()
        while self.next() != ")":
            pass
        self.expect("{")
        return self.read_block()

    def read_block(self):
        block = []
        while self.peek() != "}":
            block.append(self.read_statement())
        self.next()
        return block

    def read_statement(self):
        if self.peek() == "{":
            self.next()
            return ("block", self.read_block())
        if self.peek() == "if":
            self.next()
            self.expect("(")
            test = self.read_expr()
            self.expect(")")
            yes, no = self.read_statement(), ("block", [])
            if self.peek() == "else":
                self.next()
                no = self.read_statement()
            return ("if", test, yes, no)
        if self.peek() == "int" or self.peek(1) == "*" and self.peek() != "*":
            self.next()
            while self.peek() == "*":
                self.next()
            if self.peek(1) in (";", ","):
                while self.next() != ";":
                    pass
                return ("block", [])
        if self.peek() in ("while", "for", "do", "*"):
            raise Unsupported("loop or plain access")
        if self.peek(1) == "=":
            name = self.next()
            self.next()
            statement = ("assign", name, self.read_expr())
        else:
            statement = ("expr", self.read_expr())
        self.expect(";")
        return statement

    def read_expr(self, level=0):
        if level == len(LEVELS):
            return self.read_unary()
        left = self.read_expr(level + 1)
        while self.peek() in LEVELS[level]:
            left = ("binary", self.next(), left, self.read_expr(level + 1))
        return left

    def read_unary(self):
        line = self.tokens[0][1] if self.tokens else 0
        token = self.next()
        if token in ("!", "-", "~", "*", "&"):
            return ("unary", token, self.read_unary())
        if token == "(":
            inner = self.read_expr()
            self.expect(")")
            return inner
        if token.isdigit():
            return ("number", int(token))
        if self.peek() != "(":
            return ("name", token)
        self.next()
        call = len(self.calls)
        self.calls.append((len(self.threads), token, line))
        args = []
        while self.peek() != ")":
            args.append(self.read_expr())
            if self.peek() == ",":
                self.next()
        self.next()
        return ("call", call, args)

    def read_or(self):
        left = self.read_and()
        while self.peek() == "\\/":
            self.next()
            left = ("or", left, self.read_and())
        return left

    def read_and(self):
        left = self.read_atom()
        while self.peek() == "/\\":
            self.next()
            left = ("and", left, self.read_atom())
        return left

    def read_atom(self):
        token = self.next()
        if token in ("~", "not"):
            return ("not", self.read_atom())
        if token == "(":
            inner = self.read_or()
            self.expect(")")
            return inner
        equal, value = self.next(), self.next()
        if equal != "=":
            raise Unsupported("condition")
        return ("is", token, int(value) if value.isdigit() else value)


class NeedValue(Exception):
    """A read has no value yet."""


class Run:
    """One thread runs once; its reads take the values of a list."""

    def __init__(self, thread, body, names, values):
        self.thread, self.names, self.values = thread, names, list(values)
        self.events = []        # dicts: kind, loc, value, tags
        self.deps = []          # (relation, from, to), by number of event
        self.regs, self.ctrl = {}, frozenset()
        self.run(("block", body))

    def event(self, kind, loc=None, value=None, tags=(), addr=(), data=()):
        number = len(self.events)
        self.events.append({"kind": kind, "loc": loc, "value": value, "tags": set(tags),
                            "thread": self.thread})
        for name, reads in (("addr", addr), ("data", data), ("ctrl", self.ctrl)):
            self.deps += [(name, read, number) for read in reads]
        return number

    def run(self, statement):
        if statement[0] == "block":
            for inner in statement[1]:
                self.run(inner)
        elif statement[0] == "if":
            value, reads = self.eval(statement[1])
            before, self.ctrl = self.ctrl, self.ctrl | reads
            self.run(statement[2] if value else statement[3])
            self.ctrl = before
        elif statement[0] == "assign":
            self.regs[statement[1]] = self.eval(statement[2])
        else:
            self.eval(statement[1])

    def eval(self, expr):
        """Returns the value, and the reads that it depends on."""
        if expr[0] == "number":
            return expr[1], frozenset()
        if expr[0] == "name":
            return self.regs.get(expr[1], (expr[1], frozenset()))
        if expr[0] == "call":
            return self.call(self.names[expr[1]], expr[2])
        if expr[0] == "unary":
            if expr[1] in "*&":
                raise Unsupported("plain access")
            value, reads = self.eval(expr[2])
            return {"!": int(not value), "-": -value, "~": ~value}[expr[1]], reads
        left, right = self.eval(expr[2]), self.eval(expr[3])
        op = {"&&": "and", "||": "or"}.get(expr[1], expr[1])
        value = eval(f"a {op} b", {"a": left[0], "b": right[0]})    # pylint: disable=eval-used
        return int(value), left[1] | right[1]

    def place(self, expr):
        """Which variable, and the reads that this depends on; "*x" and "x" are the same."""
        if expr[0] == "unary" and expr[1] in "*&":
            expr = expr[2]
        return self.eval(expr)

    def read(self, place, tags):
        if not self.values:
            raise NeedValue(place[0])
        value = self.values.pop(0)
        return value, self.event("R", place[0], value, tags, place[1])

    def call(self, name, args):
        nothing = (0, frozenset())
        if name == "":
            return nothing
        if name in FENCES:
            self.event("F", tags=[FENCES[name]])
            return nothing
        if name in LOADS:
            value, number = self.read(self.place(args[0]), [LOADS[name]])
            return value, frozenset([number])
        if name in STORES:
            place, (value, reads) = self.place(args[0]), self.eval(args[1])
            self.event("W", place[0], value, [STORES[name]], place[1], reads)
            if STORES[name] == "mb":
                self.event("F", tags=["mb"])
            return nothing
        if name == "spin_lock":
            value, number = self.read(self.place(args[0]), ["acquire", "LKR"])
            if value:
                raise Blocked
            self.write_back(number, self.place(args[0]), 1, ["LKW"], ())
            return nothing
        if name == "spin_unlock":
            self.event("W", self.place(args[0])[0], 0, ["release", "UL"])
            return nothing
        return self.atomic(name, args)

    def write_back(self, number, place, value, tags, data):
        write = self.event("W", place[0], value, tags, place[1], data)
        self.deps.append(("rmw", number, write))

    def atomic(self, name, args):
        match = ATOMIC.fullmatch(name)
        if not match:
            raise Unsupported(name)
        what, form, order = match.groups()
        noreturn = not form and not what.startswith(("fetch", "xchg", "cmpxchg"))
        full = not order and not noreturn
        swap = what in ("xchg", "cmpxchg")
        place = self.place(args[0] if swap or what.endswith(("inc", "dec")) else args[1])
        by = self.eval(args[-1]) if swap else \
            (1, frozenset()) if what.endswith(("inc", "dec")) else self.eval(args[0])
        if full:
            mark = len(self.events), len(self.deps)
            self.event("F", tags=["mb"])
        old, number = self.read(place, ["noreturn" if noreturn else
                                        "acquire" if order == "_acquire" else "once"])
        reads = frozenset([number])
        if what == "cmpxchg" and old != self.eval(args[1])[0]:
            if full:            # no order if it fails
                self.events[mark[0]]["tags"] = {"none"}
            self.events[number]["tags"] = {"once"}
            return old, reads
        new = by[0] if swap else old + by[0] if what.endswith(("add", "inc")) else old - by[0]
        self.write_back(number, place, new, ["release" if order == "_release" else "once"],
                        by[1] | (frozenset() if swap else reads))
        if full:
            self.event("F", tags=["mb"])
        if form == "_and_test":
            return int(new == 0), reads
        return (new if form == "_return" else old), reads


class Blocked(Exception):
    """This run takes a lock that is held: it waits, and is no run."""
