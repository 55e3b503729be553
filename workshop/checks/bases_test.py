#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of several bases, on two made-up kernels of a few files. Results as TAP."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

import cases
from cases import call, refused
from places import ROOT

from common import read, write  # pylint: disable=wrong-import-order

# Two bases and what there is for them. 9.2 leaves out one file of the overlay, has another version
# of one and has one in addition. Its hunk has other lines around it.
PATCH = """From: A <a@localhost>
Date: Thu, 1 Jan 1970 00:00:00 +0000
Subject: mm: ours

Text.
---
diff --git a/mm/mm.c b/mm/mm.c
--- a/mm/mm.c
+++ b/mm/mm.c
@@ -1,3 +1,4 @@
 int one;
+int ours_{base};
 int two_{base};
 int three;
"""
NEW_FILE = """diff --git a/mm/new.c b/mm/new.c
new file mode 100644
--- /dev/null
+++ b/mm/new.c
@@ -0,0 +1 @@
+int x;
"""
KERNEL = {
    "Makefile": "VERSION = 9\nPATCHLEVEL = {minor}\nSUBLEVEL = 7\n",
    ".gitignore": "*.o\n",
    "mm/mm.c": "int one;\nint two_9{minor};\nint three;\n",
    "MAINTAINERS": "List\n\nALPHA\nM:\tB <b@localhost>\nF:\tmm/\n\n"
                   "ZETA\nM:\tB <b@localhost>\nF:\tz/\n",
}
OURS = {
    "MAINTAINERS": "OURS\nM:\tA <a@localhost>\nF:\tinclude/ours.h\nF:\tmm/extra.c\n"
                   "F:\tmm/left_out.c\nF:\tmm/ours.c\n",
    "mm/ours.c": "int ours;\n",
    "mm/left_out.c": "int left_out;\n",
    "include/ours.h": "/* of all bases */\n",
    "patches/default": "9.1\n",
    "patches/9.1/series": "0001-ours.patch: mm/ours.c mm/left_out.c include/ours.h\n",
    "patches/9.2/series": "0001-ours.patch: include/ mm/ours.c\n0002-more.patch: mm/extra.c\n",
    "patches/9.2/0002-more.patch": PATCH.partition("diff")[0].replace("ours", "more"),
    "patches/9.2/files/include/ours.h": "/* of 9.2 */\n",
    "patches/9.2/files/mm/extra.c": "int extra;\n",
}
for BASE, MINOR in (("9.1", "1"), ("9.2", "2")):
    OURS[f"patches/{BASE}/0001-ours.patch"] = PATCH.replace("{base}", f"9{MINOR}")
    OURS[f"patches/{BASE}/base"] = f"version {BASE}.7\nsha256 0\n"
    OURS[f"patches/{BASE}/cover-letter"] = "Ours\nText.\n"


