#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs inside the test machine, on the root file system of the host: Debian's gdb and strace attach
# to a running program, read and change its memory, and detach. The argument is the program,
# process_vm_target of the kselftests. Prints TAP.
set -euo pipefail

readonly work=/tmp/debuggers
number=0 failed=0

# A case: the remaining arguments are a command, whose status is the result.
check() {
	local -r name=$1
	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number $name"
	else
		echo "not ok $number $name"
		sed 's/^/# /' "$work"/*.log
		failed=1
	fi
}

has() {
	grep -qF -- "$2" "$work/$1.log"
}

debug() {
	local -r log=$1 pid=$2
	shift 2
	local -a commands=()
	local command
	for command in "$@"; do
		commands+=(-ex "$command")
	done
	timeout 60 gdb -nx -q -batch -p "$pid" "${commands[@]}" >"$work/$log.log" 2>&1 </dev/null
}

# The process is not traced, and neither stopped nor dead.
is_free() {
	local tracer state
	tracer=$(awk '/^TracerPid:/ { print $2 }' "/proc/$1/status")
	state=$(awk '/^State:/ { print $2 }' "/proc/$1/status")
	[[ $tracer == 0 && $state == [RS] ]]
}

check_gdb() {
	local -r pid=$1
	check "gdb attaches, and reads what it is asked for" \
		debug read "$pid" "print message" "print answer" backtrace detach
	check "gdb reads a string" has read '"read by a debugger"'
	check "gdb reads a number" has read '= 41'
	check "gdb shows the functions on the stack" has read 'wait_for_the_end ()'
	check "gdb shows main" has read 'main ()'
	check "the program goes on" is_free "$pid"
	check "gdb attaches again, and writes" debug write "$pid" "set var answer = 42" detach
	check "gdb attaches once more" debug again "$pid" "print answer" detach
	check "gdb reads what it wrote" has again '= 42'
	check "the program still goes on" is_free "$pid"
}

# Traces until the string appears, or the time is over.
trace() {
	local -r pid=$1 string=$2
	local tracer i
	strace -s 64 -o "$work/trace.log" -p "$pid" 2>"$work/strace.log" &
	tracer=$!
	for ((i = 0; i < 300; i++)); do
		[[ -s $work/trace.log ]] && has trace "$string" && break
		sleep 0.1
	done
	kill -INT "$tracer"
	wait "$tracer" || true
}

check_strace() {
	local -r pid=$1
	check "strace attaches and detaches" trace "$pid" 'written by a program\n'
	check "strace says that it attached" has strace "Process $pid attached"
	check "strace says that it detached" has strace "Process $pid detached"
	check "strace shows a string that is written" has trace \
		'write(1, "written by a program\n", 21)'
	check "strace shows the name of a file" has trace '"/dev/null", O_WRONLY'
	check "the shell goes on" is_free "$pid"
}

writes_for_ever() {
	while :; do
		echo "written by a program" >/dev/null
		read -rt 0.1 <>/tmp/debuggers/fifo || true
	done
}

main() {
	local -r program=$1
	mkdir -p "$work"
	mkfifo "$work/fifo"
	"$program" <>"$work/fifo" &
	local -r target=$!
	writes_for_ever &
	local -r shell=$!
	# shellcheck disable=SC2064
	trap "kill $target $shell" EXIT
	echo "TAP version 13"
	check_gdb "$target"
	check_strace "$shell"
	echo "1..$number"
	return "$failed"
}

main "$@"
