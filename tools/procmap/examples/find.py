#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""find.py PID ADDRESS... - say which file is mapped there, and open that very file"""

import ctypes as c
import os
import sys

LIB = c.CDLL("libprocmap.so.1", use_errno=True)
FILE, NAME = 0x20, 0x100


class Vma(c.Structure):
    """struct procmap_vma"""
    _fields_ = [*((name, c.c_uint64) for name in (
        "size", "start", "end", "offset", "inode", "page_size", "generation", "record_flags")),
                *((name, c.c_uint32) for name in (
                    "dev_major", "dev_minor", "inode_generation", "flags", "known",
                    "build_id_size")),
                ("build_id", c.c_uint8 * 20), ("name", c.c_char_p), ("name_buf", c.c_void_p),
                ("name_alloc", c.c_size_t)]


LIB.procmap_open.restype = c.c_void_p
LIB.procmap_find.argtypes = c.c_void_p, c.c_uint64, c.c_uint, c.POINTER(Vma)
LIB.procmap_open_file.argtypes = c.c_void_p, c.POINTER(Vma)
vma = Vma(size=c.sizeof(Vma))
handle = LIB.procmap_open(int(sys.argv[1]), 0)
if not handle:
    sys.exit(f"procmap_open: {os.strerror(c.get_errno())}")
for word in sys.argv[2:]:
    if LIB.procmap_find(handle, int(word, 16), FILE | NAME, vma):
        print(f"{word}: {os.strerror(c.get_errno())}")
        continue
    fd = LIB.procmap_open_file(handle, vma)
    size = os.fstat(fd).st_size if fd >= 0 else -1
    print(f"{word}: {os.fsdecode(vma.name)}+{int(word, 16) - vma.start + vma.offset:#x}, "
          f"{size} bytes")
    if fd >= 0:
        os.close(fd)
