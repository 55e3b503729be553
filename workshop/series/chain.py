# SPDX-License-Identifier: GPL-2.0
"""From commits on a base to the files of this repository: patches, series, overlay."""

import collections
import functools
import os
import re

import maintainers
from base import stands_alone, values
from common import PATCHES, ROOT, Failure, notice, read, rel, write
from series import (FILES, Commit, file_diffs, fold_directories, is_kernel_path, place_of,
                    taken_elsewhere)
from writer import Author

LINKED = re.compile(r"^tools/(include/uapi/.*)$")


# The fields of a commit, separated by a character that no message has
FIELDS = "%x01".join(["%H", "%P", "%T", "%an", "%ae", "%aD", "%B"])

# What a commit changes in one file: status is A, M, D or T, blob the new content
Change = collections.namedtuple("Change", "status path blob")


class Step:
    """A commit as git has it, with what it changes; a rename is a deletion and an addition."""

    def __init__(self, text):
        fields = text.split("\1")
        self.name, self.parents, self.tree = fields[:3]
        self.author = Author(*fields[3:6])
        self.message = fields[6]
        self.changes = []

    def paths(self, *status):
        return [change.path for change in self.changes if not status or change.status in status]


def history(repo, base, tip):
    """The commits after the base, oldest first; the history must be linear."""
    text = repo.run("log", "-z", "--reverse", f"--format={FIELDS}", f"{base}..{tip}")[1].decode()
    steps = {step.name: step for step in map(Step, filter(None, text.split("\0")))}
    for step in steps.values():
        if len(step.parents.split()) != 1:
            raise Failure(f"{repo.tree}: commit {step.name[:12]} is a merge; the series is a line")
    fields = iter(repo.lines("diff-tree", "--stdin", "-r", "-z", "--no-renames", "--raw",
                             "--full-index", data="".join(f"{name}\n" for name in steps).encode()))
    step = None
    for field in fields:
        if field.startswith(":"):
            _, _, _, blob, status = field.split()
            step.changes.append(Change(status, next(fields), blob))
        else:
            step = steps[field.strip()]
    return list(steps.values())


def diff_of(repo, commit, paths):
    """The hunks, without blob names, which would change with every base."""
    narrow = values("narrow")
    return "".join(hunks(repo, commit, [path for path in paths if (path in narrow) == is_narrow], lines)
                   for is_narrow, lines in ((True, 1), (False, 3)))


def hunks(repo, commit, paths, context):
    """The hunks for some files, with so many lines of context."""
    if not paths:
        return ""
    raw = repo.run("-c", "diff.suppressBlankEmpty=false", "diff-tree", "-p", "--no-commit-id",
                   "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
                   "--src-prefix=a/", "--dst-prefix=b/", "--full-index", f"-U{context}", commit, "--",
                   *paths)[1]
    return re.sub(r"^index [0-9a-f]{40}\.\.[0-9a-f]{40}( \d+)?\n", "", raw.decode(), flags=re.M)


def slug(subject):
    """A file name from a subject, as git format-patch makes it."""
    return re.sub(r"[^\w.]+", "-", subject).strip("-.")[:52].rstrip("-.")


