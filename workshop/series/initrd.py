# SPDX-License-Identifier: GPL-2.0
"""The initramfs of the test machine: init, busybox, test programs; needs no root."""

import os
import subprocess

from common import ROOT, logged, write

BUSYBOX = "/bin/busybox"
QEMU = os.path.join(ROOT, "workshop", "qemu")
DIRECTORIES = ("bin", "dev", "etc", "host", "home", "mnt", "newroot", "out", "proc", "root",
               "run", "sbin", "sys", "tmp", "upper", "usr", "usr/bin", "usr/sbin", "var", "vm")
PASSWD = "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n"
GROUP = "root:x:0:\nuser:x:1000:\n"


def base_spec(init, etc, busybox):
    """The part that every image has; the busybox of the host lists its own applets."""
    lines = ["dir / 755 0 0"]
    lines += [f"dir /{name} {'1777' if name == 'tmp' else '755'} 0 0" for name in DIRECTORIES]
    lines += ["nod /dev/console 600 0 0 c 5 1", "nod /dev/null 666 0 0 c 1 3",
              f"file /init {init} 755 0 0", f"file /bin/busybox {busybox} 755 0 0",
              f"file /usr/bin/timeout {QEMU}/timeout.sh 755 0 0",
              f"file /bin/kselftest {QEMU}/kselftest.sh 755 0 0",
              f"file /etc/passwd {etc}/passwd 644 0 0", f"file /etc/group {etc}/group 644 0 0"]
    applets = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True)
    lines += [f"slink /bin/{name} busybox 777 0 0"
              for name in applets.stdout.split() if name not in ("busybox", "init", "timeout")]
    return lines


def directory_spec(source, target):
    parents = target.strip("/").split("/")
    lines = [f"dir /{'/'.join(parents[:n])} 755 0 0" for n in range(1, len(parents) + 1)]
    for where, directories, files in sorted(os.walk(source)):
        inside = os.path.normpath(os.path.join(target, os.path.relpath(where, source)))
        lines += [f"dir {inside}/{name} 755 0 0" for name in sorted(directories)]
        for name in sorted(files):
            path = os.path.join(where, name)
            if os.path.islink(path):
                lines.append(f"slink {inside}/{name} {os.readlink(path)} 777 0 0")
            else:
                mode = "755" if os.access(path, os.X_OK) else "644"
                lines.append(f"file {inside}/{name} {path} {mode} 0 0")
    return lines


def make(output, tool, init, added, busybox):
    """Write the image by gen_init_cpio; added is {path in the image: directory of the host}."""
    etc = f"{output}.etc"
    write(os.path.join(etc, "passwd"), PASSWD)
    write(os.path.join(etc, "group"), GROUP)
    lines = base_spec(init, etc, busybox)
    for target, source in added.items():
        lines += directory_spec(source, target)
    write(f"{output}.spec", "\n".join(dict.fromkeys(lines)) + "\n")
    logged("initrd", ["sh", "-c", 'exec "$0" -t 0 "$1" >"$2"', tool, f"{output}.spec",
                      f"{output}.new"])
    os.replace(f"{output}.new", output)
