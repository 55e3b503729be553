#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# /bin/kselftest of the test machine: all installed kselftests, or with the argument 64 or 32 those
# programs that were built for this size.
runner=/kselftest/run_kselftest.sh
case ${1:-all} in
all) exec sh $runner ;;
64) tests=$(sh $runner --list | grep -v '_32$') ;;
32) tests=$(sh $runner --list | grep '_32$') ;;
*)
	echo "usage: kselftest [64|32]" >&2
	exit 2
	;;
esac
set --
for test in $tests; do
	set -- "$@" --test "$test"
done
exec sh $runner "$@"