class Chain:
    """What the commits base..tip are as files of this repository."""

    def __init__(self, repo, base, tip, generated=None, known=()):
        self.repo, self.base, self.tip = repo, base, tip
        self.generated = generated
        # (subject, file) of the hunks that the series has, for files of the overlay as well
        self.hunks = {(commit.subject, name) for commit in known
                      for name, _ in file_diffs(commit.diff)}
        steps = history(repo, base, tip)
        self.commits = []
        self.added = {}
        # What the tip has of all the files that a commit adds
        self.at_tip = repo.files(tip, {path for step in steps for path in step.paths("A")})
        for step in steps:
            self.convert(step)

    def convert(self, step):
        """One commit becomes one line of the series, unless nothing is left of it."""
        commit, hunks = self.header(step), []
        for change in step.changes:
            self.sort_change(commit, hunks, step, change)
        commit.diff = diff_of(self.repo, step.name, hunks)
        if commit.diff or commit.files:
            self.commits.append(commit)

    def sort_change(self, commit, hunks, step, change):
        """A changed file is a new overlay file, a change to one, or a hunk."""
        status, path, _ = change
        if path == "MAINTAINERS":
            self.check_maintainers(step, change)
        elif path in self.added and (commit.subject, path) not in self.hunks:
            notice(f"{path}: the change of `{commit.subject}` goes into "
                   f"`{self.added[path]}`, which adds the file")
        elif status == "A":
            if not is_kernel_path(path):
                raise Failure(f"`{commit.subject}` adds {path}, which no kernel tree has")
            if path in self.at_tip:
                self.added[path] = commit.subject
                commit.files.append(path)
        elif status == "D":
            raise Failure(f"`{commit.subject}` deletes {path}; the series can only add and change")
        else:
            hunks.append(path)

    @functools.cached_property
    def base_maintainers(self):
        return self.repo.files(self.base, ["MAINTAINERS"])["MAINTAINERS"][1].decode()

    def check_maintainers(self, step, change):
        """The kernel's MAINTAINERS is generated from ours, so a hunk must be just that."""
        paths = list(self.added) + step.paths("A")
        text = self.repo.contents([change.blob])[change.blob].decode()
        if text != maintainers.merge(self.base_maintainers, paths) and not self.was_generated(text):
            raise Failure(f"commit {step.name[:12]} changes MAINTAINERS by hand; leave that out, edit the "
                          "MAINTAINERS at the top of this repository")

    def was_generated(self, text):
        """The file as `make tree` wrote it, before our MAINTAINERS was edited."""
        if not self.generated:
            return False
        blobs = [change.blob for step in history(self.repo, self.base, self.generated)
                 for change in step.changes if change.path == "MAINTAINERS"]
        return text.encode() in self.repo.contents(blobs).values()

    def header(self, step):
        subject, _, body = step.message.strip().partition("\n\n")
        if re.search(r"^---$", body, re.M):
            raise Failure(f"the message of `{subject}` has a line `---`, which ends it in a patch")
        commit = Commit("", [])
        commit.author, commit.mail, commit.date = step.author
        commit.subject, commit.body = " ".join(subject.split()), body.strip()
        return commit

    def overlay(self):
        """{path: (mode, content)} of the overlay files as the tip has them."""
        files = {path: self.at_tip[path] for path in self.added}
        for path, (mode, content) in list(files.items()):
            if self.is_copy(path, content, files):
                target = os.path.relpath(LINKED.match(path).group(1), os.path.dirname(path))
                files[path] = ("120000", target.encode())
            elif os.path.islink(place_of(path)):
                raise Failure(f"{path} is a link in this repository and a different file in "
                              f"{self.repo.tree}; edit the file that it copies")
            elif mode == "120000":
                raise Failure(f"{path} is a symbolic link; the overlay has links only below "
                              "tools/include/uapi")
        return files

    def is_copy(self, path, content, files):
        """The tools' copy of a uapi header, also when only the header was edited so far."""
        origin = LINKED.match(path)
        if not origin or origin.group(1) not in files:
            return False
        if files[origin.group(1)][1] == content:
            return True
        before = self.repo.files(self.generated or self.tip, [path]).get(path)
        return os.path.islink(place_of(path)) and before and before[1] == content


def name_patches(commits, known):
    """Number the patches; one with a known subject keeps its name and the order of its files."""
    by_subject = {commit.subject: commit for commit in known}
    number = 0
    for commit in commits:
        old = by_subject.get(commit.subject) or Commit(f"0000-{slug(commit.subject)}.patch", [])
        # The numbers of commits that only other bases have stay free.
        number = max(number + 1, int(old.patch[:4]))
        commit.patch = f"{number:04}-{old.patch[5:]}"
        if set(commit.files) == set(old.files):
            commit.files = old.files
        commit.listed = fold_directories(commit.files, old.listed)


def series_text(commits):
    """The series file: its leading comment as it is, then a line for each commit."""
    head = []
    for line in read(os.path.join(PATCHES, "series")).splitlines():
        if line.strip() and not line.startswith("#"):
            break
        head.append(line)
    lines = [f"{commit.patch}:{''.join(' ' + name for name in commit.listed)}".rstrip(":")
             for commit in commits]
    return "\n".join(head + lines) + "\n"


def home_of(path, entry, known, elsewhere):
    """Where this repository keeps a file; a new one must not replace that of another base."""
    theirs = path in elsewhere and not any(path in commit.files for commit in known)
    if stands_alone() or theirs and on_disk(path) != entry:
        return rel(os.path.join(FILES, path))
    return rel(place_of(path))


def as_files(commits, overlay, known):
    """{path in this repository: (mode, content)}."""
    elsewhere = taken_elsewhere()
    files = {home_of(path, entry, known, elsewhere): entry for path, entry in overlay.items()}
    for commit in commits:
        files[rel(os.path.join(PATCHES, commit.patch))] = ("100644", commit.store().encode())
    files[rel(os.path.join(PATCHES, "series"))] = ("100644", series_text(commits).encode())
    return files


def on_disk(path):
    """(mode, content) of a file of this repository; None when there is none."""
    full = os.path.join(ROOT, path)
    if os.path.islink(full):
        return "120000", os.readlink(full).encode()
    if not os.path.isfile(full):
        return None
    return "100755" if os.access(full, os.X_OK) else "100644", read(full, "rb")


def put(path, entry):
    full = os.path.join(ROOT, path)
    mode, content = entry or ("", b"")
    if os.path.lexists(full):
        os.unlink(full)
    if mode == "120000":
        os.makedirs(os.path.dirname(full), exist_ok=True)
        os.symlink(content.decode(), full)
    elif mode:
        write(full, content)
        os.chmod(full, int(mode[-3:], 8))
