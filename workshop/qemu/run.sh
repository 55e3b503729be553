#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test machine, on the root file system of the host: starts an ordinary Debian
# program with many libraries and threads, resolves addresses all over it by queries, and has each
# answer compared with the text of /proc/<pid>/maps. The argument is the client, procmap.
set -euo pipefail

readonly log=/tmp/program.log min_libraries=20 min_threads=4 addresses=2000
program=(qemu-system-x86_64 -S -nodefaults -display none -accel "tcg,thread=multi" -smp 4 -m 64M)

fail() {
	cat "$log" >&2
	echo "run: $*" >&2
	exit 1
}

threads_of() {
	local -a tasks=("/proc/$1/task"/*)
	echo "${#tasks[@]}"
}

libraries_of() {
	awk '$6 ~ /\.so/ && !seen[$6]++ { n++ } END { print n + 0 }' "/proc/$1/maps"
}

wait_until_ready() {
	local i
	for ((i = 0; i < 6000; i++)); do
		[[ -d /proc/$1 ]] || fail "${program[0]} ended early"
		(($(threads_of "$1") >= min_threads && $(libraries_of "$1") >= min_libraries)) && return
		sleep 0.1
	done
	fail "${program[0]} has $(libraries_of "$1") libraries and $(threads_of "$1") threads only"
}

main() {
	local client=$1
	"${program[@]}" 2>"$log" &
	local -r pid=$!
	# shellcheck disable=SC2064
	trap "kill $pid" EXIT
	wait_until_ready "$pid"
	echo "Kernel:  $(uname -sr)"
	echo "Program: ${program[0]}, pid $pid, $(threads_of "$pid") threads," \
		"$(libraries_of "$pid") shared libraries, $(wc -l <"/proc/$pid/maps") mappings"
	echo
	"$client" --verify --count "$addresses" "$pid"
}

main "$@"
