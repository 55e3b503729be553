# SPDX-License-Identifier: GPL-2.0
"""Reading patches/<base>/: the series file, the patch files, and the overlay beside them."""

import os
import re
import subprocess

from common import BASE, PATCHES, ROOT, Failure, bases, notice, read, rel

# What only this base needs, or needs otherwise than the overlay has it
FILES = os.path.join(PATCHES, "files")

# The overlay is all directories but these and those that begin with a dot.
NOT_OVERLAY = ("LICENSES", "build", "patches", "workshop")

CREATES = re.compile(r"^(new file mode|deleted file mode|rename from|copy from|GIT binary patch)",
                     re.M)


class Commit:
    """One line of the series: a patch file and the overlay files that go with it."""

    def __init__(self, patch, files, listed=None):
        self.patch = patch
        self.files = files
        self.listed = listed or files
        self.path = os.path.join(PATCHES, patch)
        self.author = self.mail = self.date = self.subject = self.body = self.diff = ""

    @property
    def message(self):
        return f"{self.subject}\n\n{self.body}\n"

    def load(self):
        """Parse the patch file: mail header, message, `---`, diff."""
        try:
            text = read(self.path)
        except FileNotFoundError:
            raise Failure(f"{rel(self.path)} is named in the series and does not exist") from None
        text = re.sub(r"\AFrom [0-9a-f]{40} .*\n", "", text)
        head, _, rest = text.partition("\n\n")
        fields = dict(re.findall(r"^(From|Date|Subject): (.*(?:\n[ \t].*)*)", head, re.M))
        missing = [name for name in ("From", "Date", "Subject") if name not in fields]
        if missing:
            raise Failure(f"{rel(self.path)} has no {missing[0]}: line in its header")
        who = re.fullmatch(r"(.*?) <(.*)>", fields["From"])
        if not who:
            raise Failure(f"{rel(self.path)}: From: is not of the form `Name <mail>`")
        self.author, self.mail = who.group(1).strip('"'), who.group(2)
        self.date = fields["Date"]
        subject = re.sub(r"\n\s*", " ", fields["Subject"])
        self.subject = re.sub(r"^\[PATCH[^\]]*\] *", "", subject)
        body, _, tail = rest.partition("\n---\n") if "\n---\n" in rest else (rest, "", "")
        self.body = body.strip()
        start = re.search(r"^diff --git ", tail, re.M)
        self.diff = re.sub(r"\n-- \n[\d.]+\s*\Z", "\n", tail[start.start():]) if start else ""
        creates = CREATES.search(self.diff)
        if creates:
            raise Failure(f"{rel(self.path)} has `{creates.group(1)}`: a patch may only change "
                          "existing files, new ones belong into the overlay")
        return self

    def store(self):
        head = f"From: {self.author} <{self.mail}>\nDate: {self.date}\nSubject: {self.subject}\n"
        return f"{head}\n{self.body}\n---\n{self.diff}"


def file_diffs(diff):
    """(name, text) for each file that a diff changes."""
    for text in re.split(r"^(?=diff --git )", diff, flags=re.M):
        name = re.match(r"diff --git a/(\S+) b/", text)
        if name:
            yield name.group(1), text


def series_lines(base=BASE):
    """(patch, names) for each line of a series, in order."""
    lines = read(os.path.join(ROOT, "patches", base, "series")).splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\d{4}-[\w.+-]+\.patch)(?::((?: \S+)*))?\s*", line)
        if not match:
            raise Failure(f"patches/{base}/series line {number} is not `NNNN-name.patch: file...`: "
                          f"{line}")
        yield match.group(1), (match.group(2) or "").split()


def load_series():
    there = overlay_files()
    own = adapters()
    taken = taken_files(BASE, {*there, *own[BASE]})
    check_taken(taken, own)
    check_overlay(there, own, taken)
    commits = []
    for patch, listed in series_lines():
        if patch in (commit.patch for commit in commits):
            raise Failure(f"the series names {patch} twice")
        files = [name for name, where in taken.items() if where == patch]
        commits.append(Commit(patch, files, listed).load())
    return commits