class Project:
    """A repository of its own, with the tooling of this one."""

    def __enter__(self):
        self.holder = tempfile.TemporaryDirectory(prefix="bases-test-")
        self.top = os.path.join(self.holder.name, "project")
        for name in ("workshop/series", "workshop/checks"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(self.top, name),
                            ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(os.path.join(ROOT, "Makefile"), self.top)
        self.write(".gitignore", "/build\n__pycache__/\n")
        for name, text in OURS.items():
            self.write(name, text)
        for minor in ("1", "2"):
            for name, text in KERNEL.items():
                self.write(f"../kernel-9.{minor}/{name}", text.replace("{minor}", minor))
        self.git("init", "--quiet")
        self.git("add", "-A")
        return self

    def __exit__(self, *_):
        self.holder.cleanup()

    def git(self, *args, tree="."):
        return call("git", "-c", "safe.directory=*", "-c", "user.name=A", "-c",
                    "user.email=a@localhost", "-C", os.path.join(self.top, tree), *args,
                    check=True).stdout

    def write(self, name, text):
        write(os.path.join(self.top, name), text)

    def read(self, name):
        return read(os.path.join(self.top, name))

    def has(self, name):
        return os.path.lexists(os.path.join(self.top, name))

    def make(self, *args, path=""):
        """Run make with the kernel of the chosen base."""
        drop = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "UNLISTED", "KSRC", "VARIANT", "FORCE", "BASE",
                "PART")
        env = {name: value for name, value in os.environ.items() if name not in drop}
        env["PATH"] = path + env["PATH"]
        base = ([arg[5:] for arg in args if arg.startswith("BASE=")] + ["9.1"])[0]
        kernel = f"KSRC={self.holder.name}/kernel-{base}"
        return call("make", "-s", kernel, *args, cwd=self.top, env=env)

    def good(self, *args, **kwargs):
        result = self.make(*args, **kwargs)
        assert not result.returncode, result.stdout + result.stderr
        return result.stdout

    def other_tree(self, text):
        """A tree of another 9.1.y, without git, with this in mm/mm.c; returns the argument of
        `make apply`."""
        self.write("../other/Makefile", "VERSION = 9\nPATCHLEVEL = 1\nSUBLEVEL = 8\n")
        self.write("../other/MAINTAINERS", KERNEL["MAINTAINERS"])
        self.write("../other/mm/mm.c", text)
        return f"KDIR={self.holder.name}/other"

    def spy(self, name):
        """Make a program that records its arguments; returns what to put into PATH."""
        self.write(f"../bin/{name}", f'#!/bin/sh\necho "$*" >>{self.holder.name}/calls\n'
                                     f'exec {shutil.which(name)} "$@"\n')
        os.chmod(os.path.join(self.holder.name, "bin", name), 0o755)
        self.write("../calls", "")
        return os.path.join(self.holder.name, "bin:")


def test_the_default_base_takes_the_overlay(project):
    project.good("tree")
    assert project.read("build/9.1/src/include/ours.h") == "/* of all bases */\n"
    assert project.has("build/9.1/src/mm/left_out.c")
    assert not project.has("build/9.1/src/mm/extra.c"), "a file of another base"
    assert "ours_91" in project.read("build/9.1/src/mm/mm.c")
    assert not project.has("build/9.2"), "another base was built, too"


def test_another_base_takes_its_own_files_and_hunks(project):
    project.good("tree", "BASE=9.2")
    assert project.read("build/9.2/src/include/ours.h") == "/* of 9.2 */\n"
    assert project.read("build/9.2/src/mm/ours.c") == "int ours;\n"
    assert project.read("build/9.2/src/mm/extra.c") == "int extra;\n"
    assert not project.has("build/9.2/src/mm/left_out.c"), "a file that the series does not name"
    assert "ours_92" in project.read("build/9.2/src/mm/mm.c")


def test_maintainers_follows_from_the_files_that_are_there(project):
    for base, commit, there, missing in (
            ("9.1", "HEAD", ("mm/ours.c", "mm/left_out.c"), "mm/extra.c"),
            ("9.2", "HEAD~", ("mm/ours.c", "include/ours.h"), "mm/extra.c"),
            ("9.2", "HEAD", ("mm/ours.c", "mm/extra.c"), "mm/left_out.c")):
        project.good("tree", f"BASE={base}")
        text = project.git("show", f"{commit}:MAINTAINERS", tree=f"build/{base}/src")
        assert "ALPHA" in text.partition("OURS\n")[0] and "ZETA" in text.partition("OURS\n")[2], text
        assert all(f"F:\t{name}\n" in text for name in there), text
        assert f"F:\t{missing}\n" not in text, text


def test_a_link_is_a_copy_of_what_the_base_has(project):
    for base in ("9.1", "9.2"):
        line = project.read(f"patches/{base}/series").replace("patch:", "patch: tools/copy.h", 1)
        project.write(f"patches/{base}/series", line)
    os.mkdir(os.path.join(project.top, "tools"))
    os.symlink("../include/ours.h", os.path.join(project.top, "tools", "copy.h"))
    project.git("add", "-A")
    project.good("tree", "BASE=9.2")
    assert project.read("build/9.2/src/tools/copy.h") == "/* of 9.2 */\n"


