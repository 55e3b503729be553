# SPDX-License-Identifier: GPL-2.0
"""The base kernel: find it, check it against the pin, import it into git."""

import hashlib
import json
import os
import re
import shutil
import subprocess

from common import BASE, BUILD, ROOT, SRC, Failure, entries, need_space, notice, read, rel, say, write
from git import Repo

# Debian's package, installed, or taken out of a suite that this machine does not use (packages.sh)
DEBIAN = f"/usr/src/linux-source-{BASE}.tar.xz"
FETCHED = os.path.join(BUILD, os.path.basename(DEBIAN))
STATE = os.path.join(BUILD, "base.json")
WHO = {"GIT_AUTHOR_NAME": "base", "GIT_AUTHOR_EMAIL": "base@localhost",
       "GIT_COMMITTER_NAME": "base", "GIT_COMMITTER_EMAIL": "base@localhost",
       "GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}


def described(name=BASE):
    """What patches/<base>/base says: (word, value) for each line."""
    return [line.split(None, 1) for line in entries(os.path.join(ROOT, "patches", name, "base"))]


def pinned(name=BASE):
    return dict(described(name))


def stands_alone(name=BASE):
    """Is this a base whose patches take nothing of the top of this repository?"""
    return pinned(name).get("stands") == "alone"


def values(wanted):
    """Of a word that may have several lines. tests: the folders of kselftests that the test machine
    has, if not those of the series; narrow: files whose hunks have little context, because other
    lines differ between point releases; remark: what sparse says of us without reason."""
    return tuple(value for word, value in described() if word == wanted)


def find_source():
    """The tarball or directory to start from: KSRC, else Debian's package."""
    asked = os.environ.get("KSRC")
    source = os.path.abspath(asked) if asked else FETCHED if os.path.exists(FETCHED) else DEBIAN
    if not os.path.exists(source):
        if asked:
            raise Failure(f"KSRC={asked} does not exist; give a tarball or directory of Linux "
                          f"{BASE}, or leave it out for Debian's package")
        raise Failure(f"{DEBIAN} is missing; install the package linux-source-{BASE} or give KSRC=")
    if os.path.isdir(source):
        kernel_version(source, f"KSRC={asked}")
    elif not os.path.isfile(source):
        raise Failure(f"KSRC={asked} is neither a tarball nor a directory")
    return source


def source_key(source):
    """A key that changes when the source does, without reading all of it."""
    if os.path.isdir(source):
        if os.path.isdir(os.path.join(source, ".git")):
            repo = Repo(source)
            edits = hashlib.sha256(repo.run("diff", "HEAD")[1]).hexdigest()
            return f"{source} {repo.ref('HEAD')} {edits}"
        return f"{source} {os.stat(os.path.join(source, 'Makefile')).st_mtime_ns}"
    status = os.stat(source)
    return f"{source} {status.st_size} {status.st_mtime_ns}"


def hash_file(path):
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def unpack(source, where):
    """Put the source tree into an empty directory."""
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    if os.path.isdir(source):
        copy_directory(source, where)
    else:
        result = subprocess.run(["tar", "-xf", source, "-C", where, "--strip-components=1"],
                                capture_output=True, check=False)
        if result.returncode:
            text = result.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise Failure(f"{source} is not a tarball that can be unpacked: {text[0]}")
    kernel_version(where, source)


def copy_directory(source, where):
    """Copy what belongs to the source, but nothing that git or a build left there."""
    names = ["."]
    if os.path.isdir(os.path.join(source, ".git")):
        names = [name for name in Repo(source).lines("ls-files", "-z")
                 if os.path.lexists(os.path.join(source, name))]
    elif os.path.exists(os.path.join(source, ".config")):
        raise Failure(f"KSRC={source} was built in; run `make mrproper` there first")
    copy = 'tar -C "$0" -c --null --files-from=- | tar -C "$1" -x'
    if subprocess.run(["bash", "-o", "pipefail", "-c", copy, source, where], check=False,
                      input="\0".join(names).encode(errors="surrogateescape")).returncode:
        raise Failure(f"KSRC={source} cannot be copied")


def kernel_version(tree, name):
    """The version that a kernel tree gives itself; we must have patches for that series."""
    try:
        text = read(os.path.join(tree, "Makefile"))
        parts = [re.search(rf"^{key} = (\d+)$", text, re.M).group(1)
                 for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    except (OSError, AttributeError):
        raise Failure(f"{name} is no kernel source: it has no Makefile with a version") from None
    if ".".join(parts[:2]) != BASE:
        raise Failure(f"{name} is Linux {'.'.join(parts)}, but there are patches for {BASE} only")
    return ".".join(parts)


def compare_with_pin(source, version, digest):
    pin = pinned()
    if version != pin["version"]:
        notice(f"the base is {version}, the series was made for {pin['version']}; "
               "going on, every hunk has to fit without fuzz")
    elif digest and digest != pin["sha256"]:
        notice(f"{source} is a {version} that differs from the pinned one; "
               "going on, every hunk has to fit without fuzz")


def commit_tree(tree, gitdir, version):
    """Commit all files of a directory as the base; returns the commit."""
    index = os.path.join(gitdir, "index.base")
    repo = Repo(tree, gitdir, index)
    if os.path.exists(index):
        os.unlink(index)
    # The threshold makes git write one pack instead of 80,000 files.
    repo.run("-c", "core.bigFileThreshold=1", "-c", "core.compression=1", "add", "-A", "-f", ".")
    tree_id = repo.out("write-tree")
    commit = repo.out("commit-tree", tree_id, "-m", f"Linux {version}", env=WHO)
    repo.run("update-ref", "refs/heads/base", commit)
    return commit, index


def first_import(source):
    """Unpack and commit beside the final place; one rename makes it visible."""
    work = f"{SRC}.new"
    unpack(source, work)
    version = kernel_version(work, source)
    repo = Repo(work)
    repo.run("init", "--quiet", "--initial-branch=patched", ".")
    # A rename of the directory changes no file: keep git from looking into all of them.
    repo.run("config", "core.trustctime", "false")
    repo.run("config", "core.checkStat", "minimal")
    commit, index = commit_tree(work, os.path.join(work, ".git"), version)
    os.replace(index, os.path.join(work, ".git", "index"))
    repo.run("update-ref", "refs/heads/patched", commit)
    repo.run("update-ref", "refs/procmap/generated", commit)
    os.rename(work, SRC)
    return version, commit


def later_import(source):
    """Another base for a tree that exists already."""
    work = os.path.join(BUILD, "unpack.new")
    unpack(source, work)
    version = kernel_version(work, source)
    commit, index = commit_tree(work, os.path.join(SRC, ".git"), version)
    os.unlink(index)
    shutil.rmtree(work)
    return version, commit


def ensure():
    """Make sure the base is in git; returns its description."""
    source = find_source()
    key = source_key(source)
    have = os.path.isdir(os.path.join(SRC, ".git"))
    if have and os.path.exists(STATE):
        state = json.loads(read(STATE))
        if state["key"] == key and Repo(SRC).ref("refs/heads/base") == state["commit"]:
            return state
    if not have:
        shutil.rmtree(SRC, ignore_errors=True)
        need_space(BUILD, int(os.environ.get("NEED_MB") or 2500))
    say("BASE", f"{rel(source)} -> {rel(SRC)}")
    digest = hash_file(source) if os.path.isfile(source) else None
    version, commit = later_import(source) if have else first_import(source)
    compare_with_pin(source, version, digest)
    state = {"key": key, "version": version, "sha256": digest, "commit": commit}
    write(STATE, json.dumps(state, indent=1) + "\n")
    return state
