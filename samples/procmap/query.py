#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""query.py PID ADDRESS - print what is mapped at an address of a process"""

import ctypes
import errno
import fcntl
import re
import struct
import sys

PROCMAP_QUERY = 0xc0686611
QUERY = struct.Struct("=9Q4I2Q")  # struct procmap_query of <linux/fs.h>
MEANING = {errno.ENOENT: "no mapping there",
           errno.ENOTTY: "this kernel has no PROCMAP_QUERY"}


def ask(file, addr):
    """The offset of the address in its file, the build ID and the path of that."""
    name, build_id = ctypes.create_string_buffer(4096), ctypes.create_string_buffer(20)
    query = bytearray(QUERY.pack(QUERY.size, 0, addr, 0, 0, 0, 0, 0, 0, 0, 0, len(name),
                                 len(build_id), ctypes.addressof(name),
                                 ctypes.addressof(build_id)))
    fcntl.ioctl(file, PROCMAP_QUERY, query)
    _, _, _, start, _, _, _, offset, _, _, _, _, size, _, _ = QUERY.unpack(query)
    return addr - start + offset, build_id.raw[:size], name.value


def main():
    if len(sys.argv) != 3 or not re.fullmatch("[0-9a-fA-F]{1,16}", sys.argv[2]):
        print("usage: query.py PID ADDRESS", file=sys.stderr)
        sys.exit(2)
    addr = int(sys.argv[2], 16)
    try:
        with open(f"/proc/{sys.argv[1]}/maps", "rb") as file:
            offset, build_id, name = ask(file, addr)
    except OSError as error:
        # Only the one of open() has a file name
        sys.exit(str(error) if error.filename else MEANING.get(error.errno, str(error)))
    print(f"{addr:x} offset {offset:x} build ID {build_id.hex() or 'none'} ", end="", flush=True)
    sys.stdout.buffer.write((name or b"anonymous") + b"\n")


if __name__ == "__main__":
    main()