def test_an_overlay_file_that_no_base_takes_is_an_error(project):
    project.write("mm/surplus.c", "")
    project.git("add", "-A")
    refused(project.make("tree"), "mm/surplus.c", "no base")
    refused(project.make("tree", "BASE=9.2"), "mm/surplus.c", "no base")
    project.good("tree", "UNLISTED=ok")


@cases.table({
    "an overlay file that only adapters stand for is an error":
        ("patches/9.1/files/include/ours.h", "/* of 9.1 */\n", "include/ours.h", "no base"),
    "a file of a base that its series does not name is an error":
        ("patches/9.2/files/mm/surplus.c", "", "patches/9.2/files/mm/surplus.c",
         "patches/9.2/series"),
    "a file that is in neither place is an error":
        ("patches/9.2/files/mm/extra.c", None, "mm/extra.c", "neither", "patches/9.2/files"),
})
def test_files_of_a_base(project, name, text, *words):
    if text is None:
        os.unlink(os.path.join(project.top, name))
    else:
        project.write(name, text)
    refused(project.make("tree", "BASE=9.2"), *words)


def test_a_series_with_an_error_is_refused(project):
    project.write("patches/9.1/0003-new.patch", PATCH.partition("diff")[0] + NEW_FILE)
    for line, why in (("0003-new.patch", "new file mode"), ("0004-none.patch", "does not exist"),
                      ("what is this", "series")):
        project.write("patches/9.1/series", OURS["patches/9.1/series"] + line + "\n")
        refused(project.make("tree"), line, why)


def test_what_is_no_kernel_of_the_base_is_refused(project):
    for where, *words in (("/nonexistent",), ("/etc",), ("/etc/passwd",),
                          (f"{project.holder.name}/kernel-9.2", "9.2.7", "9.1")):
        refused(project.make("tree", f"KSRC={where}"), *(words or [where]))


def test_an_unknown_base_is_an_error(project):
    for target in ("tree", "help", "check"):
        refused(project.make(target, "BASE=9.9"), "BASE=9.9", "9.1", "9.2")
    refused(project.make("tree", "BASE=9.1 9.2"), "9.1 9.2")
    script = os.path.join(project.top, "workshop", "series", "tree.py")
    result = call(sys.executable, script, env=dict(os.environ, BASE="9.9"))
    refused(result, "BASE=9.9", "9.1", "9.2")
    assert not project.has("build"), "work was done before"


def test_all_bases_in_turn(project):
    text = project.good("tree", "BASE=all", "need=", "SERIES=echo made $$BASE; : ")
    assert text == "made 9.1\nmade 9.2\n", text
    refused(project.make("run", "BASE=all"), "run", "9.1", "9.2")


def test_a_check_that_there_is_not_is_refused_first(project):
    refused(project.make("check", "ONLY=client spdx tpyo"), "ONLY=tpyo", "spdx")
    assert not project.has("build"), "work was done before"


def test_the_verdict_on_all_bases_is_the_sum(project):
    project.write("../bin/make", '#!/bin/sh\ncase $* in *9.1) echo "2 passed, 0 failed, 1 skipped";;\n'
                                 '*9.2) echo "3 passed, $BAD failed, 0 skipped"; exit $BAD;;\n'
                                 '*) echo broken; exit 2;; esac\n')
    os.chmod(os.path.join(project.holder.name, "bin", "make"), 0o755)
    script = os.path.join(project.top, "workshop", "checks", "all.py")
    for bases, bad, status, verdict in ((("9.1", "9.2"), "0", 0, "5 passed, 0 failed, 1 skipped"),
                                        (("9.2", "9.1"), "1", 1, "5 passed, 1 failed, 1 skipped"),
                                        (("9.3", "9.1"), "0", 1, "2 passed, 1 failed, 1 skipped")):
        path = f"{project.holder.name}/bin:{os.environ['PATH']}"
        result = call(sys.executable, script, "check", *bases,
                      env=dict(os.environ, PATH=path, BAD=bad))
        assert (result.returncode, result.stdout.splitlines()[-1]) == (status, verdict), result


