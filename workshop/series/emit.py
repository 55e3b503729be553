#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""make series: build/series/*.patch with a cover letter, for `git am`, `git send-email` and b4.

build/series is a link to build/<base>/series of the base of the last call. With PART=kernel it is
build/<base>/series-kernel, which has only what is part of a kernel. fixes/ in there has the fixes of
the base once more, as a series of their own.

The cover letter does not end in .patch: `git am build/series/*.patch` would stop at a mail without
a patch, and `git send-email build/series` sends every file of a directory, whatever its name.
"""

import os
import re
import shutil
import subprocess

import base
import series
import sizes
import tree
from common import BUILD, PATCHES, SRC, TOP, Failure, lock, main, read, rel, say, write
from git import Repo

PARTS = ("all", "kernel")
# What neither a kernel nor its documentation needs of ours. Pages include files of samples/.
NOT_KERNEL = "tools/"
# What marks a fix of the base
STABLE = "Cc: stable@vger.kernel.org"
LAST = os.path.join(TOP, "series")


def chosen_part():
    part = os.environ.get("PART") or "all"
    if part not in PARTS:
        raise Failure(f"PART={part} is unknown; there are {', '.join(PARTS)}")
    return part


def kernel_part(commits):
    """The commits without what is not part of a kernel, and without those that have nothing else."""
    for commit in commits:
        commit.files = [name for name in commit.files if not name.startswith(NOT_KERNEL)]
        commit.diff = "".join(text for name, text in series.file_diffs(commit.diff)
                              if not name.startswith(NOT_KERNEL))
    return [commit for commit in commits if commit.files or commit.diff]


def about_base(repo, state):
    """The lines before git's base-commit, which names a commit that no public tree has."""
    tree_id = repo.out("rev-parse", f"{state['commit']}^{{tree}}")
    digest = f"\n(sha256 of the tarball: {state['sha256']})" if state["sha256"] else ""
    return (f"The base is the source of Linux {state['version']} that these mails were made from"
            f"{digest}.\nAs a tree of git it is {tree_id}. In a git tree that does not\n"
            "know the base-commit below, b4 takes HEAD, or with --guess-base a commit with\n"
            "the same files.")


def about_part(part, commits, total):
    return (f"This is the part for a kernel, in {len(commits)} of {total} patches: all but what is in "
            f"{NOT_KERNEL},\nthe client and the selftests.") if part == "kernel" else ""


def cover_letter(path, *more):
    """Fill in what git leaves open: subject and text from patches/<base>/cover-letter."""
    subject, _, text = read(os.path.join(PATCHES, "cover-letter")).partition("\n")
    letter = read(path)
    text = "\n\n".join(filter(None, [text.strip(), *more]))
    for blank, filled in (("*** SUBJECT HERE ***", subject), ("*** BLURB HERE ***", text)):
        if blank not in letter:
            raise Failure(f"git's cover letter has no `{blank}`")
        letter = letter.replace(blank, filled)
    write(path, letter)


def unfold(path, ident):
    """Make each header one line: b4 0.12 fails at folded ones with the python of Debian 12.

    Message-Ids get the name of the base commit in place of the time, so that the same series is
    always the same mails.
    """
    head, blank, body = read(path).partition("\n\n")
    head = re.sub(r"\n[ \t]+", " ", head)
    head = re.sub(r"(<\w+\.)\d+(\.git\.)", rf"\g<1>{ident}\g<2>", head)
    write(path, head + blank + body)


def format_patches(repo, start, tip, out, *options):
    """git format-patch, with the identity and date of the last commit."""
    name, mail, date = repo.out("show", "-s", "--format=%an%n%ae%n%aD", tip).split("\n")
    env = {"GIT_COMMITTER_NAME": name, "GIT_COMMITTER_EMAIL": mail, "GIT_COMMITTER_DATE": date}
    repo.run("format-patch", "--quiet", "--no-signature", "--zero-commit", "--thread",
             f"--base={start}", "--no-renames", "--output-directory", out, *options, f"{start}..{tip}",
             env=env)
    for name in os.listdir(out):
        unfold(os.path.join(out, name), tip[:12])


def format_fixes(repo, start, tip, out):
    """The commits at the start of the series that fix the base."""
    last = start
    for commit in repo.out("rev-list", "--reverse", f"{start}..{tip}").split():
        if STABLE not in repo.out("show", "-s", "--format=%B", commit).splitlines():
            break
        last = commit
    if last != start:
        format_patches(repo, start, last, os.path.join(out, "fixes"))


def recipients(tree, paths):
    """Whom the MAINTAINERS of a tree names for some patches: (people, mailing lists)."""
    command = ["perl", "scripts/get_maintainer.pl", "--no-git", "--no-git-fallback", "--no-rolestats"]
    found = [subprocess.run([*command, option, *paths], cwd=tree, capture_output=True, text=True,
                            check=True).stdout.split("\n") for option in ("--nol", "--nom")]
    people, lists = ([line for line in lines if line] for lines in found)
    return people, [line for line in lists if line not in people]


def address(tree, out):
    """Head the mails with To: and Cc:, the cover letter with those of all patches."""
    names = sorted(name for name in os.listdir(out) if name.endswith(".patch"))
    patches = [os.path.join(out, name) for name in names]
    for path in patches:
        people, lists = recipients(tree, patches[1:] if path == patches[0] else [path])
        head, blank, body = read(path).partition("\n\n")
        write(path, f"{head}\nTo: {', '.join(people)}\nCc: {', '.join(lists)}{blank}{body}")


def format_series(repo, start, tip, out):
    """All mails; returns the cover letter."""
    format_patches(repo, start, tip, out, "--cover-letter")
    if base.stands_alone():
        address(repo.tree, out)
    format_fixes(repo, start, tip, out)
    letter = os.path.join(out, "0000-cover-letter.txt")
    os.rename(os.path.join(out, "0000-cover-letter.patch"), letter)
    return letter


def link_last(out):
    """Make the link whose name does not depend on the base; replace an older one in one step."""
    if os.path.isdir(LAST) and not os.path.islink(LAST):
        shutil.rmtree(LAST)
    link = f"{out}.link"
    if os.path.lexists(link):
        os.unlink(link)
    os.symlink(os.path.relpath(out, TOP), link)
    os.replace(link, LAST)


def emit(repo, state, part):
    """Write the mails; returns their directory and how many patches they are."""
    commits = series.load_series()
    if not commits:
        raise Failure("the series is empty, there is nothing to send")
    total, out = len(commits), os.path.join(BUILD, "series")
    if part == "kernel":
        commits, out = kernel_part(commits), f"{out}-{part}"
        tip = tree.build_commits(repo, state["commit"], commits)
    else:
        tip = tree.series_tip(repo, state["commit"], commits)
    new = f"{out}.new"
    shutil.rmtree(new, ignore_errors=True)
    sizes.check_sizes(repo, state["commit"], tip)
    letter = format_series(repo, state["commit"], tip, new)
    cover_letter(letter, about_part(part, commits, total), about_base(repo, state))
    shutil.rmtree(out, ignore_errors=True)
    os.rename(new, out)
    return out, len(commits)


def command():
    part = chosen_part()
    with lock("tree"):
        state = base.ensure()
        out, count = emit(Repo(SRC), state, part)
        link_last(out)
    say("SERIES", f"{rel(out)}: {count} patches for Linux {state['version']} and a cover "
        f"letter (git am {rel(out)}/*.patch; git send-email {rel(out)})")


if __name__ == "__main__":
    main(command)
