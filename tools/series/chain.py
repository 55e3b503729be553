# SPDX-License-Identifier: GPL-2.0
"""From commits on a base to the files of this repository: patches, series, overlay."""

import os
import re

import maintainers
from common import PATCHES, ROOT, Failure, notice, read, rel
from git import Repo
from series import Commit, fold_directories, is_kernel_path

LINKED = re.compile(r"^tools/(include/uapi/.*)$")


def commits_of(repo, base, tip):
    """The commits after the base, oldest first; history must be a line."""
    listed = repo.out("rev-list", "--reverse", "--parents", f"{base}..{tip}").splitlines()
    pairs = [line.split() for line in listed]
    for pair in pairs:
        if len(pair) != 2:
            raise Failure(f"{repo.tree}: commit {pair[0][:12]} is a merge; the series is a line")
    return [pair[0] for pair in pairs]


def changes(repo, commit):
    """(status, path) of what a commit changes; a rename is a deletion and an addition."""
    fields = repo.lines("diff-tree", "-r", "-z", "--no-renames", "--no-commit-id",
                        "--name-status", commit)
    return list(zip(fields[::2], fields[1::2]))


def blob(repo, commit, path):
    """(mode, content) of a file in a commit; None when it has none."""
    entry = repo.out("ls-tree", commit, "--", path)
    if not entry:
        return None
    mode, _, name = entry.split()[:3]
    return mode, repo.run("cat-file", "blob", name)[1]


def diff_of(repo, commit, paths):
    """The hunks; without blob names, which would change with every base."""
    if not paths:
        return ""
    raw = repo.run("-c", "diff.suppressBlankEmpty=false", "diff-tree", "-p", "--no-commit-id",
                   "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
                   "--src-prefix=a/", "--dst-prefix=b/", "--full-index", "-U3", commit, "--",
                   *paths)[1]
    return re.sub(r"^index [0-9a-f]{40}\.\.[0-9a-f]{40}( \d+)?\n", "", raw.decode(), flags=re.M)


def slug(subject):
    """A file name from a subject, as git format-patch makes it."""
    return re.sub(r"[^\w.]+", "-", subject).strip("-.")[:52].rstrip("-.")


class Chain:
    """What the commits base..tip mean as files of this repository."""

    def __init__(self, repo, base, tip, generated=None):
        self.repo, self.base, self.tip = repo, base, tip
        self.generated = generated
        self.hashes = commits_of(repo, base, tip)
        self.commits = []
        self.added = {}
        for commit in self.hashes:
            self.convert(commit)

    def convert(self, name):
        """One commit becomes one line of the series, unless nothing is left of it."""
        commit, hunks = self.header(name), []
        for status, path in changes(self.repo, name):
            self.sort_change(commit, hunks, name, status, path)
        commit.diff = diff_of(self.repo, name, hunks)
        if commit.diff or commit.files:
            self.commits.append(commit)

    def sort_change(self, commit, hunks, name, status, path):
        """A changed file is a new overlay file, a change to one, or a hunk."""
        if path == "MAINTAINERS":
            self.check_maintainers(name)
            commit.files.append(path)
        elif path in self.added:
            notice(f"{path}: the change of `{commit.subject}` goes into "
                   f"`{self.added[path]}`, which adds the file")
        elif status == "A":
            if not is_kernel_path(path):
                raise Failure(f"`{commit.subject}` adds {path}, which no kernel tree has")
            if blob(self.repo, self.tip, path):
                self.added[path] = commit.subject
                commit.files.append(path)
        elif status == "D":
            raise Failure(f"`{commit.subject}` deletes {path}; the series can only add and change")
        else:
            hunks.append(path)

    def check_maintainers(self, name):
        """The kernel's MAINTAINERS is generated from ours, so a hunk must be just that."""
        paths = list(self.added) + [path for status, path in changes(self.repo, name)
                                    if status == "A"]
        base_text = blob(self.repo, self.base, "MAINTAINERS")[1].decode()
        text = blob(self.repo, name, "MAINTAINERS")[1].decode()
        if text != maintainers.merge(base_text, paths) and not self.was_generated(text):
            raise Failure(f"commit {name[:12]} changes MAINTAINERS by hand; leave that out, edit the "
                          "MAINTAINERS at the top of this repository, and name MAINTAINERS in the "
                          "line of the series")

    def was_generated(self, text):
        """As `make tree` wrote it, before our MAINTAINERS was edited."""
        if not self.generated:
            return False
        return any(blob(self.repo, commit, "MAINTAINERS")[1].decode() == text
                   for commit in commits_of(self.repo, self.base, self.generated))

    def header(self, name):
        text = self.repo.run("show", "-s", "--format=%an%x00%ae%x00%aD%x00%B", name)[1].decode()
        author, mail, date, message = text.split("\0")
        subject, _, body = message.strip().partition("\n\n")
        if re.search(r"^---$", body, re.M):
            raise Failure(f"the message of `{subject}` has a line `---`, which ends it in a patch")
        commit = Commit("", [])
        commit.author, commit.mail, commit.date = author, mail, date
        commit.subject, commit.body = " ".join(subject.split()), body.strip()
        return commit

    def overlay(self):
        """{path: (mode, content)} of the overlay files as the tip has them."""
        files = {path: blob(self.repo, self.tip, path) for path in self.added}
        for path, (mode, content) in files.items():
            if self.is_copy(path, content, files):
                target = os.path.relpath(LINKED.match(path).group(1), os.path.dirname(path))
                files[path] = ("120000", target.encode())
            elif os.path.islink(os.path.join(ROOT, path)):
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
        before = blob(self.repo, self.generated or self.tip, path)
        return os.path.islink(os.path.join(ROOT, path)) and before and before[1] == content


def name_patches(commits, known):
    """Number the patches; one with a known subject keeps its name and the order of its files."""
    by_subject = {commit.subject: commit for commit in known}
    for number, commit in enumerate(commits, 1):
        old = by_subject.get(commit.subject) or Commit(f"0000-{slug(commit.subject)}.patch", [])
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


def as_files(commits, overlay):
    """{path in this repository: (mode, content)}."""
    files = dict(overlay)
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
    """Write or remove one file of this repository."""
    full = os.path.join(ROOT, path)
    if os.path.lexists(full):
        os.unlink(full)
    if entry is None:
        return
    os.makedirs(os.path.dirname(full), exist_ok=True)
    mode, content = entry
    if mode == "120000":
        os.symlink(content.decode(), full)
        return
    with open(f"{full}.new", "wb") as file:
        file.write(content)
    os.chmod(f"{full}.new", int(mode[-3:], 8))
    os.replace(f"{full}.new", full)


def scratch(repo):
    """The same repository with an index of its own."""
    return Repo(repo.tree, repo.env["GIT_DIR"], os.path.join(repo.env["GIT_DIR"], "index.fold"))
