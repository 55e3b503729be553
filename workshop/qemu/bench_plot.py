# SPDX-License-Identifier: GPL-2.0
"""The plot of procmap_bench, an SVG by gnuplot."""

import os
import subprocess

from bench_scenes import SIZES

LICENCE = "<!-- SPDX-License-Identifier: GPL-2.0 -->\n"
STYLE = """set terminal svg size 820,460 font 'sans,13' background '#ffffff'
set output '{path}'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set title "{title}"
"""
TEXT, QUERY = ("#b03030", "#d07070"), ("#205090", "#5080c0", "#90b0e0")
TEXT_PATCHED = ("#307030", "#60a060")


def block(name, rows):
    """Data inside the script: $name."""
    return f"${name} << EOD\n" + "".join(" ".join(map(str, row)) + "\n" for row in rows) + "EOD\n"


def draw(path, title, script):
    """Run gnuplot; the file is complete or not there."""
    new = f"{path}.new"
    text = STYLE.format(path=new, title=title) + script
    subprocess.run(["gnuplot", "-"], input=text, text=True, check=True)
    with open(new, encoding="utf-8") as file:
        first, rest = file.readline(), file.read()
    with open(new, "w", encoding="utf-8") as file:
        file.write(first + LICENCE + rest)
    os.replace(new, path)


def lines_plot(series):
    """The data blocks and the plot command for (title, colour, dashes, rows)."""
    blocks, parts = "", []
    for index, (title, colour, dash, rows) in enumerate(series):
        if not rows:
            continue
        blocks += block(f"d{index}", rows)
        parts.append(f"$d{index} using 1:2 with linespoints lw 2 pt 7 ps 0.5 dt {dash} "
                     f"lc rgb '{colour}' title '{title}'")
    return blocks, ", ".join(parts)


def by_size(found, pattern, kernel="patched"):
    rows = [(size, getattr(found[pattern.format(size)], kernel)) for size in SIZES
            if pattern.format(size) in found]
    return [row for row in rows if row[1] is not None]


def addresses(found):
    """How many addresses the symbolizer pass resolves in a process of each size."""
    sizes = {}
    for size in SIZES:
        row = found.get(f"symbolize/text/{size}")
        if row and row.items:
            sizes.setdefault(row.items, []).append(f"{size:,}")
    parts = (f"{items:,} at {' / '.join(names)} mappings" for items, names in sizes.items())
    return "addresses of the symbolizer pass: " + "; ".join(parts) if sizes else " "


def plot_sizes(path, rows):
    """Cost against the number of mappings."""
    found = {row.name: row for row in rows}
    blocks, parts = lines_plot((
        ("symbolizer pass, text (base)", TEXT[0], 1,
         by_size(found, "symbolize/text/{}", "base")),
        ("symbolizer pass, text", TEXT_PATCHED[0], 1, by_size(found, "symbolize/text/{}")),
        ("symbolizer pass, queries", QUERY[0], 1, by_size(found, "symbolize/query/{}")),
        ("synthesizer pass, text (base)", TEXT[1], 2,
         by_size(found, "synthesize/text/{}", "base")),
        ("synthesizer pass, text", TEXT_PATCHED[1], 2, by_size(found, "synthesize/text/{}")),
        ("synthesizer pass, queries", QUERY[1], 2, by_size(found, "synthesize/query/{}")),
        ("one query", QUERY[2], 1, by_size(found, "query/covering/{}"))))
    if parts:
        draw(path, "Cost of a pass against the number of mappings", blocks
             + "set logscale xy\nset key top left\n"
             f"set xlabel \"mappings of the process\\n{{/*0.85 {addresses(found)}}}\"\n"
             "set ylabel 'guest instructions'\nset format y '10^{%T}'\nplot " + parts + "\n")
