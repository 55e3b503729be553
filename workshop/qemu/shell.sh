#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A shell in the test machine, on the root file system of the host (read-only below a tmpfs), with
# procmap in PATH; or one command there, whose exit status comes back.
#
#	shell.sh [COMMAND]
#
# VARIANT chooses the kernel (default plain), SHELL_TIMEOUT the seconds that a COMMAND may take.
set -euo pipefail

main() {
	local here top
	here=$(cd "$(dirname "$0")" && pwd)
	top=$(cd "$here/../.." && pwd)
	local -r variant=${VARIANT:-plain}
	local -r build=$top/build/${BASE:-$(<"$top/patches/default")}
	local -a vm=(python3 "$here/vm.py" --variant "$variant" --memory 2G --root host
		--results "$build/results/shell" --timeout "${SHELL_TIMEOUT:-3600}"
		--env "PATH=$build/tools/bin:$PATH" --env "HOME=$HOME")

	if (($#)); then
		exec "${vm[@]}" -- /bin/bash -c "$1"
	fi
	if [[ ! -t 0 ]]; then
		echo "shell: standard input is no terminal: give one command, make shell CMD='...'" >&2
		exit 2
	fi
	echo "The $variant kernel, on this machine's files: changes go to memory and are lost at the end."
	echo "procmap is in PATH; \`exit\` leaves."
	exec "${vm[@]}" --interactive -- "${SHELL:-/bin/bash}" -i
}

main "$@"
