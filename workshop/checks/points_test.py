#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The series fits other point releases without fuzz; POINTS="VERSION..." or POINTS=all

Tries the newest of Debian's linux-source packages that apt offers, and those named. A package is
140 MB and is downloaded once. Of its source only the files that the series touches are unpacked.
Prints TAP.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

import cases
from places import BASE, BUILD, ROOT
import series  # pylint: disable=wrong-import-order
from apply import wanted_files  # pylint: disable=wrong-import-order
from common import read, write  # pylint: disable=wrong-import-order

PACKAGE = f"linux-source-{BASE}"
POINTS = os.path.join(BUILD, "points")


def offered():
    """The versions of the package that apt offers, oldest first."""
    text = cases.call("apt-cache", "madison", PACKAGE, check=True).stdout
    found = {line.split("|")[1].strip() for line in text.splitlines() if line.count("|") == 2}
    if not found:
        sys.exit(f"error: apt offers no {PACKAGE}; run `apt-get update`")
    return sorted(found, key=lambda version: [int(part) for part in re.findall(r"\d+", version)])


def point(version):
    """6.1.170 of 6.1.170-3."""
    return version.partition("-")[0]


def chosen(versions, asked):
    """The versions to try; of one point release the last."""
    last = {point(version): version for version in versions}
    unknown = [name for name in asked if name not in last and name != "all"]
    if unknown:
        sys.exit(f"error: apt offers no {PACKAGE} {unknown[0]}; it has {' '.join(last)}")
    newest = list(last)[-1]
    return [version for name, version in last.items()
            if "all" in asked or name in (newest, *asked)]


def package(version):
    return os.path.join(POINTS, f"{PACKAGE}_{version}_all.deb")


def download(version):
    """Under another name until it is complete; apt compares the checksum."""
    with tempfile.TemporaryDirectory(dir=POINTS) as where:
        cases.call("apt-get", "download", "-q", f"{PACKAGE}={version}", cwd=where, check=True)
        os.rename(os.path.join(where, os.path.basename(package(version))), package(version))


def unpack(version, names, where):
    """The files that there are of the names."""
    command = ('dpkg-deb --fsys-tarfile "$0" | tar -xO "./usr/src/$1.tar.xz" | xz -dcT2 | '
               'tar -x -C "$2" --strip-components=1 --no-wildcards -T "$3"; '
               '[[ ${PIPESTATUS[*]} =~ ^"0 0 0 "[02]$ ]]')  # tar says 2 for names that it misses
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as wanted:
        wanted.writelines(f"{PACKAGE}/{name}\n" for name in names)
        wanted.flush()
        cases.call("bash", "-c", command, package(version), PACKAGE, where, wanted.name, check=True)


def source(version, names):
    """The files of a version, kept for the next call as long as the names are the same."""
    where = os.path.join(POINTS, version)
    listed = os.path.join(where, ".names")
    text = "\n".join(names)
    if os.path.exists(listed) and read(listed) == text:
        return where
    if not os.path.exists(package(version)):
        download(version)
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    unpack(version, names, where)
    write(listed, text)
    return where


def wrong(version, names):
    """What is wrong with the series on this version; None if nothing is."""
    with tempfile.TemporaryDirectory(prefix="points-") as scratch:
        tree = os.path.join(scratch, "linux")
        shutil.copytree(source(version, names), tree)
        apply = os.path.join(ROOT, "workshop", "series", "apply.py")
        result = cases.call(sys.executable, apply, tree)
    if result.returncode:
        return result.stdout + result.stderr
    right = f"Linux {point(version)}, " in result.stdout
    return None if right else f"the source says otherwise: {result.stdout}"


def attempt(version, names):
    try:
        return wrong(version, names)
    except subprocess.CalledProcessError as error:
        return f"{error}: {error.stderr}"


def main():
    versions = chosen(offered(), os.environ.get("POINTS", "").split())
    os.makedirs(POINTS, exist_ok=True)
    commits = series.load_series()
    names = sorted({"Makefile", *wanted_files(commits),
                    *(name for commit in commits for name in commit.files)})
    report = cases.Report()
    for version in versions:
        reason = attempt(version, names)
        report.case(not reason, f"Linux {point(version)} ({version}) takes the series", reason)
    sys.exit(report.end())


if __name__ == "__main__":
    main()
