#!/usr/bin/env python3
"""Writes tests/cases/types: every opcode with every element type that it accepts, on a few small values.

    python3 type_cases.py ../../tests/cases/types

tests/cases/ops and semantics test the semantics of opcodes; here each type is used once. The values are chosen so that
results are exact and every type represents them; functions come from NumPy in f64, rounded by ml_dtypes, within one
ULP. Needs numpy and ml_dtypes (requirements.txt).
"""
import argparse
import math
import pathlib

import ml_dtypes
import numpy as np

SIGNED = ['s2', 's4', 's8', 's16', 's32', 's64']
UNSIGNED = ['u1', 'u2', 'u4', 'u8', 'u16', 'u32', 'u64']
TINY = ['f4e2m1fn', 'f6e2m3fn', 'f6e3m2fn']
F8 = ['f8e3m4', 'f8e4m3', 'f8e4m3fn', 'f8e4m3fnuz', 'f8e4m3b11fnuz', 'f8e5m2', 'f8e5m2fnuz']
WIDE = ['f16', 'bf16', 'f32', 'f64']
COMPLEX = ['c64', 'c128']
FLOATS = TINY + F8 + WIDE  # Types with a zero and negative numbers.
ALL = ['pred', 's1'] + SIGNED + UNSIGNED + FLOATS + ['f8e8m0fnu'] + COMPLEX
REAL = [t for t in ALL if t not in COMPLEX]

ML = {'bf16': 'bfloat16', 'f16': 'float16', 'f32': 'float32', 'f64': 'float64', 'f4e2m1fn': 'float4_e2m1fn',
      'f6e2m3fn': 'float6_e2m3fn', 'f6e3m2fn': 'float6_e3m2fn', 'f8e3m4': 'float8_e3m4', 'f8e4m3': 'float8_e4m3',
      'f8e4m3fn': 'float8_e4m3fn', 'f8e4m3fnuz': 'float8_e4m3fnuz', 'f8e4m3b11fnuz': 'float8_e4m3b11fnuz',
      'f8e5m2': 'float8_e5m2', 'f8e5m2fnuz': 'float8_e5m2fnuz', 'f8e8m0fnu': 'float8_e8m0fnu'}


def dtype(name):
    return np.dtype(getattr(ml_dtypes, ML[name], None) or getattr(np, ML[name]))


def bits_of(name):
    return 1 if name == 'pred' else int(''.join(c for c in name.split('e')[0] if c.isdigit())) if name != 'bf16' else 16


# Two representative values, A and B: A is a zero if the type has one, B a one.
class Group:
    def __init__(self, types, a, b):
        self.types, self.a, self.b = types, a, b

    def words(self, text, **more):
        for key, value in [('A', self.a), ('B', self.b), *more.items()]:
            text = ''.join(value if w == key else w for w in split(text))
        return text


def split(text):
    word = ''
    for c in text:
        if c.isalnum() or c == '_':
            word += c
            continue
        if word:
            yield word
        word = ''
        yield c
    if word:
        yield word


GROUPS = [Group([t for t in ALL if t not in ['s1', 'f8e8m0fnu'] + COMPLEX], '0', '1'),
          Group(['s1'], '0', '-1'), Group(['f8e8m0fnu'], '1', '2'), Group(COMPLEX, '(0, 0)', '(1, 2)')]

FILES = {}


def case(file, title, types, body, ins, outs, within='', callees=(), infeed=(), outfeed=()):
    lines = [f'// {title}  [exact]']
    if within:
        lines.append(f'// within {within}')
    if types != ['']:
        lines.append('// foreach T in ' + ' '.join(types))
    lines.append('// run')
    lines += callees
    lines += ['ENTRY e {'] + ['  ' + line for line in body] + ['}']
    lines += [f'// in   {v}' for v in ins] + [f'// infeed {v}' for v in infeed]
    lines += [f'// outfeed {v}' for v in outfeed] + [f'// out  {v}' for v in outs]
    FILES.setdefault(file, []).append('\n'.join(lines))


ADD = 'add { x = T[] parameter(0) y = T[] parameter(1) ROOT s = T[] add(x, y) }'
NEVER = 'never { x = T[] parameter(0) y = T[] parameter(1) ROOT n = pred[] constant(false) }'
TURN = 'turn { x = T[2] parameter(0) ROOT r = T[2] reverse(x), dimensions={0} }'
SAME = 'same { ROOT x = T[] parameter(0) }'
X = 'x = T[2] parameter(0)'
AB, BA = '{A, B}', '{B, A}'


def every(file, opcode, body, ins, outs, callees=(), sub=lambda group: {}, infeed=(), outfeed=()):
    """Returns the case for all types, once per group of values."""
    for group in GROUPS:
        what = f'{opcode}: {"all types with 0 and 1" if group.types[0] == "pred" else " and ".join(group.types)}.'
        more = sub(group)
        case(file, what, group.types, [group.words(b) for b in body], [group.words(v, **more) for v in ins],
             [group.words(v, **more) for v in outs], callees=callees, infeed=[group.words(v) for v in infeed],
             outfeed=[group.words(v) for v in outfeed])


