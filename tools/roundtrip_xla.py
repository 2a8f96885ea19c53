#!/usr/bin/env python3
"""Checks that XLA reads our text as it reads the original.

    roundtrip_xla.py ORACLE HLO_RUN FILE...

ORACLE is a program whose `canon FILE` prints a module as XLA prints it; HLO_RUN is the hlo-run command. For each file,
XLA must print the output of `HLO_RUN print` as it prints the original, and the output of `HLO_RUN print --as-xla
--no-large-constants` must equal XLA's text. Prints one line per file; the exit status is 1 if any differs. XLA may
print its own text differently the second time (computations in another order): `2nd trip` means that ours is printed
like that; `names` that only the numbers in names differ, which XLA assigns in text order.
"""
import os
import re
import subprocess
import sys
import tempfile


def output_of(command):
    done = subprocess.run(command, capture_output=True)
    return done.stdout, done.returncode, done.stderr.decode(errors='replace')


def first_difference(a, b):
    for number, (left, right) in enumerate(zip(a.splitlines(), b.splitlines()), 1):
        if left != right:
            at = next((i for i, (x, y) in enumerate(zip(left, right)) if x != y), min(len(left), len(right)))
            cut = slice(max(0, at - 40), at + 60)
            return f'line {number}: {left[cut]!r} against {right[cut]!r}'
    return f'{len(a)} bytes against {len(b)}'


def without_names(text):
    """Replaces every name by its position, since XLA renames duplicates in a module."""
    seen = {}

    def position(match):
        return b'%%%d' % seen.setdefault(match.group().lstrip(b'%'), len(seen))

    return re.sub(rb'%[\w.-]+|(?<=[( ])[\w.-]+(?=: )', position, text)  # Signatures have names without %.


def verdict(original, ours):
    original, ours = original.rstrip(b'\n'), ours.rstrip(b'\n')
    if original == ours:
        return 'same', ''
    if without_names(original) == without_names(ours):
        return 'names', ''
    return 'DIFFERS', first_difference(original.decode(errors='replace'), ours.decode(errors='replace'))


def canon(oracle, text):
    """Returns the text as XLA prints it, and an error."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'module.hlo')
        with open(path, 'wb') as file:
            file.write(text)
        got, status, error = output_of([oracle, 'canon', path])
        return got, error.strip()[-200:] if status != 0 else None


def compare_through(oracle, expected, ours):
    got, error = canon(oracle, ours)
    if error is not None:
        return 'REFUSED', error
    first = verdict(expected, got)
    if first[0] != 'DIFFERS':
        return first
    again, error = canon(oracle, expected)
    return ('2nd trip', '') if error is None and verdict(again, got)[0] != 'DIFFERS' else first


def compare(oracle, program, path):
    expected, status, error = output_of([oracle, 'canon', path])
    if status != 0:
        return 'refused', 'XLA refuses the original: ' + error.strip()[-200:], 'refused', ''
    ours, status, error = output_of([program, 'print', path])
    if status != 0:
        return 'FAILED', error.strip()[:200], 'FAILED', ''
    through = compare_through(oracle, expected, ours)
    direct, status, error = output_of([program, 'print', '--as-xla', '--no-large-constants', path])
    return *through, *verdict(expected, direct)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    oracle, program, *files = sys.argv[1:]
    failed = False
    print(f'{"through XLA":12} {"as XLA":10} file')
    for path in sorted(files):
        through, detail, direct, direct_detail = compare(oracle, program, path)
        failed |= through in ('DIFFERS', 'REFUSED', 'FAILED') or direct in ('DIFFERS', 'FAILED')
        print(f'{through:12} {direct:10} {os.path.basename(path)}', flush=True)
        for line in filter(None, (detail, direct_detail)):
            print(f'    {line}', flush=True)
    sys.exit(failed)


if __name__ == '__main__':
    main()
