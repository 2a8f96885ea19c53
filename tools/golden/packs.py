"""The files of golden cases: `golden/AREA.hlo` holds the cases of an area between lines `// -----`, each with its name, its
description, where it comes from, its rules and its module; `golden/AREA.npz` holds their arrays under `NAME/in/0`,
`NAME/out/0`, ... tests/README.md describes the format.

A case is a dict with `name`, `description`, `source` ({'program', 'producer'}), `rule`, `rules` (by output), `module`
(HLO text), `inputs` and `outputs` (lists of arrays, as npz holds them)."""
import io
import re
import zipfile

import numpy as np

SEPARATOR = '// -----\n'
# Words with a meaning at the start of a line of a case: a description must not begin with them.
DIRECTIVES = {'run', 'check', 'print', 'plan', 'exact', 'within', 'output', 'values', 'foreach', 'strict'}


def rule_text(rule):
    if rule['kind'] == 'exact':
        text = 'exact'
    elif rule['kind'] == 'ulp':
        text = f"within {rule['ulp']}ulp"
    else:
        text = f"within abs {rule['abs']!r} rel {rule['rel']!r}"
    return text + (f": {rule['why']}" if 'why' in rule else '')


def parse_rule(text):
    rule, _, why = text.partition(': ')
    words = rule.split()
    if words == ['exact']:
        parsed = {'kind': 'exact'}
    elif words[1].endswith('ulp'):
        parsed = {'kind': 'ulp', 'ulp': int(words[1][:-3])}
    else:
        parsed = {'kind': 'close', 'abs': float(words[2]), 'rel': float(words[4])}
    return parsed | ({'why': why} if why else {})


def case_text(case):
    for line in [case['name'], *case['description'].split('\n')]:
        if line.split(' ')[0] in DIRECTIVES and line != case['name']:
            raise ValueError(f"{case['name']}: the description must not begin with '{line.split(' ')[0]}'")
    lines = [case['name'], *case['description'].split('\n'),
             f"From {case['source']['program']}, {case['source']['producer']}.", rule_text(case['rule'])]
    lines += [f'output {key} {rule_text(rule)}' for key, rule in sorted(case.get('rules', {}).items())]
    lines += [f"values {case['name']}", case.get('verb', 'run')]
    return ''.join(f'// {line}\n' for line in lines) + case['module']


def parse_case(text):
    comments = re.match(r'(?:// .*\n)*', text).group(0)
    lines = [line[3:] for line in comments.splitlines()]
    rules = next(i for i, line in enumerate(lines) if line.split(' ')[0] in ('exact', 'exact:', 'within') and i > 1)
    program, producer = re.fullmatch(r'From (.*?), (.*)\.', lines[rules - 1]).groups()
    case = {'name': lines[0], 'description': '\n'.join(lines[1:rules - 1]),
            'source': {'program': program, 'producer': producer}, 'rule': parse_rule(lines[rules]),
            'module': text[len(comments):]}
    others = dict(re.match(r'output (\S+) (.*)', line).groups() for line in lines[rules + 1:-2])
    return case | ({'rules': {key: parse_rule(rule) for key, rule in others.items()}} if others else {})


def read(area):
    """Returns the cases of `golden/AREA.hlo` and `.npz` by name, given the path without extension; none if there is no file."""
    text, arrays = area.with_suffix('.hlo'), area.with_suffix('.npz')
    if not text.exists():
        return {}
    cases = {case['name']: case | {'inputs': [], 'outputs': []}
             for case in map(parse_case, text.read_text().split(SEPARATOR))}
    with np.load(arrays) as stored:
        keys = [key.rsplit('/', 2) for key in stored.files]
        for name, kind, k in sorted(keys, key=lambda key: int(key[2])):
            cases[name][kind + 'puts'].append(stored[f'{name}/{kind}/{k}'])
    return cases


def write(area, cases):
    """Writes both files of an area, sorted by name; their bytes depend only on the cases."""
    area.parent.mkdir(parents=True, exist_ok=True)
    cases = [cases[name] for name in sorted(cases)]
    area.with_suffix('.hlo').write_text(SEPARATOR.join(map(case_text, cases)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w', zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for case in cases:
            for kind in ('in', 'out'):
                for k, array in enumerate(case[kind + 'puts']):
                    member = io.BytesIO()
                    np.lib.format.write_array(member, array, allow_pickle=False)
                    info = zipfile.ZipInfo(f"{case['name']}/{kind}/{k}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                    info.compress_type = zipfile.ZIP_DEFLATED
                    archive.writestr(info, member.getvalue())
    area.with_suffix('.npz').write_bytes(buffer.getvalue())