def unchanged(file, opcode, *body, callees=()):
    every(file, opcode, [X, *body], [AB], [AB], callees)


def turned(file, opcode, *body, callees=()):
    every(file, opcode, [X, *body], [AB], [BA], callees)


def movement():
    f = 'movement'
    unchanged(f, 'parameter', 'ROOT r = (T[2]) tuple(x)')
    unchanged(f, 'get-tuple-element', 't = (T[2]) tuple(x)', 'ROOT r = T[2] get-tuple-element(t), index=0')
    unchanged(f, 'copy', 'ROOT r = T[2] copy(x)')
    unchanged(f, 'copy-start', 's = (T[2], T[2], u32[]) copy-start(x)', 'ROOT r = T[2] copy-done(s)')
    unchanged(f, 'opt-barrier', 'ROOT r = T[2] opt-barrier(x)')
    unchanged(f, 'bitcast-convert', 'ROOT r = T[2] bitcast-convert(x)')
    unchanged(f, 'add-dependency', 't = token[] after-all()', 'ROOT r = T[2] add-dependency(x, t)')
    unchanged(f, 'domain', 'ROOT r = T[2] domain(x), domain={kind="sharding", entry={replicated}, exit={replicated}}')
    unchanged(f, 'custom-call', 'ROOT r = T[2] custom-call(x), custom_call_target="Sharding"')
    turned(f, 'reverse', 'ROOT r = T[2] reverse(x), dimensions={0}')
    turned(f, 'shuffle', 'ROOT r = T[2] shuffle(x), dimensions={0}, mode=rotate, shifts={1}')
    every(f, 'bitcast', [X, 'ROOT r = T[2,1] bitcast(x)'], [AB], ['{{A}, {B}}'])
    every(f, 'reshape', [X, 'ROOT r = T[1,2] reshape(x)'], [AB], ['{{A, B}}'])
    every(f, 'broadcast', [X, 'ROOT r = T[2,2] broadcast(x), dimensions={0}'], [AB], ['{{A, A}, {B, B}}'])
    every(f, 'transpose', ['x = T[2,2] parameter(0)', 'ROOT r = T[2,2] transpose(x), dimensions={1,0}'],
          ['{{A, B}, {B, B}}'], ['{{A, B}, {B, B}}'])
    every(f, 'transpose of a row', ['x = T[1,2] parameter(0)', 'ROOT r = T[2,1] transpose(x), dimensions={1,0}'],
          ['{{A, B}}'], ['{{A}, {B}}'])
    every(f, 'slice', ['x = T[3] parameter(0)', 'ROOT r = T[2] slice(x), slice={[0:3:2]}'], ['{B, A, A}'], [BA])
    every(f, 'concatenate', [X, 'ROOT r = T[4] concatenate(x, x), dimensions={0}'], [AB], ['{A, B, A, B}'])
    every(f, 'pad', [X, 'v = T[] parameter(1)', 'ROOT r = T[4] pad(x, v), padding=1_0_1'], [AB, 'B'], ['{B, A, B, B}'])
    every(f, 'select', ['p = pred[2] parameter(0)', 'x = T[2] parameter(1)', 'y = T[2] parameter(2)',
                        'ROOT r = T[2] select(p, x, y)'], ['{1, 0}', AB, '{B, B}'], [AB])
    every(f, 'dynamic-slice', [X, 'i = s32[] parameter(1)', 'ROOT r = T[1] dynamic-slice(x, i), dynamic_slice_sizes={1}'],
          [AB, '1'], ['{B}'])
    every(f, 'dynamic-update-slice', [X, 'u = T[1] parameter(1)', 'i = s32[] parameter(2)',
                                      'ROOT r = T[2] dynamic-update-slice(x, u, i)'], ['{B, B}', '{A}', '1'], [BA])
    every(f, 'gather', [X, 'i = s32[3,1] parameter(1)', 'ROOT r = T[3] gather(x, i), offset_dims={}, '
                        'collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1}'],
          [AB, '{{1}, {0}, {1}}'], ['{B, A, B}'])
    every(f, 'dynamic-reshape', [X, 'n = s32[] parameter(1)', 'd = T[<=2] dynamic-reshape(x, n)',
                                 'm = s32[] constant(2)', 'ROOT r = T[2] set-dimension-size(d, m), dimensions={0}'],
          [AB, '2'], [AB])
    every(f, 'get-dimension-size', [X, 'ROOT r = s32[] get-dimension-size(x), dimensions={0}'], [AB], ['2'])
    case(f, 'iota: 0 and 1.', GROUPS[0].types[1:], ['ROOT r = T[2] iota(), iota_dimension=0'], [], ['{0, 1}'])
    every(f, 'constant', ['ROOT r = T[2] constant({A, B})'], [], [AB])


