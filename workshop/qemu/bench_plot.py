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
# What, its colour and dashes, the case of each size, the kernel
LINES = (
    ("symbolizer pass, text (base)", "#b03030", 1, "symbolize/text/{}", "base"),
    ("symbolizer pass, text", "#307030", 1, "symbolize/text/{}", "patched"),
    ("symbolizer pass, queries", "#205090", 1, "symbolize/query/{}", "patched"),
    ("synthesizer pass, text (base)", "#d07070", 2, "synthesize/text/{}", "base"),
    ("synthesizer pass, text", "#60a060", 2, "synthesize/text/{}", "patched"),
    ("synthesizer pass, queries", "#5080c0", 2, "synthesize/query/{}", "patched"),
    ("one query", "#90b0e0", 1, "query/covering/{}", "patched"))


def tidy(text):
    """The same picture, a line for each group, without what gnuplot writes and does not draw:
    groups with nothing in them, marks and filters that no line uses."""
    for prefix, name in NAMES.items():
        ElementTree.register_namespace(prefix, name)
    root = ElementTree.fromstring(text)
    used = {mark.get(f"{{{NAMES['xlink']}}}href") for mark in root.iter(f"{SVG}use")}
    for parent in list(root.iter()):
        parent.text, parent.tail = (part if part and part.strip() else ""
                                    for part in (parent.text, parent.tail))
        for child in list(parent):
            if child.tag == f"{SVG}g" and len(child) == 0 or \
                    parent.tag == f"{SVG}defs" and f"#{child.get('id')}" not in used:
                parent.remove(child)
    for group in (*root, *root.find(f"{SVG}g")):
        group.tail = "\n"
    return LICENCE + ElementTree.tostring(root, encoding="unicode") + "\n"


def lines_plot(found):
    """The data and the plot command of all lines for which there are figures."""
    blocks, parts = "", []
    for title, colour, dash, pattern, kernel in LINES:
        cases = {size: found.get(pattern.format(size)) for size in SIZES}
        rows = [(size, getattr(case, kernel)) for size, case in cases.items() if case]
        rows = [f"{size} {figure}\n" for size, figure in rows if figure is not None]
        if rows:
            blocks += f"$d{len(parts)} << EOD\n{''.join(rows)}EOD\n"
            parts.append(f"$d{len(parts)} using 1:2 with linespoints lw 2 pt 7 ps 0.5 dt {dash} "
                         f"lc rgb '{colour}' title '{title}'")
    return blocks, ", ".join(parts)


def addresses(found):
    """How many addresses the symbolizer pass resolves in a process of each size."""
    sizes = {}
    for size in SIZES:
        row = found.get(f"symbolize/text/{size}")
        if row and row.items:
            sizes.setdefault(row.items, []).append(f"{size:,}")
    parts = (f"{items:,} at {' / '.join(names)} mappings" for items, names in sizes.items())
    return "addresses of the symbolizer pass: " + "; ".join(parts) if sizes else " "


def plot_sizes(found):
    """Cost against the number of mappings, as SVG; empty without figures."""
    blocks, parts = lines_plot(found)
    if not parts:
        return ""
    script = (f"{STYLE}{blocks}set logscale xy\nset key top left\n"
              f"set xlabel \"mappings of the process\\n{{/*0.85 {addresses(found)}}}\"\n"
              f"set ylabel 'guest instructions'\nset format y '10^{{%T}}'\nplot {parts}\n")
    return tidy(subprocess.run(["gnuplot", "-"], input=script, text=True, check=True,
                               stdout=subprocess.PIPE).stdout)
