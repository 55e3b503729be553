#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# /bin/kselftest of the test machine: all installed kselftests; with the argument 64 or 32 those
# programs that were built for this size; with the argument racing those in which several tasks are at
# work on one address space or one queue at once, which is what a detector of data races can see.
runner=/kselftest/run_kselftest.sh
racing='beside|buildid_fuse|buildid_share|exit|files|fuzz|holes|oracle|stall|torture|writers|writers_flags'
racing="procmap:procmap_($racing)|process_vm:process_vm_(adversary|exit|last|stall)"
case ${1:-all} in
all) exec sh $runner ;;
64) tests=$(sh $runner --list | grep -v '_32$') ;;
32) tests=$(sh $runner --list | grep '_32$') ;;
racing) tests=$(sh $runner --list | grep -E "^($racing)(_test)?\$") ;;
*)
	echo "usage: kselftest [64|32|racing]" >&2
	exit 2
	;;
esac
set --
for test in $tests; do
	set -- "$@" --test "$test"
done
exec sh $runner "$@"
