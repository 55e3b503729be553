#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Make the initramfs of the test machine: init, busybox, test programs; needs no root.

usage: initrd.py --gen-init-cpio TOOL --init BINARY --output FILE [--busybox BINARY]
                 [--add DIR=PATH]...
"""

import argparse
import os
import subprocess
import sys

BUSYBOX = "/bin/busybox"
HERE = os.path.dirname(os.path.abspath(__file__))
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
              f"file /usr/bin/timeout {HERE}/timeout.sh 755 0 0",
              f"file /bin/kselftest {HERE}/kselftest.sh 755 0 0",
              f"file /etc/passwd {etc}/passwd 644 0 0", f"file /etc/group {etc}/group 644 0 0"]
    applets = subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True)
    lines += [f"slink /bin/{name} busybox 777 0 0"
              for name in applets.stdout.split() if name not in ("busybox", "init", "timeout")]
    return lines


def directory_spec(source, target):
    """All files below a directory of the host."""
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


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--gen-init-cpio", required=True, help="the kernel's usr/gen_init_cpio")
    parser.add_argument("--init", required=True, help="the program that runs as PID 1")
    parser.add_argument("--busybox", default=BUSYBOX, help="static, of the machine's architecture")
    parser.add_argument("--output", required=True)
    parser.add_argument("--add", action="append", default=[], metavar="DIR=PATH",
                        help="put the files below DIR of the host at PATH of the image")
    return parser.parse_args()


def main():
    args = parse()
    etc = f"{args.output}.etc"
    os.makedirs(etc, exist_ok=True)
    for name, text in (("passwd", PASSWD), ("group", GROUP)):
        with open(os.path.join(etc, name), "w", encoding="ascii") as file:
            file.write(text)
    lines = base_spec(os.path.abspath(args.init), os.path.abspath(etc),
                      os.path.abspath(args.busybox))
    for pair in args.add:
        source, _, target = pair.partition("=")
        if not os.path.isdir(source) or not target.startswith("/"):
            sys.exit(f"error: --add {pair}: not DIR=PATH with an existing directory DIR")
        lines += directory_spec(os.path.abspath(source), target)
    spec = f"{args.output}.spec"
    with open(spec, "w", encoding="utf-8") as file:
        file.write("\n".join(dict.fromkeys(lines)) + "\n")
    with open(f"{args.output}.new", "wb") as image:
        subprocess.run([args.gen_init_cpio, "-t", "0", spec], stdout=image, check=True)
    os.replace(f"{args.output}.new", args.output)


if __name__ == "__main__":
    main()
