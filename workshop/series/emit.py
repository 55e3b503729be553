#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make series: build/series/*.patch with a cover letter, for `git am` and `git send-email`.

build/series is a link to build/<base>/series of the base of the last call.

The cover letter does not end in .patch: `git am build/series/*.patch` would stop at a mail without
a patch, and `git send-email build/series` sends every file of a directory, whatever its name.
"""

import os
import shutil

import base
import series
import tree
from common import BUILD, PATCHES, SRC, TOP, Failure, lock, main, read, rel, say, write
from git import Repo

OUT = os.path.join(BUILD, "series")
LAST = os.path.join(TOP, "series")


def cover_letter(path):
    """Fill in what git leaves open: subject and text from patches/<base>/cover-letter."""
    subject, _, text = read(os.path.join(PATCHES, "cover-letter")).partition("\n")
    letter = read(path)
    for blank, filled in (("*** SUBJECT HERE ***", subject), ("*** BLURB HERE ***", text.strip())):
        if blank not in letter:
            raise Failure(f"git's cover letter has no `{blank}`")
        letter = letter.replace(blank, filled)
    write(path, letter)


def format_patches(repo, start, tip, out):
    """git format-patch, with the identity and date of the last commit on the cover letter."""
    name, mail, date = repo.out("show", "-s", "--format=%an%n%ae%n%aD", tip).split("\n")
    env = {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": mail, "GIT_COMMITTER_DATE": date}
    repo.run("format-patch", "--quiet", "--cover-letter", "--no-signature", "--zero-commit",
             "--no-renames", "--output-directory", out, f"{start}..{tip}", env=env)
    letter = os.path.join(out, "0000-cover-letter.txt")
    os.rename(os.path.join(out, "0000-cover-letter.patch"), letter)
    cover_letter(letter)


def link_last():
    """Make the link whose name does not depend on the base; replace an older one in one step."""
    if os.path.isdir(LAST) and not os.path.islink(LAST):
        shutil.rmtree(LAST)
    link = f"{OUT}.link"
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink(os.path.relpath(OUT, TOP), link)
    os.replace(link, LAST)


def command():
    with lock("tree"):
        commits = series.load_series()
        if not commits:
            raise Failure("the series is empty, there is nothing to send")
        state = base.ensure()
        repo = Repo(SRC)
        tip = tree.series_tip(repo, state["commit"], commits)
        new = f"{OUT}.new"
        shutil.rmtree(new, ignore_errors=True)
        format_patches(repo, state["commit"], tip, new)
        shutil.rmtree(OUT, ignore_errors=True)
        os.rename(new, OUT)
        link_last()
        say("SERIES", f"{rel(OUT)}: {len(commits)} patches for Linux {state['version']} and a cover "
            f"letter (git am {rel(OUT)}/*.patch; git send-email {rel(OUT)})")


if __name__ == "__main__":
    main(command)
