# SPDX-License-Identifier: GPL-2.0
"""Figures of procmap_bench as SVG, by gnuplot."""

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
TEXT, QUERY = ("#b03030", "#d07070", "#e8b0b0"), ("#205090", "#5080c0", "#90b0e0")
SCAN = ("#b07000", "#e0a030")
TEXT_PATCHED = ("#307030", "#60a060", "#a8d0a8")


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


def plot_scans(path, rows):
    """What a scan costs beside the text and queries, against the number of mappings."""
    found = {row.name: row for row in rows}
    series = []
    for told, kind, shade, dash in (("all mappings", "dump", 0, 1),
                                    ("executable files", "synthesize", 1, 2)):
        for way, how, colours, kernel in (("text (base)", "text", TEXT, "base"),
                                          ("text", "text", TEXT_PATCHED, "patched"),
                                          ("queries", "query", QUERY, "patched"),
                                          ("scan", "scan", SCAN, "patched")):
            series.append((f"{told}, {way}", colours[shade], dash,
                           by_size(found, f"{kind}/{how}/{{}}", kernel)))
    blocks, parts = lines_plot(series)
    if parts:
        draw(path, "Cost of all mappings, and of the executable files", blocks
             + "set logscale xy\nset key top left\nset xlabel 'mappings of the process'\n"
             "set ylabel 'guest instructions'\nset format y '10^{%T}'\nplot " + parts + "\n")


def exceeding(scene, call):
    """(microseconds, share of the calls that took longer)."""
    pairs = scene["histogram"].get(call, []) if scene else []
    total, seen, rows = sum(count for _, count in pairs), 0, []
    for latency, count in pairs:
        if latency:
            rows.append((latency / 1000, (total - seen) / total))
        seen += count
    return rows


def plot_stall(path, scenes, base, size=10000):
    """How long mmap() takes while other programs look."""
    series = [("nobody reads", "#404040", 1, exceeding(scenes.get(f"stall/none/{size}"), "mmap"))]
    for told, kernel, kind, colours in (("read the text (base)", base, "text", TEXT),
                                        ("read the text", scenes, "text", TEXT_PATCHED),
                                        ("query", scenes, "query", QUERY)):
        for colour, readers in zip(colours, (4, 2, 1)):
            series.append((f"{readers} {told}", colour, 1,
                           exceeding(kernel.get(f"stall/{kind}-{readers}/{size}"), "mmap")))
    blocks, parts = lines_plot(series)
    if parts:
        draw(path, f"mmap() in a process of {size:,} mappings while others read it", blocks
             + "set logscale xy\nset key outside right\n"
             "set xlabel 'microseconds (emulated machine)'\n"
             "set ylabel 'share of the calls that take longer'\nset yrange [1e-4:1]\n"
             "set format y '%g'\nplot " + parts + "\n")


def plot_query(path, rows):
    """What one query consists of."""
    found = {row.name: row.patched for row in rows}
    floor = found.get("ioctl/unknown")
    parts = [found.get("add/name"), found.get("add/build-id-to-name")]
    bars = [(f'"{size:,}"', floor, found[f"query/covering/{size}"] - floor, *parts)
            for size in SIZES if floor and found.get(f"query/covering/{size}")]
    if not bars or None in parts:
        return
    script = block("d", bars) + """set style data histograms
set style histogram rowstacked
set style fill solid border -1
set boxwidth 0.6
set key outside right
set xlabel 'mappings of the process'
set ylabel 'guest instructions'
set yrange [0:*]
"""
    names = ("system call, ioctl", "look-up, snapshot", "name", "build ID")
    colours = ("#c0c0c0", QUERY[0], QUERY[2], "#e0a030")
    script += "plot " + ", ".join(
        f"$d using {column}{':xtic(1)' if column == 2 else ''} title '{name}' lc rgb '{colour}'"
        for column, (name, colour) in enumerate(zip(names, colours), 2))
    draw(path, "What one query consists of", script + "\n")