def control():
    f = 'control'
    turned(f, 'call', 'ROOT r = T[2] call(x), to_apply=turn', callees=[TURN])
    turned(f, 'fusion', 'ROOT r = T[2] fusion(x), kind=kLoop, calls=turn', callees=[TURN])
    turned(f, 'async-start, -update and -done', 's = ((T[2]), T[2], s32[]) async-start(x), calls=turn',
           'u = ((T[2]), T[2], s32[]) async-update(s)', 'ROOT r = T[2] async-done(u)', callees=[TURN])
    every(f, 'conditional', ['p = pred[] parameter(0)', 'x = T[2] parameter(1)', 'ROOT r = T[2] conditional(p, x, x), '
                             'true_computation=turn, false_computation=other'], ['true', AB], [BA],
          [TURN, 'other { ROOT x = T[2] parameter(0) }'])
    state = '(T[2], s32[])'
    every(f, 'while', [X, 'n = s32[] parameter(1)', f's = {state} tuple(x, n)',
                       f'w = {state} while(s), condition=more, body=step', 'ROOT r = T[2] get-tuple-element(w), index=0'],
          [AB, '3'], [BA],
          [f'more {{ s = {state} parameter(0) n = s32[] get-tuple-element(s), index=1 z = s32[] constant(0) '
           'ROOT m = pred[] compare(n, z), direction=GT }',
           f'step {{ s = {state} parameter(0) x = T[2] get-tuple-element(s), index=0 '
           'n = s32[] get-tuple-element(s), index=1 o = s32[] constant(1) m = s32[] subtract(n, o) '
           f'y = T[2] reverse(x), dimensions={{0}} ROOT t = {state} tuple(y, m) }}'])
    every(f, 'map', [X, 'ROOT r = T[2] map(x), dimensions={0}, to_apply=same'], [AB], [AB], [SAME])


def collectives():
    f = 'collectives'
    unchanged(f, 'all-gather', 'ROOT r = T[2] all-gather(x), dimensions={0}')
    unchanged(f, 'all-gather-start', 's = (T[2], T[2]) all-gather-start(x), dimensions={0}',
              'ROOT r = T[2] all-gather-done(s)')
    unchanged(f, 'all-reduce', 'ROOT r = T[2] all-reduce(x), to_apply=add', callees=[ADD])
    unchanged(f, 'all-reduce-start', 's = T[2] all-reduce-start(x), to_apply=add', 'ROOT r = T[2] all-reduce-done(s)',
              callees=[ADD])
    unchanged(f, 'collective-reduce', 'ROOT r = T[2] collective-reduce(x), to_apply=add, replica_groups={{0}}',
              callees=[ADD])
    unchanged(f, 'reduce-scatter', 'ROOT r = T[2] reduce-scatter(x), dimensions={0}, to_apply=add', callees=[ADD])
    unchanged(f, 'all-to-all', 'ROOT r = T[2] all-to-all(x), dimensions={0}')
    unchanged(f, 'collective-broadcast', 'ROOT r = T[2] collective-broadcast(x), replica_groups={{0}}')
    unchanged(f, 'collective-permute', 'ROOT r = T[2] collective-permute(x), source_target_pairs={{0,0}}')
    unchanged(f, 'collective-permute-start', 's = (T[2], T[2]) collective-permute-start(x), source_target_pairs={{0,0}}',
              'ROOT r = T[2] collective-permute-done(s)')


def transfers():
    f = 'transfers'
    token = 't = token[] after-all()'
    every(f, 'infeed', [token, 'i = (T[2], token[]) infeed(t)', 'ROOT r = T[2] get-tuple-element(i), index=0'], [], [AB],
          infeed=[AB])
    every(f, 'outfeed', [X, token, 'o = token[] outfeed(x, t), outfeed_shape=T[2]', 'ROOT r = T[2] reverse(x), dimensions={0}'],
          [AB], [BA], outfeed=[AB])
    every(f, 'send, send-done, recv and recv-done',
          [X, token, 's = (T[2], u32[], token[]) send(x, t), channel_id=1', 'd = token[] send-done(s), channel_id=1',
           'v = (T[2], u32[], token[]) recv(d), channel_id=1', 'w = (T[2], token[]) recv-done(v), channel_id=1',
           'ROOT r = T[2] get-tuple-element(w), index=0'], [AB], [AB])
    # Send and recv with the host, and two infeeds in sequence.
    every(f, 'send to the host and recv from it',
          [X, token, 's = (T[2], u32[], token[]) send(x, t), channel_id=1, is_host_transfer=true',
           'd = token[] send-done(s), channel_id=1, is_host_transfer=true',
           'v = (T[2], u32[], token[]) recv(d), channel_id=2, is_host_transfer=true',
           'w = (T[2], token[]) recv-done(v), channel_id=2, is_host_transfer=true',
           'ROOT r = T[2] get-tuple-element(w), index=0'], [AB], [BA], infeed=[BA], outfeed=[AB])
    every(f, 'ragged-all-to-all', [X, 'y = T[3] parameter(1)', 'i = s32[1] parameter(2)', 'n = s32[1] parameter(3)',
                                   'o = s32[1] parameter(4)', 'm = s32[1] parameter(5)',
                                   'ROOT r = T[3] ragged-all-to-all(x, y, i, n, o, m), replica_groups={{0}}'],
          [AB, '{B, B, B}', '{0}', '{1}', '{2}', '{1}'], ['{B, B, A}'])


