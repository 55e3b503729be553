# SPDX-License-Identifier: GPL-2.0
"""A git repository as the series tools use it, independent of the user's git configuration."""

import contextlib
import hashlib
import os
import re
import shutil

from common import Failure, run_to_end


class Repo:
    """A repository; with an index of its own, work on it does not touch the work tree."""

    # Files that each git holds: a lock ends with the last git that a killed call has started
    kept_open = ()

    def __init__(self, tree, gitdir=None, index=None):
        self.tree = tree
        self.env = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL="/dev/null",
                        LC_ALL="C", GIT_DIR=gitdir or os.path.join(tree, ".git"), GIT_WORK_TREE=tree)
        for name in ("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE"):
            self.env.pop(name, None)
        if index:
            self.env["GIT_INDEX_FILE"] = index

    def run(self, *args, data=None, env=None, ok=(0,)):
        """Run git and return (status, stdout, stderr) as bytes."""
        command = ["git", "-c", "safe.directory=*", "-c", "core.quotePath=false",
                   "-c", "core.autocrlf=false", "-c", "gc.auto=0", *args]
        status, out, err = run_to_end(command, data, cwd=self.tree,
                                      env={**self.env, **(env or {})}, pass_fds=self.kept_open)
        if status not in ok:
            text = err.decode(errors="replace").strip().splitlines() or ["no message"]
            raise Failure(f"git {args[0]} in {self.tree}: {text[-1]}")
        return status, out, err

    def out(self, *args, **kwargs):
        return self.run(*args, **kwargs)[1].decode(errors="surrogateescape").strip()

    def lines(self, *args, **kwargs):
        text = self.run(*args, **kwargs)[1].decode(errors="surrogateescape")
        return [line for line in text.split("\0") if line]

    def ref(self, name):
        """The object a name stands for, or None."""
        status, out, _ = self.run("rev-parse", "--verify", "--quiet", name, ok=(0, 1, 128))
        return out.decode().strip() if status == 0 else None

    def changes(self, old, new, *paths):
        """{path: status} of what differs between two commits; a rename is two changes."""
        fields = self.lines("diff", "-z", "--no-renames", "--name-status", old, new, "--", *paths)
        return dict(zip(fields[1::2], fields[::2]))

    def unlock(self):
        """Remove the locks of a git that was killed."""
        for name in ("index.lock", "HEAD.lock"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.env["GIT_DIR"], name))

    def add_work_tree(self, where, commit):
        """A work tree of this repository at a commit, unless it is there; returns it.

        If git is killed while it adds one, it may leave only some of the files behind.
        """
        if not os.path.isdir(where) or not Repo(where).ref("HEAD"):
            shutil.rmtree(where, ignore_errors=True)
            self.run("worktree", "prune")
            self.run("worktree", "add", "--quiet", "--force", "--detach", where, commit)
        return Repo(where)

    def contents(self, blobs):
        """{object: content} of many blobs, by one process."""
        blobs = list(dict.fromkeys(blobs))
        out = self.run("cat-file", "--batch", data="".join(f"{blob}\n" for blob in blobs).encode())[1]
        found, place = {}, 0
        for blob in blobs:
            start = out.index(b"\n", place) + 1
            size = int(out[place:start].split()[2])
            found[blob] = out[start:start + size]
            place = start + size + 1
        return found

    def files(self, commit, paths):
        """{path: (mode, content)} of the given paths that are files of a commit."""
        if not paths:
            return {}
        entries = [entry.partition("\t") for entry in
                   self.lines("ls-tree", "-r", "-z", "--full-tree", commit, "--", *paths)]
        wanted = {path: about.split() for about, _, path in entries if path in paths}
        contents = self.contents(blob for _, _, blob in wanted.values())
        return {path: (mode, contents[blob]) for path, (mode, _, blob) in wanted.items()}

    def digest(self, *paths, but=(), commit=None):
        """A key that changes with what is at these paths (default all) of a commit, or of HEAD and the
        edits in the work tree."""
        entries = [entry for entry in self.lines("ls-tree", "-z", "--full-tree", commit or "HEAD",
                                                 *(["--", *paths] if paths else []))
                   if entry.partition("\t")[2] not in but]
        edits = b"" if commit else self.run("diff", "HEAD", "--", *(paths or ["."]),
                                            *(f":(exclude){name}" for name in but))[1]
        return hashlib.sha256("\0".join(entries).encode() + b"\0" + edits).hexdigest()

    def dirty(self):
        """Tracked files that differ from HEAD."""
        return [entry[3:] for entry in
                self.lines("status", "--porcelain", "-z", "--untracked-files=no", "--no-renames")]

    def untracked(self):
        """New files that are not ignored.

        The .gitignore of Debian's source ends by ignoring everything at the top level, so that
        git's own answer would be empty: take that back, and then say its other lines once more, for
        the top level alone. What the command line says goes before any file.
        """
        with open(os.path.join(self.tree, ".gitignore"), encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.strip() and line[0] != "#"]
        rules = ["!/*", *(re.sub("^(!?)/?", r"\1/", line) for line in lines
                          if line not in ("/*", "!/debian/"))]
        return self.lines("ls-files", "-z", "--others", "--exclude-per-directory=.gitignore",
                          *(f"--exclude={rule}" for rule in rules))
