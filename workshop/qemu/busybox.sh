#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# busybox.sh ARCH FILE: fetch Debian's static busybox of another architecture, without adding that
# architecture to dpkg.
set -euo pipefail

if (($# != 2)); then
	echo "usage: busybox.sh ARCH FILE" >&2
	exit 1
fi
arch=$1
output=$(realpath -m "$2")
if [[ -x $output ]]; then
	exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"
apt=(apt-get -q -o "Dir::State=$work" -o Dir::State::status=/dev/null -o "Dir::State::lists=$work/lists"
	-o "Dir::Cache=$work" -o "APT::Architecture=$arch" -o "APT::Architectures=$arch"
	-o APT::Sandbox::User=root -o Acquire::Retries=2)
cd "$work"
if ! "${apt[@]}" update || ! "${apt[@]}" download busybox-static; then
	echo "error: no busybox-static for $arch from Debian (no network?); put a static one at $output" >&2
	exit 1
fi
dpkg-deb -x busybox-static_*.deb root
install -m 755 root/bin/busybox "$output.new"
mv "$output.new" "$output"