def test_a_step_that_is_ended_ends_all_that_it_has_started(project):
    """As dpkg-buildpackage does, this shell does not pass the signal on."""
    says = os.path.join(project.top, "says")
    os.mkfifo(says)
    step = "from common import logged, main; main(lambda: logged('ended', ['sh', '-c', " \
           f"'(echo started; sleep 100 && echo late) >{says} & wait']))"
    with subprocess.Popen([sys.executable, "-c", step], stderr=subprocess.PIPE, text=True,
                          cwd=os.path.join(project.top, "workshop", "series"),
                          env=dict(os.environ, BASE="9.1")) as child, \
            open(says, encoding="ascii") as pipe:
        assert pipe.readline() == "started\n"
        child.terminate()
        assert child.wait() == 130 and "interrupted" in child.stderr.read(), child.returncode
        rest = pipe.read()
        assert rest == "", rest


def test_the_mails_of_each_base_stay(project):
    project.good("series", "BASE=9.2")
    assert "ours_92" in project.read("build/series/0001-mm-ours.patch")
    project.good("series")
    assert "ours_91" in project.read("build/series/0001-mm-ours.patch")
    assert "of 9.2" in project.read("build/9.2/series/0001-mm-ours.patch")


def test_a_narrow_hunk_fits_where_lines_farther_off_differ(project):
    project.good("tree")
    other = project.other_tree("int one;\nint two_91;\nint another;\n")
    refused(project.make("apply", other), "1 hunk does not fit", "9.1.8", "untouched")
    for narrow in (True, False):
        project.write("patches/9.1/base", OURS["patches/9.1/base"] + "narrow mm/mm.c\n" * narrow)
        project.write("build/9.1/src/mm/mm.c", f"int one;\nint edited_{narrow};\nint two_91;\nint three;\n")
        project.good("refresh")
        assert ("@@ -1,2 +1,3 @@" in project.read("patches/9.1/0001-ours.patch")) == narrow
        if narrow:
            project.good("apply", other)
            assert project.read("../other/mm/mm.c") == "int one;\nint edited_True;\nint two_91;\nint another;\n"


def test_a_base_that_a_hunk_does_not_fit_is_an_error(project):
    project.write("../kernel-9.1/mm/mm.c", "int one;\nint another;\nint three;\n")
    result = project.make("tree")
    refused(result, "1 hunk does not fit", "9.1.7")
    assert "patches/9.1/0001-ours.patch: hunk 1 of mm/mm.c (line 1)\n" in result.stdout, result.stdout
    assert not project.has("build/9.1/src/mm/mm.c.rej"), "the tree was worked in"
    assert project.read("build/9.1/src/mm/mm.c") == "int one;\nint another;\nint three;\n"


def test_a_second_call_makes_no_commit(project):
    path = project.spy("git")
    project.good("tree", path=path)
    assert "fast-import" in project.read("../calls"), "what is looked for below does not occur"
    for text in ("int ours;\n", "int changed;\n"):
        project.write("mm/ours.c", text)
        project.write("../calls", "")
        project.good("tree", path=path)
        again = "fast-import" in project.read("../calls")
        assert again == (text == "int changed;\n"), f"made again: {again}"
        assert project.read("build/9.1/src/mm/ours.c") == text


def test_edits_in_the_tree_are_kept(project):
    project.good("tree")
    project.write("build/9.1/src/mm/ours.c", "int edited;\n")
    assert "an edited mm/ours.c" in project.good("tree")
    project.write("mm/left_out.c", "int changed;\n")
    refused(project.make("tree"), "an edited mm/ours.c", "make refresh")
    assert project.read("build/9.1/src/mm/ours.c") == "int edited;\n"