def sums():
    """Folds: A + A + B, and values of a group: S is A + A, D is B + A + A."""
    f = 'folds'

    def sub(group):
        if group.types == ['f8e8m0fnu']:
            return {'S': '2', 'D': '4', 'P': '2', 'Q': '1'}
        product = {'s1': '-1', 'c64': '(-3, 4)'}.get(group.types[0], '1')  # B * B
        return {'S': group.a, 'D': group.b, 'P': product, 'Q': group.b}

    v = 'v = T[] parameter(1)'
    every(f, 'reduce', [X, v, 'ROOT r = T[] reduce(x, v), dimensions={0}, to_apply=add'], [AB, 'A'], ['D'], [ADD], sub)
    every(f, 'reduce-window', [X, v, 'ROOT r = T[1] reduce-window(x, v), window={size=2}, to_apply=add'], [AB, 'A'],
          ['{D}'], [ADD], sub)
    every(f, 'scan', [X, v, 'ROOT r = (T[2], T[]) scan(x, v), dimensions={0}, num_carries=1, to_apply=running'],
          [AB, 'A'], ['{S, D}', 'D'],
          ['running { x = T[] parameter(0) y = T[] parameter(1) s = T[] add(x, y) ROOT t = (T[], T[]) tuple(s, s) }'], sub)
    every(f, 'scatter', [X, 'i = s32[1,1] parameter(1)', 'u = T[1] parameter(2)',
                         'ROOT r = T[2] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, '
                         'scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add'],
          [AB, '{{0}}', '{A}'], ['{S, B}'], [ADD], sub)
    every(f, 'select-and-scatter', [X, 'u = T[1] parameter(1)', 'v = T[] parameter(2)',
                                    'ROOT r = T[2] select-and-scatter(x, u, v), window={size=2}, select=never, '
                                    'scatter=add'], [AB, '{Q}', 'A'], ['{A, P}'], [ADD, NEVER],
          lambda g: {**sub(g), 'P': '2' if g.types == ['f8e8m0fnu'] else g.b})
    # A product of sums with one term: Q * Q, P; for f8e8m0fnu 1 * 1 + 1 * 1 = 2.
    w = lambda g: {**sub(g), 'Z': '1' if g.types == ['f8e8m0fnu'] else g.a}
    every(f, 'dot', ['x = T[1,2] parameter(0)', 'y = T[2,1] parameter(1)', 'ROOT r = T[1,1] dot(x, y), '
                     'lhs_contracting_dims={1}, rhs_contracting_dims={0}'], ['{{Z, Q}}', '{{Q}, {Q}}'], ['{{P}}'], (), w)
    every(f, 'ragged-dot', ['x = T[1,2] parameter(0)', 'y = T[1,2,1] parameter(1)', 'g = s32[1] parameter(2)',
                            'ROOT r = T[1,1] ragged-dot(x, y, g), lhs_contracting_dims={1}, rhs_contracting_dims={1}, '
                            'lhs_ragged_dims={0}, rhs_group_dims={0}'],
          ['{{Z, Q}}', '{{{Q}, {Q}}}', '{1}'], ['{{P}}'], (), w)
    every(f, 'scaled-dot', ['x = T[1,2] parameter(0)', 'y = T[2,1] parameter(1)', 's = f8e8m0fnu[1,1] parameter(2)',
                            't = f8e8m0fnu[1,1] parameter(3)', 'ROOT r = T[1,1] scaled-dot(x, y, s, t), '
                            'lhs_contracting_dims={1}, rhs_contracting_dims={0}'],
          ['{{Z, Q}}', '{{V}, {V}}', '{{1}}', '{{1}}'], ['{{W}}'], (),
          # Converts through floats; s1 has no one.
          lambda g: {**w(g), 'V': '0', 'W': '0'} if g.types == ['s1'] else {**w(g), 'V': w(g)['Q'], 'W': w(g)['P']})
    every(f, 'convolution', ['x = T[1,1,3] parameter(0)', 'k = T[1,1,2] parameter(1)', 'ROOT r = T[1,1,2] '
                             'convolution(x, k), window={size=2}, dim_labels=bf0_oi0->bf0'],
          ['{{{Z, Q, Q}}}', '{{{Q, Z}}}'], ['{{{R, P}}}'], (),
          lambda g: {**w(g), 'R': '2' if g.types == ['f8e8m0fnu'] else g.a})


