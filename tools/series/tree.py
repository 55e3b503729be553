#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make tree: build/<base>/src, the base commit and one commit for each line of the series."""

import os
import re
import shutil
import sys

import base
import maintainers
import series
from common import BUILD, SRC, SRC_BASE, Failure, lock, main, need_space, rel, say
from git import Repo

GENERATED = "refs/procmap/generated"
PENDING = "refs/procmap/pending"


class Builder:
    """Builds the commits in the object store of a repository, without touching a work tree."""

    def __init__(self, repo, base_commit):
        self.repo = Repo(repo.tree, repo.env["GIT_DIR"],
                         os.path.join(repo.env["GIT_DIR"], "index.series"))
        self.base = base_commit
        self.tip = base_commit
        self.repo.run("read-tree", base_commit)

    def add_file(self, commit, name):
        """Stage one overlay file, which must be new."""
        if name == "MAINTAINERS":
            return
        if self.repo.lines("ls-files", "-z", "--", name):
            raise Failure(f"{name} ({commit.patch}) would overwrite a file that the tree has")
        content, mode = series.overlay_blob(name)
        self.stage(name, content, mode)

    def stage(self, name, content, mode="100644"):
        blob = self.repo.out("hash-object", "-w", "--stdin", data=content)
        self.repo.run("update-index", "--add", "--cacheinfo", f"{mode},{blob},{name}")

    def add_maintainers(self, ours):
        """Stage our entries of MAINTAINERS for the files that are there by now."""
        text = self.repo.run("cat-file", "blob", f"{self.base}:MAINTAINERS")[1].decode()
        self.stage("MAINTAINERS", maintainers.merge(text, ours).encode())

    def apply_hunks(self, commit):
        """Stage the hunks; git applies without fuzz."""
        if not commit.diff:
            return
        status, _, err = self.repo.run("apply", "--cached", "--whitespace=nowarn", "-",
                                       data=commit.diff.encode(), ok=(0, 1, 128))
        if status:
            raise Failure(f"{rel(commit.path)} does not fit: {apply_error(err, commit.diff)}")

    def add(self, commit, ours):
        """Make the next commit; ours collects the overlay files so far."""
        self.apply_hunks(commit)
        for name in commit.files:
            self.add_file(commit, name)
            ours.append(name)
        if "MAINTAINERS" in commit.files:
            self.add_maintainers(ours)
        env = {"GIT_AUTHOR_NAME": commit.author, "GIT_AUTHOR_EMAIL": commit.mail,
               "GIT_AUTHOR_DATE": commit.date, "GIT_COMMITTER_NAME": commit.author,
               "GIT_COMMITTER_EMAIL": commit.mail, "GIT_COMMITTER_DATE": commit.date}
        self.tip = self.repo.out("commit-tree", self.repo.out("write-tree"), "-p", self.tip,
                                 "-F", "-", data=commit.message.encode(), env=env)


def apply_error(err, diff):
    """Turn git's words about a hunk into one line that names file and hunk."""
    text = err.decode(errors="replace")
    match = re.search(r"patch failed: (\S+):(\d+)", text)
    if not match:
        return text.strip().splitlines()[0] if text.strip() else "git apply gave no reason"
    name, line = match.groups()
    start = re.search(rf"^diff --git a/{re.escape(name)} .*?(?=^diff --git |\Z)", diff, re.M | re.S)
    lines = re.findall(r"^@@ -(\d+)", start.group(), re.M) if start else []
    number = lines.index(line) + 1 if line in lines else 0
    return f"hunk {number} of {name} (line {line}) finds no matching place"


def build_commits(repo, base_commit, commits):
    builder, ours = Builder(repo, base_commit), []
    for commit in commits:
        builder.add(commit, ours)
    os.unlink(builder.repo.env["GIT_INDEX_FILE"])
    return builder.tip


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
    """A check-out that was interrupted is completed; its start was a tree without edits."""
    for leftover in ("index.lock", "HEAD.lock"):
        path = os.path.join(SRC, ".git", leftover)
        if os.path.exists(path):
            os.unlink(path)
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
    """Returns the commit that the tree stands at."""
    with lock("tree"):
        commits = series.load_series()
        state = base.ensure()
        repo = Repo(SRC)
        recover(repo)
        new = build_commits(repo, state["commit"], commits)
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
        repo = Repo(SRC)
        # git that is killed while it adds a work tree may leave some of the files alone.
        if not os.path.isdir(SRC_BASE) or not Repo(SRC_BASE).ref("HEAD"):
            need_space(BUILD, 1500)
            shutil.rmtree(SRC_BASE, ignore_errors=True)
            repo.run("worktree", "prune")
            repo.run("worktree", "add", "--quiet", "--force", "--detach", SRC_BASE,
                     state["commit"])
        tree = Repo(SRC_BASE)
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
