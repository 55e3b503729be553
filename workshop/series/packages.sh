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
	[mm]="libcap-dev libnuma-dev"
	[deb]="debhelper dpkg-dev dwarves kmod libssl-dev openssl rsync"
	[debian]="debootstrap e2fsprogs"
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
	# Another apt, as that of unattended upgrades, may be at work.
	local -a apt=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Acquire::Retries=2
		-o DPkg::Lock::Timeout=600)
	if ! "${root[@]}" "${apt[@]}" install --no-install-recommends "$@" >"$log" 2>&1; then
		"${root[@]}" "${apt[@]}" update >>"$log" 2>&1 ||
			fail "apt-get update failed (no network?); install these by hand: $* (log: $log)"
		"${root[@]}" "${apt[@]}" install --no-install-recommends "$@" >>"$log" 2>&1 ||
			fail "apt-get cannot install $* (no network, or no such package; log: $log)"
	fi
}

# The base is in a suite that the configuration of apt does not have: take the tarball out of the
# package, from where this machine has its own suite, without installing it. All that apt keeps is
# below build/.
fetch() {
	local tarball=linux-source-$BASE.tar.xz where=$PWD/build/$BASE/fetch
	[[ ! -e build/$BASE/$tarball && ! -e /usr/src/$tarball ]] || return 0
	echo "  SETUP   taking $tarball from Debian's $1"
	local mirror codename
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	mirror=$(apt-get indextargets --format "\$(REPO_URI)" "Identifier: Packages" "Component: main" \
		"Codename: $codename" | sed -n 1p)
	[[ $mirror ]] || fail "apt does not know where $codename main is; give KSRC="
	local -a apt=(apt-get -q -y -o Acquire::Retries=2 -o "Dir::Etc::sourcelist=$where/list"
		-o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$where/lists"
		-o "Dir::Cache=$where" -o APT::Sandbox::User=root)
	mkdir -p "$where/lists/partial" "$where/archives/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$where/list"
	if ! ("${apt[@]}" update && cd "$where" && "${apt[@]}" download "linux-source-$BASE" &&
		dpkg-deb --fsys-tarfile linux-source-*.deb | tar -xO "./usr/src/$tarball" >"$tarball") \
		>build/log/packages.log 2>&1; then
		fail "linux-source-$BASE of $1 cannot be fetched (log: build/log/packages.log); give KSRC="
	fi
	mv "$where/$tarball" "build/$BASE/"
	rm -r "$where"
}

main() {
	local -a wanted=() absent=()
	local group suite
	BASE=${BASE:-$(<patches/default)}
	suite=$(sed -n 's/^suite //p' "patches/$BASE/base" 2>/dev/null || true)
	for group in "$@"; do
		read -ra names <<<"${groups[$group]}"
		wanted+=("${names[@]}")
		[[ $group != deb ]] || wanted+=("linux-config-$BASE")
		[[ $group != base || -n ${KSRC:-} || $suite ]] || wanted+=("linux-source-$BASE")
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
	if [[ $suite && -z ${KSRC:-} && " $* " == *" base "* ]]; then
		fetch "$suite"
	fi
}

main "$@"
