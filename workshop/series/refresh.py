#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make refresh: bring edits made in build/<base>/src back into patches/ and the overlay.

Commits on top of it become patches. Edits that are not committed go to the overlay, or into the
last commit that touches the file. With --check nothing is written; the check fails unless a refresh
right after `make tree` changes nothing.
"""

import os
import sys

import series
import tree
from chain import Chain, as_files, history, name_patches, on_disk, put
from common import SRC, Failure, lock, main, rel, say
from git import Repo
from writer import Writer


def fold_place(repo, steps, path):
    """The number of the commit that an edit of this file belongs to."""
    touching = [number for number, step in enumerate(steps) if path in step.paths()]
    if not touching:
        raise Failure(f"{path} is edited, and no commit of the series touches it; commit the edit "
                      f"in {rel(repo.tree)} so that it has a message of its own")
    return touching[-1]


def fold_edits(repo, base, tip):
    """Rebuild the commits with the edits that are not committed; returns the new tip."""
    new = repo.untracked()
    if new:
        raise Failure(f"{new[0]} is new in {rel(repo.tree)} and in no commit; commit it "
                      "(`git add -f`: the .gitignore of Debian's source ignores all new files)")
    dirty = repo.dirty()
    if not dirty:
        return tip
    steps = history(repo, base, tip)
    places = {path: fold_place(repo, steps, path) for path in dirty}
    edited = {path: from_disk(repo, path) for path in dirty}
    writer = Writer(repo, base)
    for number, step in enumerate(steps):
        writer.commit(step.author, step.message.encode(), step.tree)
        for path, place in places.items():
            if place <= number and edited[path]:
                writer.object(path, *edited[path])
            elif place <= number:
                writer.remove(path)
    return writer.finish()


def from_disk(repo, path):
    """(mode, object) of a file of the work tree; None when it was removed."""
    full = os.path.join(repo.tree, path)
    if os.path.islink(full):
        return "120000", repo.out("hash-object", "-w", "--stdin", data=os.readlink(full).encode())
    if not os.path.exists(full):
        return None
    mode = "100755" if os.access(full, os.X_OK) else "100644"
    return mode, repo.out("hash-object", "-w", "--", path)


def files_of(chain, known):
    name_patches(chain.commits, known)
    return as_files(chain.commits, chain.overlay(), known)


def merge(old, new):
    """{path: entry or None} of what the tree has changed and the repository lacks; a file that is
    changed on both sides is a conflict."""
    changed, kept = {}, series.taken_elsewhere()
    for path in sorted(set(old) | set(new)):
        if old.get(path) == new.get(path):
            continue
        here = on_disk(path)
        if here not in (old.get(path), new.get(path)):
            raise Failure(f"{path} was changed here and in {rel(SRC)}; undo one of both "
                          f"(`git diff` shows the one, `git -C {rel(SRC)} diff {tree.GENERATED}` "
                          "the other)")
        if here != new.get(path) and (path in new or path not in kept):
            changed[path] = new.get(path)
    return changed


def refresh():
    """Three-way: what was generated, what the tree has now, what the repository has now."""
    repo = Repo(SRC)
    if not repo.ref(tree.GENERATED):
        raise Failure(f"{rel(SRC)} does not exist; there is nothing to refresh from (`make tree`)")
    tree.recover(repo)
    base = repo.ref("refs/heads/base")
    if repo.out("merge-base", base, "HEAD") != base:
        raise Failure(f"the commits in {rel(SRC)} do not start at its base; `make tree FORCE=1`")
    known = series.load_series()
    old = files_of(Chain(repo, base, tree.GENERATED, tree.GENERATED, known), known)
    if tree.is_generated(repo, base, known):
        # They may still be written in another way, with other context or line numbers.
        old = {path: on_disk(path) for path in old}
    tip = fold_edits(repo, base, "HEAD")
    changed = merge(old, files_of(Chain(repo, base, tip, tree.GENERATED, known), known))
    for path, entry in changed.items():
        put(path, entry)
        say("REFRESH", path)
    if changed:
        take_over(repo, base, tip)
    else:
        say("REFRESH", "nothing to do")


def take_over(repo, base, tip):
    """Check out the commits that the repository now describes."""
    new = tree.series_tip(repo, base, series.load_series())
    # All edits are in the repository by now: the work tree is that of the tip.
    repo.run("update-ref", "HEAD", tip)
    # --reset keeps what the index knows of the other files, so that git does not read them all.
    repo.run("read-tree", "--reset", tip)
    repo.run("update-index", "-q", "--refresh", ok=(0, 1))
    tree.check_out(repo, new)


def check():
    """Fails when a refresh after `make tree` would change a file."""
    repo = Repo(SRC)
    known = series.load_series()
    base = repo.ref("refs/heads/base")
    tip = tree.series_tip(repo, base, known)
    files = files_of(Chain(repo, base, tip, known=known), known)
    wrong = [path for path, entry in files.items() if on_disk(path) != entry]
    for path in wrong:
        print(f"{path} would change")
    if wrong:
        raise Failure(f"a refresh right after `make tree` would change {len(wrong)} files")


def command():
    with lock("tree"):
        if sys.argv[1:] == ["--check"]:
            check()
        else:
            refresh()


if __name__ == "__main__":
    main(command)