def test_commits_in_the_tree_are_kept(project):
    project.good("tree")
    project.write("build/9.1/src/mm/ours.c", "int edited;\n")
    project.git("commit", "--quiet", "-a", "-m", "an edit", tree="build/9.1/src")
    assert "with 1 commits" in project.good("tree")
    assert project.read("build/9.1/src/mm/ours.c") == "int edited;\n"


def test_refresh_takes_each_edit_to_where_its_file_is(project):
    project.git("commit", "--quiet", "-m", "all")
    project.good("tree", "BASE=9.2")
    assert "nothing" in project.good("refresh", "BASE=9.2")
    src = "build/9.2/src"
    project.write(f"{src}/include/ours.h", "/* edited */\n")
    project.write(f"{src}/mm/extra.c", "int edited;\n")
    project.write(f"{src}/mm/ours.c", "int edited;\n")
    project.write(f"{src}/mm/mm.c", project.read(f"{src}/mm/mm.c").replace("ours_92", "edited"))
    project.good("refresh", "BASE=9.2")
    changed = project.git("diff", "--name-only").split()
    assert changed == ["mm/ours.c", "patches/9.2/0001-ours.patch", "patches/9.2/files/include/ours.h",
                       "patches/9.2/files/mm/extra.c"], changed
    assert project.read("patches/9.2/files/include/ours.h") == "/* edited */\n"
    assert "+int edited;" in project.read("patches/9.2/0001-ours.patch")
    assert "with an edited" not in project.good("tree", "BASE=9.2")


def test_a_new_file_does_not_replace_that_of_another_base(project):
    project.git("commit", "--quiet", "-m", "all")
    project.good("tree", "BASE=9.2")
    project.write("build/9.2/src/mm/left_out.c", "int otherwise;\n")
    project.write("build/9.2/src/mm/new.c", "int new;\n")
    project.git("add", "-f", "mm/left_out.c", "mm/new.c", tree="build/9.2/src")
    project.git("commit", "--quiet", "-m", "mm: new", tree="build/9.2/src")
    project.good("refresh", "BASE=9.2")
    assert project.read("mm/left_out.c") == "int left_out;\n", "another base's file was replaced"
    assert project.read("patches/9.2/files/mm/left_out.c") == "int otherwise;\n"
    assert project.read("mm/new.c") == "int new;\n"


def test_a_file_that_one_base_drops_stays_for_the_others(project):
    project.git("commit", "--quiet", "-m", "all")
    project.good("tree", "BASE=9.2")
    src = "build/9.2/src"
    project.git("reset", "--quiet", "--hard", "HEAD~", tree=src)
    project.git("rm", "--quiet", "mm/ours.c", tree=src)
    project.git("commit", "--quiet", "--amend", "--no-edit", tree=src)
    project.git("cherry-pick", "-X", "theirs", "refs/procmap/generated", tree=src)
    project.good("refresh", "BASE=9.2")
    assert "ours.c" not in project.read("patches/9.2/series")
    assert project.has("mm/ours.c"), "9.1 takes it still"
    project.good("tree")


AGAIN = """From: A <a@localhost>
Date: Thu, 1 Jan 1970 00:00:00 +0000
Subject: mm: again

Text.
---
diff --git a/mm/ours.c b/mm/ours.c
--- a/mm/ours.c
+++ b/mm/ours.c
@@ -3,4 +3,5 @@ int b;
 int c;
 int d;
 int e;
+int again;
 int f;
"""


def lines_of(*names):
    return "".join(f"int {name};\n" for name in names)


def add_again(project, *names):
    """A patch that changes a file of the overlay, which has these lines now."""
    project.write("mm/ours.c", lines_of(*names))
    project.write("patches/9.1/0003-again.patch", AGAIN)
    project.write("patches/9.1/series", OURS["patches/9.1/series"] + "0003-again.patch\n")
    project.git("add", "-A")


