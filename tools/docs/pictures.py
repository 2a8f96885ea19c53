#!/usr/bin/env python3
"""Makes the pictures of the README from the program's output on a terminal.

    tools/docs/pictures.py [--check] [build/src/cli/hlo-run]

--check compares the pictures whose text does not depend on the machine, writes nothing, and exits with status 1 if one is out of date.
"""
import html
import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tools/docs/pictures"
MODULE = """HloModule mlp

ENTRY main {
  x = f32[32,784] parameter(0)
  w = f32[784,10] parameter(1)
  b = f32[10] parameter(2)
  logits = f32[32,10] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  bias = f32[32,10] broadcast(b), dimensions={1}
  ROOT sum = f32[32,10] add(logits, bias)
}
"""
CASE = """// A softmax whose maximum another compiler has dropped.
// within 2ulp
// run
ENTRY softmax {
  x = f32[2,3] parameter(0)
  e = f32[2,3] exponential(x)
  zero = f32[] constant(0)
  total = f32[2] reduce(e, zero), dimensions={1}, to_apply={
    a = f32[] parameter(0)
    b = f32[] parameter(1)
    ROOT s = f32[] add(a, b)
  }
  each = f32[2,3] broadcast(total), dimensions={0}
  ROOT r = f32[2,3] divide(e, each)
}
// in   {{1, 2, 3}, {100, 100, 100}}
// out  {{0.0900305733, 0.244728476, 0.665240943}, {0.333333343, 0.333333343, 0.333333343}}
"""
# Name, files in the folder of the command, the command, and whether its output is the same everywhere.
PICTURES = [
    ("error", {"mlp.hlo": MODULE}, "hlo-run verify mlp.hlo", True),
    ("check", {"softmax.hlo": CASE}, "hlo-run check softmax.hlo", True),
    ("profile", {}, f"hlo-run profile {ROOT}/examples/softmax.hlo --random 1", False),
]
COLOURS = {"31": "#f47067", "32": "#8ddb8c", "33": "#f69d50", "34": "#6cb6ff", "35": "#dcbdfb", "36": "#96d0ff"}
DEFAULT, BOLD = "#d1d7e0", ' font-weight="bold"'
LINE, CHARACTER = 18, 8.4


def terminal_output(command, folder, program):
    """Returns the output of a command on a terminal of 100 columns: both streams, with escape sequences."""
    environment = {**os.environ, "TERM": "xterm-256color", "PATH": f"{program.parent}:{os.environ['PATH']}", "COLUMNS": "100"}
    environment.pop("NO_COLOR", None)
    controller, terminal = pty.openpty()
    process = subprocess.Popen(["sh", "-c", command], cwd=folder, env=environment, stdout=terminal, stderr=terminal)
    os.close(terminal)
    output = b""
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:
            part = b""
        if not part:
            break
        output += part
    process.wait()
    return re.sub(r"in \d+\.\d s$", "in 0.0 s", output.decode().replace("\r\n", "\n").rstrip("\n"))


def spans(line):
    """Yields (text, colour, is_bold) for the parts of a line."""
    colour, bold = None, False
    for part in re.split(r"(\x1b\[[0-9;]*[A-Za-z])", line):
        if not part.startswith("\x1b"):
            if part:
                yield part, colour, bold
            continue
        for code in part[2:-1].split(";"):
            if code in ("", "0"):
                colour, bold = None, False
            elif code == "1":
                bold = True
            elif code in COLOURS:
                colour = COLOURS[code]


def svg(command, output):
    lines = [f"\x1b[32m$\x1b[0m {command}", *output.split("\n")]
    width = max(len(re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line)) for line in lines) * CHARACTER + 32
    height = len(lines) * LINE + 28
    rows = []
    for i, line in enumerate(lines):
        runs = "".join(f'<tspan fill="{colour or DEFAULT}"{BOLD if bold else ""}>{html.escape(text)}</tspan>'
                       for text, colour, bold in spans(line))
        rows.append(f'<text x="16" y="{28 + i * LINE}" xml:space="preserve">{runs}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
            f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">\n'
            f'<rect width="100%" height="100%" rx="8" fill="#212830"/>\n' + "\n".join(rows) + "\n</svg>\n")


def main():
    arguments = [word for word in sys.argv[1:] if word != "--check"]
    program = pathlib.Path(arguments[0] if arguments else ROOT / "build/src/cli/hlo-run").resolve()
    status = 0
    FOLDER.mkdir(exist_ok=True)
    for name, files, command, is_same_everywhere in PICTURES:
        if "--check" in sys.argv and not is_same_everywhere:
            continue
        with tempfile.TemporaryDirectory() as folder:
            for file, text in files.items():
                (pathlib.Path(folder) / file).write_text(text)
            picture = svg(command.replace(f"{ROOT}/", ""), terminal_output(command, folder, program))
        path = FOLDER / f"{name}.svg"
        if "--check" not in sys.argv:
            path.write_text(picture)
        elif not path.exists() or path.read_text() != picture:
            print(f"{path.relative_to(ROOT)} is old: tools/docs/pictures.py writes it anew")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
