#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Make sure that the Debian packages of the named groups are installed.
set -euo pipefail

declare -A groups=(
	[tree]="git python3"
	[base]="xz-utils"
	[kernel]="bc bison binutils ccache cpio flex gcc libc6-dev libelf-dev make perl"
	[guest]="busybox-static gcc-12-multilib libc6-dev-i386 rsync"
	[vm]="qemu-system-x86"
	[bench]="gnuplot-nox"
	[perf]="binutils bison flex gcc libc6-dev libdw-dev libelf-dev libtraceevent-dev make pkgconf zlib1g-dev"
	[arm64]="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-system-arm"
	[profiler]="bpftool bpftrace dwarves"
	[cross]="gcc-aarch64-linux-gnu gcc-powerpc64le-linux-gnu gcc-riscv64-linux-gnu gcc-s390x-linux-gnu"
	[shell]="shellcheck"
	[uapi]="g++"
	[user]="clang coccinelle g++ gcc-12-multilib libc6-dev-i386 libclang-rt-14-dev liburcu-dev make spin"
	[docs]="man-db mandoc python3-sphinx"
	[code]="b4 sparse"
	[examples]="golang-go pkgconf rustc"
	[debuggers]="gdb linux-perf python3 strace"
	[bpf]="clang libbpf-dev zlib1g-dev"
)

fail() {
	echo "error: $*" >&2
	exit 1
}

missing() {
	local package state
	local -A states=()
	while read -r package state; do
		states[$package]=$state
	done < <(dpkg-query -W -f='${Package} ${db:Status-Status}\n' "$@" 2>/dev/null || true)
	for package in "$@"; do
		[[ ${states[$package]:-} == installed ]] || echo "$package"
	done
}

install() {
	local -a root=()
	if ((EUID)); then
		command -v sudo >/dev/null ||
			fail "these packages are missing, and neither root nor sudo is there: $*"
		root=(sudo)
	fi
	echo "  SETUP   installing $*"
	local log=build/log/packages.log
	local -a apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=2)
	if ! "${root[@]}" "${apt[@]}" install --no-install-recommends "$@" >"$log" 2>&1; then
		"${root[@]}" "${apt[@]}" update >>"$log" 2>&1 ||
			fail "apt-get update failed (no network?); install these by hand: $* (log: $log)"
		"${root[@]}" "${apt[@]}" install --no-install-recommends "$@" >>"$log" 2>&1 ||
			fail "apt-get cannot install $* (no network, or no such package; log: $log)"
	fi
}

main() {
	local -a wanted=() absent=()
	local group
	for group in "$@"; do
		read -ra names <<<"${groups[$group]}"
		wanted+=("${names[@]}")
		[[ $group != base || -n ${KSRC:-} ]] || wanted+=("linux-source-${BASE:-$(<patches/default)}")
	done
	if ! command -v dpkg-query >/dev/null; then
		echo "notice: this is no Debian; needed are: ${wanted[*]}" >&2
		return
	fi
	mapfile -t absent < <(missing "${wanted[@]}")
	mkdir -p build/log
	if ((${#absent[@]})); then
		install "${absent[@]}"
	fi
}

main "$@"