def test_a_patch_may_change_a_file_that_an_earlier_one_adds(project):
    add_again(project, *"abcde", "again", "f")
    project.good("tree")
    src = "build/9.1/src"
    assert project.git("show", "HEAD~:mm/ours.c", tree=src) == lines_of(*"abcdef")
    assert project.git("show", "HEAD:mm/ours.c", tree=src) == lines_of(*"abcde", "again", "f")
    assert "nothing" in project.good("refresh")
    other = project.other_tree("int one;\nint two_91;\nint three;\n")
    assert "Linux 9.1.8" in project.good("apply", other)
    assert project.read("../other/mm/ours.c") == lines_of(*"abcde", "again", "f")


def test_an_edit_elsewhere_in_such_a_file_goes_to_the_patch_that_adds_it(project):
    add_again(project, "new", *"abcde", "again", "f")
    project.good("tree")
    assert project.git("show", "HEAD~:mm/ours.c", tree="build/9.1/src") == lines_of("new", *"abcdef")
    project.good("refresh")
    assert "@@ -4,4 +4,5 @@" in project.read("patches/9.1/0003-again.patch")
    assert project.read("mm/ours.c") == lines_of("new", *"abcde", "again", "f")


def test_such_a_change_that_the_file_does_not_have_is_an_error(project):
    add_again(project, *"abcdef")
    refused(project.make("tree"), "0003-again.patch does not fit", "mm/ours.c")


def test_a_change_before_the_file_is_there_is_an_error(project):
    add_again(project, *"abcde", "again", "f")
    project.write("patches/9.1/series", "0003-again.patch\n" + OURS["patches/9.1/series"])
    refused(project.make("tree"), "0003-again.patch", "mm/ours.c", "no earlier commit adds")


def test_numbers_that_a_base_leaves_free_stay_free(project):
    add_again(project, *"abcde", "again", "f")
    project.good("tree")
    project.write("build/9.1/src/mm/mm.c", "int new;\n")
    project.git("commit", "--quiet", "-a", "-m", "mm: new", tree="build/9.1/src")
    project.good("refresh")
    numbers = [line[:4] for line in project.read("patches/9.1/series").splitlines()]
    assert numbers == ["0001", "0003", "0004"], numbers


def test_the_series_says_how_long_each_patch_is(project):
    project.write("patches/9.1/series", OURS["patches/9.1/series"].rstrip() + " tools/ours.c lib/ours.rst\n")
    project.write("tools/ours.c", "int x;\n" * 2000)
    project.write("lib/ours.rst", "x\n" * 3000)
    project.write("mm/ours.c", "int x;\n" * 497)
    project.git("add", "-A")
    rows = [line.split(maxsplit=3) for line in project.good("series").splitlines()]
    assert ["500", "2000", "3000", "mm: ours"] in rows, rows
    project.write("mm/ours.c", "int x;\n" * 498)
    refused(project.make("series"), "mm: ours", "501", "kernel", "500")
    project.write("mm/ours.c", "")
    project.write("tools/ours.c", "int x;\n" * 2001)
    refused(project.make("series"), "mm: ours", "2001", "tools", "2000")


def test_fixes_of_the_base_are_a_series_of_their_own_as_well(project):
    project.good("series", "BASE=9.2")
    assert not project.has("build/series/fixes")
    patch = OURS["patches/9.2/0001-ours.patch"].replace("Text.", "Text.\n\nCc: stable@vger.kernel.org")
    project.write("patches/9.2/0001-ours.patch", patch)
    project.good("series", "BASE=9.2")
    assert os.listdir(os.path.join(project.top, "build/series/fixes")) == ["0001-mm-ours.patch"]
    assert "[PATCH]" in project.read("build/series/fixes/0001-mm-ours.patch")


if __name__ == "__main__":
    sys.exit(cases.run(globals(), Project))
