#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# /bin/kselftest of the test machine: the installed kselftests, except those of exact. Each argument
# chooses among them:
# 64, 32	programs that were built for this size
# maps		those of /proc/<pid>/maps, in the folder procmap itself
# other		those in other folders, but for the benchmark: two machines share the work so
# racing	those in which several tasks are at work on one address space or one queue at once,
#		which is what a detector of data races can see
# exact		those that compare times or count turns: for a machine with one processor, whose clock
#		counts instructions (vm.py --accel icount). On processors that the host gives and takes
#		away, they would judge the host.
runner=/kselftest/run_kselftest.sh
exact='procmap/wait:procmap_beside_test|process_vm:process_vm_turns_test'
racing='procmap/fuzz:procmap_fuzz|procmap/(torture|wait):.*|procmap:.*_scan_generation_test'
racing="$racing|procmap:.*_(oracle|writers|writers_flags)_test"
racing="$racing|procmap/buildid:.*_(fuse|share)_test|process_vm:.*_(adversary|exit_test|last_test|stall_test)"

all_but_exact() {
	sh $runner --list | grep -vxE "$exact"
}

tests=$(all_but_exact)
for choice in "$@"; do
	case $choice in
	64) tests=$(echo "$tests" | grep -v '_32$') ;;
	32) tests=$(echo "$tests" | grep '_32$') ;;
	maps) tests=$(echo "$tests" | grep '^procmap:') ;;
	other) tests=$(echo "$tests" | grep -vE '^procmap(/bench)?:') ;;
	racing) tests=$(echo "$tests" | grep -xE "$racing") ;;
	exact) tests=$(sh $runner --list | grep -xE "$exact") ;;
	*)
		echo "usage: kselftest [64|32|maps|other|racing|exact]..." >&2
		exit 2
		;;
	esac
done
set --
for test in $tests; do
	set -- "$@" --test "$test"
done
exec sh $runner "$@"
