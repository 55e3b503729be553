# SPDX-License-Identifier: GPL-2.0
"""The plot of procmap_bench, an SVG by gnuplot."""

import subprocess
from xml.etree import ElementTree

from bench_scenes import SIZES

LICENCE = "<!-- SPDX-License-Identifier: GPL-2.0 -->\n"
NAMES = {"": "http://www.w3.org/2000/svg", "xlink": "http://www.w3.org/1999/xlink"}
SVG = f"{{{NAMES['']}}}"
STYLE = """set terminal svg size 820,460 font 'sans,13' background '#ffffff'
set grid lc rgb '#dddddd'
set border 3
set tics nomirror
set title "Cost of a pass against the number of mappings"
"""
TEXT, QUERY = ("#b03030", "#d07070"), ("#205090", "#5080c0", "#90b0e0")
TEXT_PATCHED = ("#307030", "#60a060")


def block(name, rows):
    """Data inside the script: $name."""
    return f"${name} << EOD\n" + "".join(" ".join(map(str, row)) + "\n" for row in rows) + "EOD\n"


def tidy(text):
    """The same picture, a line for each group, without what gnuplot writes and does not draw: groups
    with nothing in them, marks and filters that no line uses."""
    for prefix, name in NAMES.items():
        ElementTree.register_namespace(prefix, name)
    root = ElementTree.fromstring(text)
    used = {mark.get(f"{{{NAMES['xlink']}}}href") for mark in root.iter(f"{SVG}use")}
    for parent in list(root.iter()):
        parent.text, parent.tail = (part if part and part.strip() else ""
                                    for part in (parent.text, parent.tail))
        for child in list(parent):
            if child.tag == f"{SVG}g" and not len(child) or \
                    parent.tag == f"{SVG}defs" and f"#{child.get('id')}" not in used:
                parent.remove(child)
    for group in (*root, *root.find(f"{SVG}g")):
        group.tail = "\n"
    return LICENCE + ElementTree.tostring(root, encoding="unicode") + "\n"


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


def plot_sizes(rows):
    """Cost against the number of mappings, as SVG; empty without figures."""
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
    if not parts:
        return ""
    script = (f"{STYLE}{blocks}set logscale xy\nset key top left\n"
              f"set xlabel \"mappings of the process\\n{{/*0.85 {addresses(found)}}}\"\n"
              f"set ylabel 'guest instructions'\nset format y '10^{{%T}}'\nplot {parts}\n")
    return tidy(subprocess.run(["gnuplot", "-"], input=script, text=True, check=True,
                               stdout=subprocess.PIPE).stdout)
