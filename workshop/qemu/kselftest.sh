#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# /bin/kselftest of the test machine: the installed kselftests. Each argument chooses among them:
# 64, 32	programs that were built for this size
# maps		those of /proc/<pid>/maps, in the folder procmap itself
# other		those in other folders: two machines share the work so
# perm		those whose results depend on who runs them
# racing	those in which several tasks are at work on one address space or one queue at once,
#		which is what a detector of data races can see
# exact		those that compare costs or count turns: for a machine with one processor, whose clock
#		counts instructions (vm.py --accel icount)
# FOLDER:NAME	this program
# Without a choice of the last two kinds, the programs of exact are left out.
runner=/kselftest/run_kselftest.sh
exact='procmap/buildid:procmap_buildid_idle_test'
exact="$exact|procmap/wait:procmap_(beside|progress|reader_end)_test"
racing='procmap/fuzz:procmap_fuzz|procmap/(torture|wait):.*|procmap:.*_scan_generation_test'
racing="$racing|procmap:.*_(oracle|writers|writers_flags)_test"
racing="$racing|procmap/buildid:.*_(disk|fuse)_test|process_vm:.*_(adversary|exit_test|stall_test)"
perm='procmap:procmap_(fd|names|perm|scan_errors)_test(_32)?|procmap/buildid:procmap_buildid_test(_32)?'
perm="$perm|process_vm:process_vm_(flags|pidfd)_test(_32)?"

all=$(sh $runner --list)
chosen=$(echo "$all" | grep -vxE "$exact")
for choice in "$@"; do
	case $choice in
	64) chosen=$(echo "$chosen" | grep -v '_32$') ;;
	32) chosen=$(echo "$chosen" | grep '_32$') ;;
	maps) chosen=$(echo "$chosen" | grep '^procmap:') ;;
	other) chosen=$(echo "$chosen" | grep -v '^procmap:') ;;
	perm) chosen=$(echo "$chosen" | grep -xE "$perm") ;;
	racing) chosen=$(echo "$chosen" | grep -xE "$racing") ;;
	exact) chosen=$(echo "$all" | grep -xE "$exact") ;;
	*:*)
		if echo "$choice" | grep -qxE "$exact" && [ "$(nproc)" != 1 ]; then
			echo "kselftest: $choice counts instructions on one processor: set ACCEL=icount" >&2
			exit 2
		fi
		chosen=
		;;
	*)
		echo "usage: kselftest [64|32|maps|other|perm|racing|exact]... or FOLDER:NAME..." >&2
		exit 2
		;;
	esac
done
tests=
for test in ${chosen:-"$@"}; do
	tests="$tests --test $test"
done
# shellcheck disable=SC2086
exec sh $runner $tests