def orders():
    f = 'orders'
    less = 'less { x = T[] parameter(0) y = T[] parameter(1) ROOT l = pred[] compare(x, y), direction=LT }'
    for group in GROUPS:
        if group.types == COMPLEX:
            case(f, 'sort: complex numbers that no comparison parts stay where they are.', COMPLEX,
                 [X, 'ROOT r = T[2] sort(x), dimensions={0}, to_apply=never, is_stable=true'],
                 [group.words(BA)], [group.words(BA)], callees=[NEVER])
            continue
        low, high = (group.b, group.a) if group.types == ['s1'] else (group.a, group.b)
        words = lambda text: Group([], low, high).words(text)
        name = 'all types with 0 and 1' if group.types[0] == 'pred' else group.types[0]
        case(f, f'sort: {name}.', group.types, [X, 'ROOT r = T[2] sort(x), dimensions={0}, to_apply=less'],
             [words(BA)], [words(AB)], callees=[less])
        case(f, f'topk: {name}.', group.types, [X, 'ROOT r = (T[1], s32[1]) topk(x), k=1'], [words(AB)],
             [words('{B}'), '{1}'])
        p = 'pred[2]'
        case(f, f'compare: {name}.', group.types, [X, 'y = T[2] parameter(1)',
             *[f'{d.lower()} = {p} compare(x, y), direction={d}' for d in ['EQ', 'NE', 'LT', 'GE']],
             f'ROOT r = ({p}, {p}, {p}, {p}) tuple(eq, ne, lt, ge)'], [words(AB), words('{B, B}')],
             ['{0, 1}', '{1, 0}', '{1, 0}', '{0, 1}'])
        case(f, f'maximum, minimum, clamp: {name}.', group.types, [X, 'y = T[2] parameter(1)',
             'a = T[2] maximum(x, y)', 'i = T[2] minimum(x, y)', 'c = T[2] clamp(y, x, x)',
             'ROOT r = (T[2], T[2], T[2]) tuple(a, i, c)'], [words(AB), words(BA)],
             [words('{B, B}'), words('{A, A}'), words(AB)])


# One-bit integers by their bit patterns.
def bits():
    f = 'one-bit'
    for name, one in [('s1', '-1'), ('u1', '1')]:
        def show(values):
            return '{' + ', '.join(one if v & 1 else '0' for v in values) + '}'
        x, y = [0, 0, 1, 1], [0, 1, 0, 1]
        t = f'{name}[4]'
        ops = [('add', [a + b for a, b in zip(x, y)]), ('subtract', [a - b for a, b in zip(x, y)]),
               ('multiply', [a * b for a, b in zip(x, y)]), ('and', [a & b for a, b in zip(x, y)]),
               ('or', [a | b for a, b in zip(x, y)]), ('xor', [a ^ b for a, b in zip(x, y)]),
               ('shift-left', [a if b == 0 else 0 for a, b in zip(x, y)]),
               ('shift-right-logical', [a if b == 0 else 0 for a, b in zip(x, y)]),
               # Shifts by the width or more leave the sign everywhere.
               ('shift-right-arithmetic', [a for a in x])]
        # The high one of the two bits of the product: u1 1 * 1 = 01, s1 -1 * -1 = 01.
        ops.append(('mulhi', [0, 0, 0, 0]))
        unary = [('negate', [-a for a in x]), ('not', [1 - a for a in x]), ('popcnt', x),
                 ('count-leading-zeros', [1 - a for a in x])]
        if name == 's1':
            unary += [('abs', x), ('sign', x)]  # |-1| is -1 again.
        body = [f'x = {t} parameter(0)', f'y = {t} parameter(1)']
        body += [f'r{i} = {t} {op}(x, y)' for i, (op, _) in enumerate(ops)]
        body += [f'r{i + len(ops)} = {t} {op}(x)' for i, (op, _) in enumerate(unary)]
        count = len(ops) + len(unary)
        body.append(f'ROOT r = ({", ".join([t] * count)}) tuple({", ".join(f"r{i}" for i in range(count))})')
        case(f, f'{name}: arithmetic on one bit.', [''], body, [show(x), show(y)], [show(v) for _, v in ops + unary])
        t = f'{name}[2]'
        case(f, f'{name}: divide, remainder and power by one.', [''],
             [f'x = {t} parameter(0)', f'y = {t} parameter(1)', f'd = {t} divide(x, y)', f'm = {t} remainder(x, y)',
              f'p = {t} power(x, y)', f'ROOT r = ({t}, {t}, {t}) tuple(d, m, p)'],
             [show([0, 1]), show([1, 1])],
             # 0 / 1 and 1 / 1; for s1 -1 / -1 = 1, which wraps to -1. 1 to the power 1; s1: (-1)^-1 = -1.
             [show([0, 1]), show([0, 0]), show([0, 1])])
        case(f, f'{name}: iota, and convert.', [''],
             [f'i = {t} iota(), iota_dimension=0', f'f = f32[2] convert(i)', f'ROOT r = ({t}, f32[2]) tuple(i, f)'],
             [], [show([0, 1]), '{0, ' + one + '}'])
    for name in ['s2', 's4', 'u2', 'u4']:
        n = int(name[1:])
        a = [(1 << n) - 1] * 2 if name[0] == 'u' else [-(1 << n - 1)] * 2
        b = [(1 << n) - 1, 1] if name[0] == 'u' else [-(1 << n - 1), 1]
        top = [x * y >> n for x, y in zip(a, b)]
        show = lambda values: '{' + ', '.join(map(str, values)) + '}'
        case(f, f'{name}: mulhi is the high half of the product.', [''],
             [f'x = {name}[2] parameter(0)', f'y = {name}[2] parameter(1)', f'ROOT r = {name}[2] mulhi(x, y)'],
             [show(a), show(b)], [show(top)])


