"""The README's pictures: a real answer of the terminal, rendered to SVG for light and dark pages.

    python scripts/picture.py            # write docs/pictures/check-{light,dark}.svg
    python scripts/picture.py --check    # say whether they show what the doctor says now

The text is what `rocm-doctor check --example` prints. The SVG asks for no font or file from elsewhere.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import pty
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
WIDTH = 100
COMMAND = ("check", "--example")
THEMES = {
    "light": TerminalTheme(
        (255, 255, 255), (36, 41, 46),
        [(36, 41, 46), (179, 29, 40), (17, 99, 41), (125, 78, 0), (9, 105, 218), (130, 80, 223), (27, 124, 131), (87, 96, 106)],
    ),
    "dark": TerminalTheme(
        (13, 17, 23), (230, 237, 243),
        [(72, 79, 88), (255, 123, 114), (86, 211, 100), (227, 179, 65), (121, 192, 255), (210, 168, 255), (86, 212, 221), (177, 186, 196)],
    ),
}  # fmt: skip
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>What rocm-doctor check --example prints</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def printed() -> str:
    """What a terminal shows, with its colours."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rocm_doctor", *COMMAND], cwd=ROOT, stdout=theirs, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm-256color", "COLUMNS": str(WIDTH)},
    ) as running:  # fmt: skip
        os.close(theirs)
        parts = []
        with contextlib.suppress(OSError):  # the end of a terminal reads as an error
            while part := os.read(ours, 65536):
                parts.append(part)
        running.wait(timeout=60)
    os.close(ours)
    return f"$ rocm-doctor {' '.join(COMMAND)}\n" + b"".join(parts).decode().replace("\r\n", "\n")


def picture(text: str, theme: TerminalTheme) -> str:
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", legacy_windows=False
    )
    console.print(Text.from_ansi(text), soft_wrap=False)
    svg = console.export_svg(title="rocm-doctor", theme=theme, code_format=FORMAT, unique_id="doctor")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 when a picture is stale")
    check = parser.parse_args().check
    text = printed()
    stale = False
    for name, theme in THEMES.items():
        path, svg = PICTURES / f"check-{name}.svg", picture(text, theme)
        if not path.is_file() or path.read_text(encoding="utf-8") != svg:
            stale = True
            print(f"{'stale' if check else 'written'}: {path.relative_to(ROOT)}")
            if not check:
                path.write_text(svg, encoding="utf-8")
    return int(check and stale)


if __name__ == "__main__":
    sys.exit(main())
