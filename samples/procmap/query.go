// SPDX-License-Identifier: GPL-2.0

// query PID ADDRESS - print what is mapped at an address of a process
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

const procmapQuery = 0xc0686611

// struct procmap_query of <linux/fs.h>
type query struct {
	size, flags, addr, vmaStart, vmaEnd, vmaFlags, vmaPageSize, vmaOffset, inode uint64
	devMajor, devMinor, nameSize, buildIDSize                                    uint32
	nameAddr, buildIDAddr                                                        uint64
}

// The kernel takes the addresses as numbers. What is global does not move.
var name [4096]byte
var buildID [20]byte

func fail(status int, why any) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(status)
}

func ask(file *os.File, addr uint64) query {
	q := query{size: uint64(unsafe.Sizeof(query{})), addr: addr,
		nameAddr: uint64(uintptr(unsafe.Pointer(&name))), nameSize: uint32(len(name)),
		buildIDAddr: uint64(uintptr(unsafe.Pointer(&buildID))), buildIDSize: uint32(len(buildID))}
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), procmapQuery, uintptr(unsafe.Pointer(&q)))
	// Else the file could be closed before the call
	runtime.KeepAlive(file)
	switch errno {
	case 0:
		return q
	case syscall.ENOENT:
		fail(1, "no mapping there")
	case syscall.ENOTTY:
		fail(1, "this kernel has no PROCMAP_QUERY")
	}
	fail(1, errno)
	panic("not reached")
}

func main() {
	if len(os.Args) != 3 {
		fail(2, "usage: query PID ADDRESS")
	}
	addr, err := strconv.ParseUint(os.Args[2], 16, 64)
	if err != nil {
		fail(2, "usage: query PID ADDRESS")
	}
	file, err := os.Open("/proc/" + os.Args[1] + "/maps")
	if err != nil {
		fail(1, err)
	}
	q := ask(file, addr)
	id, path := "none", "anonymous"
	if q.buildIDSize > 0 {
		id = fmt.Sprintf("%x", buildID[:q.buildIDSize])
	}
	if q.nameSize > 0 {
		path = string(name[:q.nameSize-1])
	}
	fmt.Printf("%x offset %x build ID %s %s\n", addr, addr-q.vmaStart+q.vmaOffset, id, path)
}