def taken_files(base, there):
    """{file: patch} of what a base takes; `directory/` is all that no line names closer."""
    name_of_series = "the series" if base == BASE else f"the series of {base}"
    taken, lines = {}, list(series_lines(base))
    for patch, listed in lines:
        for name in (name for name in listed if name[-1] != "/"):
            if name in taken:
                raise Failure(f"{name} is named by two lines of {name_of_series}, "
                              f"{taken[name]} and {patch}")
            taken[name] = patch
    directories = [(name, patch) for patch, listed in lines for name in listed if name[-1] == "/"]
    for directory, patch in sorted(directories, key=lambda pair: -len(pair[0])):
        found = sorted(name for name in there
                       if name.startswith(directory) and name not in taken)
        if not found:
            raise Failure(f"{name_of_series} names {directory} ({patch}), and no file of this "
                          "repository is there that no other line names")
        taken.update(dict.fromkeys(found, patch))
    return taken


def check_taken(taken, own):
    """The series names files that exist, and names each of the base's own."""
    for name, patch in taken.items():
        if not is_kernel_path(name):
            raise Failure(f"the series names {name} ({patch}), which has no place in a kernel tree")
        if not os.path.isfile(source_of(name)):
            raise Failure(f"the series names {name} ({patch}), which does not exist, neither in the "
                          f"overlay nor in {rel(FILES)}")
    refuse_left([f"{rel(FILES)}/{name}" for name in own[BASE] if name not in taken],
                f"is named by no line of {rel(PATCHES)}/series")


def check_overlay(there, own, taken):
    """Some base takes each file of the overlay, and not just an adapter of the same name.

    A file that git does not know yet may be a scratch file: say that it is left out, and go on.
    """
    used = set()
    for base in bases():
        names = taken if base == BASE else taken_files(base, {*there, *own[base]})
        used.update(set(names).difference(own[base]))
    left = [name for name in there if name not in used]
    new = [name for name in left if name in repository_files("--others", "--exclude-standard")] \
        if left else []
    if new:
        notice(f"{and_more(new)}: git does not know this file, and no line of "
               f"{rel(PATCHES)}/series names it; it is left out")
    refuse_left([name for name in left if name not in new],
                f"is named by no line of {rel(PATCHES)}/series" if bases() == [BASE] else
                "is taken by no base, by no line of patches/*/series")


def and_more(names):
    return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def refuse_left(left, what):
    if left and os.environ.get("UNLISTED") != "ok":
        raise Failure(f"{and_more(left)} {what}; "
                      "add it to the line of its commit (UNLISTED=ok goes on without it)")


def fold_directories(files, listed):
    """The names for a line of the series, with the directories that it had before."""
    directories = [name for name in listed if name[-1] == "/"]
    single = [name for name in files if not name.startswith(tuple(directories))]
    kept = [name for name in listed
            if name in single or any(path.startswith(name) for path in files if name[-1] == "/")]
    return kept + [name for name in single if name not in kept]


def is_kernel_path(path):
    top, _, inside = path.partition("/")
    return bool(inside) and top[0] != "." and top not in NOT_OVERLAY


def repository_files(*options):
    """Files of this repository that exist, without those that git ignores."""
    result = subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files", "-z",
                             *options], capture_output=True, check=False)
    if result.returncode == 0:
        names = result.stdout.decode().split("\0")
    else:
        names = [os.path.relpath(os.path.join(where, name), ROOT)
                 for where, _, files in os.walk(ROOT) for name in files]
    return sorted({name for name in names if name and os.path.lexists(os.path.join(ROOT, name))})


def overlay_files():
    """The overlay: files of this repository at kernel paths."""
    return [name for name in repository_files("--cached", "--others", "--exclude-standard")
            if is_kernel_path(name)]


def adapters():
    """{base: names} of files that bases have beside the overlay, or in place of a file of it."""
    found = {base: [] for base in bases()}
    for name in repository_files("--cached", "--others", "--exclude-standard", "--", "patches"):
        match = re.fullmatch(r"patches/([^/]+)/files/(.*)", name)
        if match and match.group(1) in found:
            found[match.group(1)].append(match.group(2))
    return found


def taken_elsewhere():
    """The files of the overlay that other bases take."""
    there, own = overlay_files(), adapters()
    return {name for base in bases() if base != BASE
            for name in taken_files(base, {*there, *own[base]}) if name not in own[base]}


def place_of(name):
    """Where this repository has a file for this base: among its own, else in the overlay."""
    own = os.path.join(FILES, name)
    return own if os.path.lexists(own) else os.path.join(ROOT, name)


def source_of(name):
    """Where its content is: a link stands for a copy of what this base has by that name."""
    path = place_of(name)
    if os.path.islink(path):
        path = place_of(os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(path))))
    return path


def overlay_blob(name):
    """Content and git mode of a file that the series takes."""
    path = source_of(name)
    return read(path, "rb"), "100755" if os.access(path, os.X_OK) else "100644"
