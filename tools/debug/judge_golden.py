#!/usr/bin/env python3
"""Judges XLA's results in golden/ by `hlo-run shadow --against`: none may be judged a bug. Needs NumPy.

    tools/debug/judge_golden.py build/src/cli/hlo-run [--every 10] [--files 'jax_*'] [--timeout 60]

Prints the cases that are not explained by rounding, and a count of all verdicts; the exit status is 1 if there is a bug."""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "golden"


def cases(path):
    """Yields the name, the module, the flags of its devices, the arguments and the results of each packed case of a file."""
    archive = numpy.load(path.with_suffix(".npz"))
    arrays = collections.defaultdict(lambda: {"in": {}, "out": {}})
    for key in archive.files:
        name, direction, position = re.fullmatch(r"(.*?)/(in|out)/(.*)", key).groups()
        arrays[name][direction][position] = key
    for text in path.read_text().split("// -----\n"):
        found = re.search(r"^// values (\S+)", text, re.MULTILINE)
        if found and found[1] in arrays:
            module = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
            yield found[1], module, flags_of(text), *(
                {position: archive[key] for position, key in arrays[found[1]][direction].items()} for direction in ("in", "out"))


def flags_of(text):
    """Returns the flags for the line `// run replicas 2 partitions 4 shard xla-cpu` of a case."""
    found = re.search(r"^// run +(.*)", text, re.MULTILINE)
    flags = {"replicas": ["--replicas"], "partitions": ["--partitions"], "shard": ["--shard"], "xla-cpu": ["--xla-cpu-reductions"]}
    return [flag for word in (found[1].split() if found else []) for flag in flags.get(word, [word])]


def judge(binary, module, flags, arguments, results, timeout):
    """Returns the worst verdict of a case, or the reason if there is none."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "m.hlo").write_text(module)
        numpy.savez(folder / "out.npz", **results)
        words = [binary, "shadow", folder / "m.hlo", "--against", folder / "out.npz", "--format=json", *flags]
        if arguments:
            numpy.savez(folder / "in.npz", **arguments)
            words += ["--input", folder / "in.npz"]
        try:
            done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=timeout)
            answer = json.loads(done.stdout)
        except (subprocess.TimeoutExpired, json.JSONDecodeError):
            return "no answer"
    said = [verdict["verdict"] for verdict in answer.get("verdicts", [])]
    for word in ("bug", "beyond the estimated bound", "not judged", "ill-conditioned", "explained"):
        if any(word in verdict for verdict in said):
            return word
    return "not evaluated"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("binary")
    parser.add_argument("--every", type=int, default=1, help="judge every n-th case of a file")
    parser.add_argument("--files", default="*")
    parser.add_argument("--timeout", type=float, default=60)
    options = parser.parse_args()
    counts = collections.Counter()
    for path in sorted(GOLDEN.glob(options.files + ".hlo")):
        if not path.with_suffix(".npz").exists():
            continue
        for number, (name, module, flags, arguments, results) in enumerate(cases(path)):
            if number % options.every:
                continue
            said = judge(options.binary, module, flags, arguments, results, options.timeout)
            counts[said] += 1
            if said != "explained":
                print(f"{path.name} {name}: {said}", flush=True)
    print(", ".join(f"{count} {said}" for said, count in counts.most_common()))
    return 1 if counts["bug"] or counts["no answer"] else 0


if __name__ == "__main__":
    sys.exit(main())