def number(x):
    if math.isnan(x):
        return 'nan'
    if math.isinf(x):
        return 'inf' if x > 0 else '-inf'
    if x == 0:
        return '-0.0' if math.copysign(1, x) < 0 else '0'
    return repr(float(x)).removesuffix('.0')


UNARY = {'acos': np.arccos, 'acosh': np.arccosh, 'asin': np.arcsin, 'asinh': np.arcsinh, 'atanh': np.arctanh,
         'cbrt': np.cbrt, 'cosine': np.cos, 'cosh': np.cosh, 'erf': np.vectorize(math.erf), 'exp2': np.exp2,
         'exponential': np.exp, 'exponential-minus-one': np.expm1, 'log': np.log, 'log-plus-one': np.log1p,
         'log2': np.log2, 'logistic': lambda x: 1 / (1 + np.exp(-x)), 'rsqrt': lambda x: 1 / np.sqrt(x), 'sine': np.sin,
         'sinh': np.sinh, 'sqrt': np.sqrt, 'tan': np.tan, 'tanh': np.tanh, 'abs': np.abs, 'sign': np.sign,
         'negate': np.negative, 'ceil': np.ceil, 'floor': np.floor, 'real': np.real, 'imag': np.imag,
         'round-nearest-afz': lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5), 'round-nearest-even': np.round}
REAL_ONLY = {'cbrt', 'erf', 'ceil', 'floor', 'round-nearest-afz', 'round-nearest-even'}
BINARY = {'atan2': np.arctan2, 'power': np.power, 'add': np.add, 'subtract': np.subtract, 'multiply': np.multiply,
          'divide': np.divide}


def complex_atan2(y, x):
    return -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))


def functions():
    for name in TINY + F8 + ['f8e8m0fnu'] + WIDE:
        narrow = name not in WIDE
        d = dtype(name)
        given = [0.5, 1, 1.5, 2, 0.25, 4] if name != 'f8e8m0fnu' else [0.5, 1, 2, 4, 0.25, 8]
        x = np.array(given).astype(d)
        y = np.array([1, 0.5, 2, 1, 1, 0.5] if name != 'f8e8m0fnu' else [1, 0.5, 2, 1, 1, 0.5]).astype(d)
        xf, yf = x.astype(np.float64), y.astype(np.float64)
        rows = []
        with np.errstate(all='ignore'):
            for op, f in UNARY.items():
                rows.append((f'{op}(x)', f(xf)))
            for op, f in BINARY.items():
                rows.append((f'{op}(x, y)', f(xf, yf)))

        def rounded_to_type(value):
            with np.errstate(all='ignore'):
                return value.astype(np.float32 if narrow else d).astype(d).astype(np.float64)
        t = f'{name}[6]'
        lines, outs = [f'x = {t} parameter(0)', f'y = {t} parameter(1)'], []
        for text, value in rows:
            rounded = rounded_to_type(value)
            if name in TINY and np.isnan(value).any():
                keep = ~np.isnan(value)
                if not keep.any():
                    continue
                # A NaN becomes a zero of either sign.
                first = [i for i in range(6) if keep[i]]
                low, high = first[0], first[0] + 1
                while high < 6 and keep[high]:
                    high += 1
                lines.append(f'w{len(outs)} = {t} {text}')
                lines.append(f'r{len(outs)} = {name}[{high - low}] slice(w{len(outs)}), slice={{[{low}:{high}]}}')
                outs.append(rounded[low:high])
                continue
            lines.append(f'r{len(outs)} = {t} {text}')
            outs.append(rounded)
        shapes = ', '.join(f'{name}[{len(v)}]' for v in outs)
        lines.append(f'ROOT r = ({shapes}) tuple({", ".join(f"r{i}" for i in range(len(outs)))})')
        show = lambda v: '{' + ', '.join(number(e) for e in v) + '}'
        case('functions', f'{name}: functions of one and two numbers.', [''], lines, [show(xf), show(yf)],
             [show(v) for v in outs], within='1ulp' if narrow else '4ulp')
        half = f'{name}[2]'
        # Real and imaginary parts, truncation and rounding of integral values; a normalisation that divides by two.
        case('functions', f'{name}: functions that keep 1 and 2.', [''],
             [f'x = {half} parameter(0)', f'a = {half} reduce-precision(x), exponent_bits=8, mantissa_bits=1',
              f'b = pred[2] is-finite(x)', f'c = c64[2] convert(x)', f'ROOT r = ({half}, pred[2], c64[2]) tuple(a, b, c)'],
             ['{1, 2}'], ['{1, 2}', '{1, 1}', '{(1, 0), (2, 0)}'])
    for name in COMPLEX:
        d = np.complex64 if name == 'c64' else np.complex128
        x = np.array([0.5 + 0.25j, -1.5 + 2j, 0.75 - 0.5j]).astype(d)
        y = np.array([1 - 0.5j, 0.5 + 0.5j, 2 + 1j]).astype(d)
        t, real = f'{name}[3]', ('f32[3]' if name == 'c64' else 'f64[3]')
        lines, outs, shapes = [f'x = {t} parameter(0)', f'y = {t} parameter(1)'], [], []
        wide = x.astype(np.complex128), y.astype(np.complex128)
        for op, f in list(UNARY.items()) + list(BINARY.items()):
            if op in REAL_ONLY:
                continue
            args = wide if op in BINARY else wide[:1]
            if op == 'atan2':
                f = complex_atan2
            shape = real if op in ('abs', 'real', 'imag') else t
            lines.append(f'r{len(outs)} = {shape} {op}({"x, y" if op in BINARY else "x"})')
            outs.append(f(*args) if op != 'log2' else np.log(args[0]) / math.log(2))
            shapes.append(shape)
        lines += [f'e{i} = pred[3] compare(x, y), direction={w}' for i, w in enumerate(['EQ', 'NE'])]
        lines.append(f'ROOT r = ({", ".join(shapes)}, pred[3], pred[3]) '
                     f'tuple({", ".join(f"r{i}" for i in range(len(outs)))}, e0, e1)')
        element = lambda v: f'({number(v.real)}, {number(v.imag)})' if isinstance(v, complex) else number(v)
        show = lambda v: '{' + ', '.join(element(e) for e in v.tolist()) + '}'
        rule = 'abs 1e-6 rel 1e-5' if name == 'c64' else 'abs 1e-14 rel 1e-13'
        case('functions', f'{name}: functions of one and two numbers.', [''], lines, [show(v) for v in wide],
             [show(v) for v in outs] + ['{0, 0, 0}', '{1, 1, 1}'], within=rule)


