# SPDX-License-Identifier: GPL-2.0
"""Reading patches/<base>/: the series file, the patch files, and the overlay beside them."""

import os
import re
import subprocess

from common import PATCHES, ROOT, Failure, read, rel

# What in this repository does not belong into a kernel tree. Everything else is overlay.
NOT_KERNEL = (".ci/", ".gitattributes", ".gitignore", "COPYING", "LICENSES/", "MAINTAINERS",
              "Makefile", "README.md", "build", "patches/", "tools/checks/", "tools/series/",
              "tools/testing/qemu/")

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
        """The text of the patch file."""
        head = f"From: {self.author} <{self.mail}>\nDate: {self.date}\nSubject: {self.subject}\n"
        return f"{head}\n{self.body}\n---\n{self.diff}"


def load_series():
    """All commits of the series, in order."""
    commits, seen = [], {}
    for number, line in enumerate(read(os.path.join(PATCHES, "series")).splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"(\d{4}-[\w.+-]+\.patch)(?::((?: \S+)*))?\s*", line)
        if not match:
            raise Failure(f"patches series line {number} is not `NNNN-name.patch: file...`: {line}")
        listed = (match.group(2) or "").split()
        commit = Commit(match.group(1), [name for name in listed if name[-1] != "/"], listed)
        if commit.patch in (c.patch for c in commits):
            raise Failure(f"the series names {commit.patch} twice")
        for name in commit.files:
            if name in seen:
                raise Failure(f"{name} is named by two lines of the series, "
                              f"{seen[name]} and {commit.patch}")
            seen[name] = commit.patch
        commits.append(commit.load())
    take_directories(commits, seen)
    check_overlay(seen)
    return commits


def take_directories(commits, seen):
    """`directory/` stands for all files below it that no line names."""
    tracked = overlay_files(tracked_only=True)
    for commit in commits:
        for directory in (name for name in commit.listed if name[-1] == "/"):
            found = [name for name in tracked if name.startswith(directory) and name not in seen]
            if not found:
                raise Failure(f"the series names {directory} ({commit.patch}), and no tracked file "
                              "of this repository is there that no other line names")
            seen.update(dict.fromkeys(found, commit.patch))
            commit.files = commit.files + found


def fold_directories(files, listed):
    """The names for a line of the series, with the directories that it had before."""
    directories = [name for name in listed if name[-1] == "/"]
    single = [name for name in files if not name.startswith(tuple(directories))]
    kept = [name for name in listed
            if name in single or any(path.startswith(name) for path in files if name[-1] == "/")]
    return kept + [name for name in single if name not in kept]


def is_kernel_path(path):
    return not any(path == name or path.startswith(name if name.endswith("/") else name + "/")
                   for name in NOT_KERNEL)


def overlay_files(tracked_only=False):
    """The overlay: files of this repository at kernel paths."""
    options = ["--cached"] if tracked_only else ["--cached", "--others", "--exclude-standard"]
    result = subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files", "-z",
                             *options], capture_output=True, check=False)
    if result.returncode == 0:
        names = result.stdout.decode().split("\0")
    else:
        names = [os.path.relpath(os.path.join(where, name), ROOT)
                 for where, _, files in os.walk(ROOT) for name in files]
    return sorted({name for name in names if name and is_kernel_path(name)
                   and os.path.lexists(os.path.join(ROOT, name))})


def check_overlay(named):
    """Every overlay file is named by exactly one line, and every named file exists."""
    for name, patch in named.items():
        if not is_kernel_path(name):
            raise Failure(f"the series names {name} ({patch}), which has no place in a kernel tree")
        if not os.path.isfile(os.path.join(ROOT, name)):
            raise Failure(f"the series names {name} ({patch}), which does not exist")
    left = [name for name in overlay_files(tracked_only=True) if name not in named]
    if left and os.environ.get("UNLISTED") != "ok":
        more = f" and {len(left) - 1} more" if len(left) > 1 else ""
        raise Failure(f"{left[0]}{more} is named by no line of {rel(PATCHES)}/series; "
                      "add it to the line of its commit (UNLISTED=ok goes on without it)")


def overlay_blob(name):
    """Content and git mode of an overlay file; links are written out as copies."""
    path = os.path.join(ROOT, name)
    return read(path, "rb"), "100755" if os.access(path, os.X_OK) else "100644"
