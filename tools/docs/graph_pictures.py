#!/usr/bin/env python3
"""Opens the page of `hlo-run graph` in headless Chromium: checks its speed and its links, and makes its pictures.

    tools/docs/graph_pictures.py [--check] [build/src/cli/hlo-run]

The check opens a module of 10,000 instructions, which must be drawn in two seconds, and follows links into a page with values.
--check makes no pictures. The exit status is 77 where there is no Chromium.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tools/docs/pictures"
MOST_MILLISECONDS = 2000
DUMP = ROOT / "examples/debugging/pass_dump/module_0001.jit_f.cpu_after_optimizations.txt"
NAN = """HloModule with_nan
scaled {
  p = f32[16,24] parameter(0)
  l = f32[16,24] log(p), metadata={op_name="model/log"}
  ROOT t = f32[16,24] multiply(l, p)
}
ENTRY main {
  x = f32[16,24] parameter(0)
  y = f32[24,8] parameter(1)
  f = f32[16,24] fusion(x), kind=kLoop, calls=scaled
  d = f32[16,8] dot(f, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="model/dot"}
  ROOT r = f32[16,8] tanh(d)
}
"""


def large_module(count):
    """Returns a module of `count` instructions: 20 chains that exchange values, with calls."""
    lines = ["HloModule large", "double {", "  p = f32[8] parameter(0)", "  ROOT d = f32[8] add(p, p)", "}", "ENTRY main {"]
    lines += [f"  v{i} = f32[8] parameter({i})" for i in range(20)]
    for i in range(20, count - 2):
        kind = f"f32[8] call(v{i - 20}), to_apply=double" if i % 50 == 0 else f"f32[8] add(v{i - 20}, v{i - 1 - i % 19})"
        lines.append(f"  {'ROOT ' if i == count - 3 else ''}v{i} = {kind}")
    return "\n".join(lines + ["}"])


def chromium():
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


def browse(browser, url, *flags):
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1", *flags, url]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


def page(program, folder, name, text, *arguments):
    module, target = folder / f"{name}.hlo", folder / f"{name}.html"
    module.write_text(text)
    subprocess.run([program, "graph", module, "-o", target, *arguments], check=True)
    return target.as_uri()


def ready(dom):
    """Returns the milliseconds until the page was drawn, and the number of instructions on it."""
    return [int(re.search(rf'data-{key}="(\d+)"', dom).group(1)) for key in ("ready", "items")]


def check(browser, program, folder):
    """Yields a message for each error."""
    url = page(program, folder, "large", large_module(10_000))
    # Takes the fastest of three runs, because other load on the machine delays the browser.
    milliseconds, items = min(ready(browse(browser, url, "--dump-dom")) for _ in range(3))
    print(f"{items} instructions drawn after {milliseconds} ms")
    if milliseconds > MOST_MILLISECONDS:
        yield f"the page of 10,000 instructions takes {milliseconds} ms"
    if items != 9_998:
        yield f"{items} instructions of the entry computation are shown"
    url = page(program, folder, "nan", NAN, "--random", "1")
    inside = browse(browser, url + "#select=l&colour=nan", "--dump-dom")
    for wanted in ("model/log", 'id="histogram"', 'class="plot slice"', "<dt>nan</dt>", "multiply", "red: NaN"):
        if wanted not in inside:
            yield f"the panel of the instruction %l has no {wanted}"
    if ready(inside)[1] != 6:
        yield "the fusion is not unfolded"
    found = browse(browser, url + "#search=dot", "--dump-dom")
    if "1 found" not in found or "f32[16,8]" not in found:
        yield "the search for 'dot' does not find one instruction"


def pictures(browser, program, folder):
    url = page(program, folder, "dump", DUMP.read_text(), "--random", "1")
    shots = {"graph": url + "#select=dot_general.3", "graph_value": page(program, folder, "nan", NAN, "--random", "1") + "#unfold&select=l&colour=nan"}
    for name, address in shots.items():
        browse(browser, address, f"--screenshot={FOLDER / f'{name}.png'}", "--window-size=1200,720")


def main():
    arguments = [word for word in sys.argv[1:] if word != "--check"]
    program = pathlib.Path(arguments[0] if arguments else ROOT / "build/src/cli/hlo-run").resolve()
    browser = chromium()
    if browser is None:
        print("skipped: there is no Chromium")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wrong = list(check(browser, program, folder))
        print("\n".join(wrong))
        if "--check" not in sys.argv:
            pictures(browser, program, folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
