#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make tree: build/<base>/src, the base commit and one commit for each line of the series."""

import hashlib
import os
import re
import sys

import base
import maintainers
import series
from common import (BUILD, ROOT, SRC, SRC_BASE, Failure, lock, main, need_space, read, rel, say,
                    write)
from git import Repo
from writer import Author, Writer

# What the commits were made of the last time, and the last one of them
STAMP = os.path.join(BUILD, ".series")
GENERATED = "refs/procmap/generated"
PENDING = "refs/procmap/pending"


class Builder:
    """Builds the commits in the object store of a repository, without touching a work tree.

    The index in which hunks are applied has no files but those that they change: git reads and
    writes all of it each time.

    The overlay has a file as the last commit leaves it. The commit that adds it has it without what
    later commits change in it.
    """

    def __init__(self, repo, base_commit, commits):
        index = os.path.join(repo.env["GIT_DIR"], "index.hunks")
        self.repo = Repo(repo.tree, repo.env["GIT_DIR"], index)
        self.commits = commits
        self.writer = Writer(repo, base_commit)
        self.ours = []
        self.base_maintainers = None
        if any(commit.files for commit in commits):
            self.base_maintainers = self.repo.run("cat-file", "blob", f"{base_commit}:MAINTAINERS")[1]
        self.maintainers = self.base_maintainers
        added = {name: commit.patch for commit in commits for name in commit.files}
        self.read_base(base_commit, added)
        self.first = self.first_contents(added)

    def read_base(self, base_commit, added):
        """Fill the index; what the overlay adds must be new."""
        index = self.repo.env["GIT_INDEX_FILE"]
        if os.path.exists(index):
            os.unlink(index)
        changed = {name for commit in self.commits for name in targets(commit)}
        there = self.repo.lines("ls-tree", "-r", "-z", "--full-tree", base_commit, "--",
                                *sorted({*changed, *added}))
        for entry in there:
            name = entry.partition("\t")[2]
            if name in added:
                raise Failure(f"{name} ({added[name]}) would overwrite a file that the tree has")
        self.repo.run("update-index", "-z", "--index-info",
                      data="".join(f"{entry}\0" for entry in there).encode())

    def first_contents(self, added):
        """{name: (mode, object)} of the overlay files that hunks change, as they are added."""
        names = {name for commit in self.commits for name in targets(commit) if name in added}
        for name in sorted(names):
            content, mode = series.overlay_blob(name)
            blob = self.repo.out("hash-object", "-w", "--stdin", data=content)
            self.repo.run("update-index", "--add", "--cacheinfo", f"{mode},{blob},{name}")
        for commit in reversed(self.commits):
            self.apply(commit, "".join(text for name, text in series.file_diffs(commit.diff)
                                       if name in names), "--reverse")
        return {name: tuple(entry.split()[:2]) for entry, _, name in
                (line.partition("\t") for line in self.entries(names))}

    def entries(self, names):
        return self.repo.lines("ls-files", "-s", "-z", "--", *names) if names else []

    def apply(self, commit, diff, *options):
        """Apply hunks of a commit to the index, without fuzz."""
        if not diff:
            return
        status, _, err = self.repo.run("apply", "--cached", "--whitespace=nowarn", *options, "-",
                                       data=diff.encode(), ok=(0, 1, 128))
        if status:
            first = err.decode(errors="replace").strip().partition("\n")[0]
            raise Misfit(f"{rel(commit.path)} does not fit: {first}")

    def apply_hunks(self, commit):
        """Returns what the hunks change, as ls-files prints it."""
        names = targets(commit)
        for name in names:
            if name in self.first and name not in self.ours:
                raise Failure(f"{rel(commit.path)} has a hunk for {name}, which no earlier commit "
                              "adds")
        self.apply(commit, commit.diff)
        return self.entries(names)

    def add_maintainers(self):
        """Our entries of MAINTAINERS for the files that there are so far."""
        text = maintainers.merge(self.base_maintainers.decode(), self.ours).encode()
        if text != self.maintainers:
            self.maintainers = text
            self.writer.file("MAINTAINERS", "100644", text)

    def add(self, commit):
        hunks = self.apply_hunks(commit)
        self.writer.commit(Author(commit.author, commit.mail, commit.date),
                           commit.message.encode())
        for entry in hunks:
            about, _, name = entry.partition("\t")
            self.writer.object(name, *about.split()[:2])
        for name in commit.files:
            if name in self.first:
                self.writer.object(name, *self.first[name])
            else:
                content, mode = series.overlay_blob(name)
                self.writer.file(name, mode, content)
            self.ours.append(name)
        if commit.files and not base.stands_alone():
            self.add_maintainers()


def targets(commit):
    """The files that the hunks of a commit change."""
    return sorted(name for name, _ in series.file_diffs(commit.diff))


class Misfit(Failure):
    """A hunk has no place in the base."""


def rejects(builder, commits):
    """What does not fit, in words: each hunk, and what later hunks miss because of it."""
    for commit in commits:
        for name, text in series.file_diffs(commit.diff):
            head, *hunks = re.split(r"^(?=@@ )", text, flags=re.M)
            if not builder.entries([name]):
                yield f"{rel(commit.path)}: {name}, which is missing"
                continue
            for number, hunk in enumerate(hunks, 1):
                try:
                    builder.apply(commit, head + hunk)
                except Misfit:
                    line = re.match(r"@@ -(\d+)", hunk).group(1)
                    yield f"{rel(commit.path)}: hunk {number} of {name} (line {line})"


