#!/usr/bin/env python3
"""A picture of a view that a program writes again and again on a terminal: the last whole one, as SVG.

    scripts/gallery/terminal.py COLUMNS ROWS OUT.svg PROGRAM [ARGUMENT]..
"""

import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import termios

UP = re.compile(r"\x1b\[\d+A")
ORDER = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#76e3ea"}
#: Width and height of a character, in pixels of the picture.
WIDE, HIGH = 7.2, 15.0


def shown(columns: int, rows: int, command: list) -> str:
    """What the program wrote to a terminal of this size."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment):
        os.close(its)
        seen = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                return seen.decode()
            if not part:
                return seen.decode()
            seen += part


def spans(line: str) -> str:
    """A line with what its orders mean, as parts of an SVG text."""
    style, parts, at = "", [], 0
    for order in [*ORDER.finditer(line), None]:
        text = line[at : order.start() if order else len(line)]
        if text:
            parts.append(f"<tspan{style}>{html.escape(text)}</tspan>")
        if order is None:
            break
        at = order.end()
        if order.group(2) == "m":
            codes = order.group(1).split(";")
            weight = ' font-weight="bold"' if "1" in codes else ' opacity="0.6"' if "2" in codes else ""
            colour = next((f' fill="{COLOURS[code]}"' for code in codes if code in COLOURS), "")
            style = weight + colour
    return "".join(parts)


def main() -> None:
    columns, rows, out, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    frames = UP.split(shown(columns, rows, command))
    if len(frames) < 3:
        sys.exit(f"{command[0]} drew no view")
    lines = [line.rstrip("\r") for line in frames[-2].split("\n")]
    while lines and not ORDER.sub("", lines[-1]).strip():
        lines.pop()
    width, height = columns * WIDE + 16, len(lines) * HIGH + 16
    text = "\n".join(
        f'<text x="8" y="{8 + HIGH * (at + 0.8):.1f}" xml:space="preserve">{spans(line)}</text>' for at, line in enumerate(lines)
    )
    with open(out, "w", encoding="utf-8") as file:
        file.write(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}"'
            ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="12" fill="#e6edf3">\n'
            f'<rect width="100%" height="100%" rx="6" fill="#0d1117"/>\n{text}\n</svg>\n'
        )


if __name__ == "__main__":
    main()