def algebra():
    f = 'algebra'
    floats = FLOATS
    case(f, 'cholesky: {{4, 2}, {2, 2}} is L L^T of {{2, 0}, {1, 1}}.', floats,
         ['x = T[2,2] parameter(0)', 'ROOT r = T[2,2] cholesky(x), lower=true'], ['{{4, 2}, {2, 2}}'],
         ['{{2, 0}, {1, 1}}'])
    case(f, 'cholesky: complex.', COMPLEX, ['x = T[2,2] parameter(0)', 'ROOT r = T[2,2] cholesky(x), lower=true'],
         ['{{(4, 0), (0, -2)}, {(0, 2), (2, 0)}}'], ['{{(2, 0), (0, 0)}, {(0, 1), (1, 0)}}'])
    case(f, 'cholesky: f8e8m0fnu, of one element.', ['f8e8m0fnu'],
         ['x = T[1,1] parameter(0)', 'ROOT r = T[1,1] cholesky(x), lower=true'], ['{{4}}'], ['{{2}}'])
    solve = ['a = T[2,2] parameter(0)', 'b = T[2,1] parameter(1)', 'ROOT r = T[2,1] triangular-solve(a, b), '
             'left_side=true, lower=true, transpose_a=NO_TRANSPOSE']
    case(f, 'triangular-solve: only the lower triangle is read.', floats + ['f8e8m0fnu'], solve,
         ['{{1, 4}, {1, 1}}', '{{1}, {2}}'], ['{{1}, {1}}'])
    case(f, 'triangular-solve: complex.', COMPLEX, solve, ['{{(0, 1), (4, 0)}, {(1, 0), (2, 0)}}', '{{(0, 2)}, {(4, 0)}}'],
         ['{{(2, 0)}, {(1, 0)}}'])
    norm = 'epsilon=1, feature_index=1'
    case(f, 'batch-norm-inference: (x - 2) / sqrt(3 + 1).', floats,
         ['x = T[2,1] parameter(0)', *[f'{n} = T[1] parameter({i + 1})' for i, n in enumerate(['s', 'o', 'm', 'v'])],
          f'ROOT r = T[2,1] batch-norm-inference(x, s, o, m, v), {norm}'],
         ['{{0}, {4}}', '{1}', '{0}', '{2}', '{3}'], ['{{-1}, {1}}'])
    case(f, 'batch-norm-training: mean 2, variance 4.', floats,
         ['x = T[2,1] parameter(0)', 's = T[1] parameter(1)', 'o = T[1] parameter(2)',
          'ROOT r = (T[2,1], T[1], T[1]) batch-norm-training(x, s, o), epsilon=0, feature_index=1'],
         ['{{0}, {4}}', '{1}', '{0}'], ['{{-1}, {1}}', '{2}', '{4}'])
    case(f, 'batch-norm-grad: mean 2, variance 0, epsilon 1.', floats,
         ['x = T[2,1] parameter(0)', *[f'{n} = T[1] parameter({i + 1})' for i, n in enumerate(['s', 'm', 'v'])],
          'g = T[2,1] parameter(4)', f'ROOT r = (T[2,1], T[1], T[1]) batch-norm-grad(x, s, m, v, g), {norm}'],
         ['{{0}, {4}}', '{1}', '{2}', '{0}', '{{0}, {2}}'], ['{{3}, {-3}}', '{4}', '{2}'])


    # The type has no zero and no sign, and 3 and 6 round up; values that are not positive are NaN.
    e8 = ['f8e8m0fnu']
    case(f, 'batch-norm-inference: f8e8m0fnu.', e8,
         ['x = T[1,1] parameter(0)', *[f'{n} = T[1] parameter({i + 1})' for i, n in enumerate(['s', 'o', 'm', 'v'])],
          'ROOT r = T[1,1] batch-norm-inference(x, s, o, m, v), epsilon=3, feature_index=1'],
         ['{{4}}', '{1}', '{1}', '{2}', '{1}'], ['{{2}}'])
    case(f, 'batch-norm-training: f8e8m0fnu, mean 3, variance 1.', e8,
         ['x = T[2,1] parameter(0)', 's = T[1] parameter(1)', 'o = T[1] parameter(2)',
          'ROOT r = (T[2,1], T[1], T[1]) batch-norm-training(x, s, o), epsilon=0, feature_index=1'],
         ['{{2}, {4}}', '{1}', '{4}'], ['{{4}, {4}}', '{4}', '{1}'])
    case(f, 'batch-norm-grad: f8e8m0fnu.', e8,
         ['x = T[2,1] parameter(0)', *[f'{n} = T[1] parameter({i + 1})' for i, n in enumerate(['s', 'm', 'v'])],
          'g = T[2,1] parameter(4)',
          'ROOT r = (T[2,1], T[1], T[1]) batch-norm-grad(x, s, m, v, g), epsilon=3, feature_index=1'],
         ['{{2}, {4}}', '{1}', '{2}', '{1}', '{{8}, {2}}'], ['{{2}, {nan}}', '{2}', '{8}'])