def build_commits(repo, base_commit, commits):
    """Returns the last commit."""
    try:
        builder = Builder(repo, base_commit, commits)
        for commit in commits:
            builder.add(commit)
    except Misfit as first:
        found = list(rejects(Builder(repo, base_commit, commits), commits)) or [str(first)]
        for text in found:
            say("REJECT", text)
        raise Failure(f"{len(found)} hunk{'s' * (len(found) > 1)} do{'es' * (len(found) == 1)} not fit "
                      f"without fuzz; the series fits Linux {base.pinned()['version']}") from None
    tip = builder.writer.finish()
    os.unlink(builder.repo.env["GIT_INDEX_FILE"])
    return tip


def key_of(base_commit, commits):
    """A key that changes when the base, the series, a file that it takes or a script does."""
    here = os.path.dirname(os.path.abspath(__file__))
    scripts = [os.path.join(here, name) for name in sorted(os.listdir(here)) if name.endswith(".py")]
    digest = hashlib.sha256(base_commit.encode())
    for path in [*scripts, os.path.join(ROOT, "MAINTAINERS")]:
        digest.update(read(path, "rb"))
    for commit in commits:
        digest.update(repr([commit.patch, commit.files, commit.store()]).encode())
        for name in commit.files:
            digest.update(repr(series.overlay_blob(name)).encode())
    return digest.hexdigest()


def stamped_tip(repo, key):
    """The last commit that was built, if it was from what there is now."""
    old, _, tip = read(STAMP).partition(" ") if os.path.exists(STAMP) else ("", "", "")
    return repo.ref(f"{tip}^{{commit}}") if old == key else None


def is_generated(repo, base_commit, commits):
    """Nothing has changed in this repository since the tree was made from it."""
    return stamped_tip(repo, key_of(base_commit, commits)) == repo.ref(GENERATED)


def series_tip(repo, base_commit, commits):
    """The last commit of the series; built only when what it is made of has changed."""
    key = key_of(base_commit, commits)
    tip = stamped_tip(repo, key)
    if tip:
        return tip
    tip = build_commits(repo, base_commit, commits)
    write(STAMP, f"{key} {tip}")
    return tip


def check_out(repo, new):
    """Bring the work tree to the new commit, touching only the files that differ."""
    repo.run("update-ref", PENDING, new)
    repo.run("read-tree", "-m", "-u", "HEAD", new)
    finish(repo, new)


def finish(repo, new):
    repo.run("update-ref", "HEAD", new)
    repo.run("update-ref", GENERATED, new)
    repo.run("update-ref", "-d", PENDING)


def recover(repo):
    """Complete a check-out that was interrupted; it began with a tree without edits."""
    repo.unlock()
    pending = repo.ref(PENDING)
    if pending:
        repo.run("reset", "--hard", "--quiet", pending)
        finish(repo, pending)


def edits(repo):
    """What somebody changed in the tree since it was generated, in words; or None."""
    ahead = repo.out("rev-list", "--count", f"{GENERATED}..HEAD")
    dirty = repo.dirty()
    if ahead != "0" or repo.ref("HEAD") != repo.ref(GENERATED):
        return f"{ahead} commits that are not in the series"
    return f"an edited {dirty[0]}" + (f" and {len(dirty) - 1} more" if len(dirty) > 1 else "") \
        if dirty else None


def make_tree():
    """Make the tree; returns the commit that it stands at."""
    with lock("tree"):
        commits = series.load_series()
        state = base.ensure()
        repo = Repo(SRC)
        recover(repo)
        new = series_tip(repo, state["commit"], commits)
        changed = edits(repo)
        if new == repo.ref(GENERATED):
            kept = f", with {changed}" if changed else ""
        elif changed and os.environ.get("FORCE") != "1":
            raise Failure(f"{rel(SRC)} holds {changed}: `make refresh` takes edits over into the "
                          "repository, `make tree FORCE=1` throws them away")
        else:
            if changed:
                repo.run("reset", "--hard", "--quiet", GENERATED)
            check_out(repo, new)
            kept = ""
        say("TREE", f"{rel(SRC)}: Linux {state['version']} + {len(commits)} commits{kept}")
        return repo.ref("HEAD")


def make_base():
    """The unpatched tree, as a second work tree of the same repository."""
    with lock("tree"):
        state = base.ensure()
        if not os.path.isdir(SRC_BASE):
            need_space(BUILD, 1500)
        tree = Repo(SRC).add_work_tree(SRC_BASE, state["commit"])
        if tree.ref("HEAD") != state["commit"] or tree.dirty():
            tree.run("reset", "--hard", "--quiet", state["commit"])
        say("TREE", f"{rel(SRC_BASE)}: Linux {state['version']}, unpatched")
        return state["commit"]


def command():
    if sys.argv[1:] == ["base"]:
        make_base()
    else:
        make_tree()


if __name__ == "__main__":
    main(command)
