#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Makes the address sets in this directory anew: runs ordinary programs of Debian, samples each for
# some seconds while it works, and keeps where its VMAs are and where it was found. As root, on a
# kernel with CONFIG_PERF_EVENTS; the sets that are kept here come from the test machine:
#
#	vm.py --root host --memory 4G --timeout 900 --out DIR -- capture.sh procmap_bench /out
set -euo pipefail

readonly seconds=4 python_work='
import bz2, ctypes, decimal, hashlib, json, lzma, re, sqlite3, ssl, xml.etree.ElementTree, zlib
text = open(re.__file__).read() + open(json.__file__).read()
while True:
    json.loads(json.dumps(re.findall(r"\w+", text)))
    hashlib.sha256(zlib.compress(text.encode())).hexdigest()
    decimal.Decimal(2).sqrt(decimal.Context(prec=2000))
    with sqlite3.connect(":memory:") as database:
        database.execute("create table t (word text)")
        database.executemany("insert into t values (?)", [(word,) for word in text.split()])
        database.execute("select word, count(*) from t group by word order by 2").fetchall()
'
readonly awk_work='
BEGIN {
	for (;;)
		for (i = 0; i < 1000; i++)
			a[i] = i % 7 * i "x" substr(a[i], 1, 30)
}
'
# NAME COMMAND...: the set NAME, of COMMAND
capture() {
	local -r name=$1
	shift
	echo "$name" >&2
	"$bench" --reps 1 --warm-up 0 --sample "$seconds" --save "$out/$name.txt" -- "$@" \
		</dev/null 2>"$work/$name.log" || {
		cat "$work/$name.log" >&2
		exit 1
	}
}

main() {
	(($# == 2)) || {
		echo "usage: capture.sh PROCMAP_BENCH DIRECTORY" >&2
		exit 2
	}
	local -r bench=$1 out=$2
	local work
	work=$(mktemp -d)
	# shellcheck disable=SC2064
	trap "rm -rf '$work'" EXIT
	cd -- "$work"

	capture busybox /bin/busybox awk "$awk_work"
	echo "$python_work" >work.py
	capture python3 /usr/bin/python3 work.py
}

main "$@"