MASK = (1 << 32) - 1


def three_fry(key, counter):
    k = [key & MASK, key >> 32]
    k.append(0x1BD11BDA ^ k[0] ^ k[1])
    x, y = (counter & MASK) + k[0] & MASK, (counter >> 32) + k[1] & MASK
    for g in range(5):
        for r in [(13, 15, 26, 6), (17, 29, 16, 24)][g % 2]:
            x = x + y & MASK
            y = (y << r | y >> 32 - r) & MASK
            y ^= x
        x, y = x + k[(g + 1) % 3] & MASK, y + k[(g + 2) % 3] + g + 1 & MASK
    return x, y


def randoms():
    f = 'random'
    key, counter = 0x0123456789abcdef, 0xfffffffe
    for name in ALL:
        if name == 'pred' or name in COMPLEX:
            continue
        width = bits_of(name)
        blocks = [three_fry(key, counter + i) for i in range(4 if width == 64 else 2)]
        words = [x | y << 32 for x, y in blocks] if width == 64 else [w for block in blocks for w in block]
        words = [w & (1 << width) - 1 for w in words]
        if name[0] == 's':
            values = [str(w - (1 << width) if w >> width - 1 else w) for w in words]
        elif name[0] == 'u':
            values = [str(w) for w in words]
        else:
            raw = np.array(words, np.dtype(f'u{max(width, 8) // 8}'))
            values = [number(v) for v in raw.view(dtype(name)).astype(np.float64).tolist()]
        case(f, f'rng-bit-generator: {name}, three-fry.', [''],
             ['s = u64[2] parameter(0)', f'ROOT r = (u64[2], {name}[4]) rng-bit-generator(s), algorithm=rng_three_fry'],
             [f'{{{key}, {counter}}}'],
             [f'{{{key}, {counter + len(blocks)}}}', '{' + ', '.join(values) + '}'])
    uniform = ['a = T[] parameter(0)', 'b = T[] parameter(1)', 'ROOT r = T[3] rng(a, b), distribution=rng_uniform']
    integers = SIGNED + UNSIGNED
    case(f, 'rng: integers in [0, 1) are 0.', integers, uniform, ['0', '1'], ['{0, 0, 0}'])
    case(f, 'rng: integers of s1 in [-1, 0) are -1.', ['s1'], uniform, ['-1', '0'], ['{-1, -1, -1}'])
    case(f, 'rng: without deviation from the mean.', FLOATS,
         ['a = T[] parameter(0)', 'b = T[] parameter(1)', 'ROOT r = T[3] rng(a, b), distribution=rng_normal'],
         ['1.5', '0'], ['{1.5, 1.5, 1.5}'])
    case(f, 'rng: f8e8m0fnu from 2 to 2.', ['f8e8m0fnu'], uniform, ['2', '2'], ['{2, 2, 2}'])
    for width, types in [(8, F8 + ['f8e8m0fnu']), (16, ['f16', 'bf16']), (32, ['f32']), (64, ['f64'])]:
        case(f, f'stochastic-convert: integers stay what they are, {width} bits.', types,
             ['x = T[2] parameter(0)', f'u = u{width}[2] parameter(1)', 'ROOT r = s8[2] stochastic-convert(x, u)'],
             ['{1, 2}', '{7, 200}'], ['{1, 2}'])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('folder', type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for part in (movement, control, collectives, transfers, sums, orders, bits, functions, algebra, randoms):
        part()
    for name, cases in FILES.items():
        text = '\n// -----\n'.join(cases) + '\n'
        (folder / f'{name}.hlo').write_text(text)
    print(f'{sum(map(len, FILES.values()))} cases in {len(FILES)} files')


if __name__ == '__main__':
    main()
