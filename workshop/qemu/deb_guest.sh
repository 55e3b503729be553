#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the Debian root of workshop/checks/deb_test.py, started by systemd. What each of Debian's
# tools says goes to a file of /out; on the patched kernel, so do the results of the kselftests.
set -u

# Sleep in the background, and wait until it does.
start_sleep() {
	setsid sleep 1000 </dev/null >/dev/null 2>&1 &
	until [[ $(cut -d' ' -f1 /proc/$!/syscall) == 230 ]]; do
		:
	done
}

# The DSO in which most samples are
in_perf() {
	perf record -q -e cpu-clock -F 200 -g -o /tmp/perf.data timeout 5 sha256sum /dev/zero
	perf report -i /tmp/perf.data -q --stdio --no-children -g none --sort dso |
		awk 'NF { print $2; exit }'
}

# A program whose hot functions have names: bpftrace tells no DSO of those that have none.
in_bpftrace() {
	timeout 600 python3 -c 'while True: pass' &
	bpftrace -e 'profile:hz:49 /comm == "python3"/ { @[ustack(perf, 1)] = count(); @n = count(); }
		interval:ms:100 /@done++ > 50/ { exit(); }' | grep -o '(/[^)]*)' | sort -u
	kill $!
}

in_gdb() {
	start_sleep
	gdb -p $! -batch -ex 'info proc mappings' -ex bt 2>&1 |
		sed -n -e 's/^ *0x.* \([/[].*\)$/\1/p' -e 's/^#[0-9].* in \([a-z_]*\).*/frame \1/p'
	kill $!
}

in_strace() {
	strace -k -P /etc/hostname cat /etc/hostname 2>&1 | sed 's/(\(.*\)+0x.*/(\1/'
}

in_htop() {
	start_sleep
	echo q | TERM=xterm script -qec 'stty cols 200 rows 50; htop' /dev/null |
		grep -o 'sleep 1000' | sort -u
	kill $!
}

in_lsof() {
	start_sleep
	lsof -p $! | awk '{ print $4, $5, $NF }'
	kill $!
}

in_criu() {
	local pid before
	start_sleep
	pid=$!
	before=$(cat /proc/$pid/maps)
	mkdir -p /tmp/criu
	criu check
	criu dump -t $pid -D /tmp/criu -v0 && echo dumped
	wait $pid 2>/dev/null
	[[ -e /proc/$pid ]] || echo gone
	criu restore -d -D /tmp/criu -v0 && echo restored
	diff <(echo "$before") /proc/$pid/maps && echo the same mappings
	kill $pid
}

in_podman() {
	# shellcheck disable=SC2016
	runuser -l tester -c '
		export XDG_RUNTIME_DIR=/tmp/run-tester
		mkdir -m 700 -p $XDG_RUNTIME_DIR ~/.config/containers rootfs/bin
		printf "[storage]\ndriver = \"overlay\"\n[storage.options.overlay]\nmount_program = \"/usr/bin/fuse-overlayfs\"\n" \
			>~/.config/containers/storage.conf
		cp /bin/busybox rootfs/bin
		tar -C rootfs -c . | podman --log-level=error --cgroup-manager=cgroupfs import -q - tiny >/dev/null
		podman --log-level=error --cgroup-manager=cgroupfs run --rm --network=none --cgroups=disabled tiny /bin/busybox cat /proc/self/maps' 2>&1 |
		awk '{ print $2, $6 }'
}

in_systemd() {
	systemctl list-units --failed --no-legend --plain
	systemctl list-units --type=service --state=running --no-legend --plain | cut -d' ' -f1
}

of_kernel() {
	stat -c 'vmlinuz %s' "/boot/vmlinuz-$(uname -r)"
	awk '/^(vm_area_struct|mm_struct) / { print $1, $4 }' /proc/slabinfo
	if [[ $(uname -r) == *procmap* ]]; then
		insmod /check/outside.ko && dmesg | grep -o 'outside: a VMA .*'
	fi
}

attacks="procmap:procmap_maps_race_test procmap:procmap_scan_charge_test procmap/wait:procmap_holes_test
procmap/buildid:procmap_buildid_fuse_test process_vm:process_vm_stall_test"

mkdir -p /out
dmesg >/out/messages
dmesg -l emerg,alert,crit,err,warn >/out/warnings
for tool in perf bpftrace gdb strace htop lsof criu podman systemd; do
	echo "deb_guest: $tool" >/dev/ttyS0
	timeout 1800 bash -c "$(declare -f start_sleep "in_$tool"); in_$tool" >"/out/tool-$tool" 2>&1
	echo "status $?" >>"/out/tool-$tool"
done
of_kernel >/out/kernel 2>&1
[[ $(uname -r) == *procmap* ]] || exit 0

export VM_TIMEOUT_SCALE=2
echo "deb_guest: procmap" >/dev/ttyS0
procmap --json $$ >/out/procmap 2>&1
for who in root tester; do
	echo "deb_guest: kselftest as $who" >/dev/ttyS0
	# They open their standard output: give them a pipe of their own.
	(cd /tmp && runuser -u $who -- sh -c '/check/kselftest.sh 2>&1 | cat') >/out/kselftest-$who
done
echo "deb_guest: attacks" >/dev/ttyS0
# shellcheck disable=SC2086
systemd-run --quiet --wait --pipe -p CPUQuota=5% -p MemoryMax=64M -E VM_TIMEOUT_SCALE=40 \
	/check/kselftest.sh $attacks >/out/kselftest-limited 2>&1
