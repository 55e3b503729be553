#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# /usr/bin/timeout of the test machine, as run_kselftest.sh calls it: the one of busybox does not
# know --foreground. On slow kernels VM_TIMEOUT_SCALE stretches the limit.
if [ "$1" = --foreground ]; then
	shift
fi
limit=$(($1 * ${VM_TIMEOUT_SCALE:-1}))
shift
exec /bin/busybox timeout "$limit" "$@"
