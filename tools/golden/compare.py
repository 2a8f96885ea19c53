"""Compares results by the rules of a case, in NumPy; `hlo-run check` has its own implementation."""
import re

import numpy as np
from arguments import DTYPES

RESULT = re.compile(r'entry_computation_layout=\{.*?\)->(.*?)\}(?:, \w+=|\n)', re.S)
ELEMENT = re.compile(r'\b(pred|bf16|[sufc]\d\w*)\[')
SMALL = {name: t for name, t in DTYPES.items() if np.dtype(t).isbuiltin != 1}  # stored as unsigned integers


def result_types(text):
    """Returns the element types of the array leaves of the entry computation's result."""
    return ELEMENT.findall(RESULT.search(text).group(1))


def ordered(x):
    """Returns the ordinals of representable values, whose differences are ULPs; both zeros are 0."""
    width = x.dtype.itemsize
    code = x.view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[width]).astype(object)
    sign = 1 << (8 * width - 1)
    return np.vectorize(lambda c: c if c < sign else sign - c, otypes=[object])(code) if code.size else code


def mismatch(got, want, rule):
    """Returns None or a description of the mismatch."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f'is {got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}'
    if got.dtype.kind in 'biu':
        return None if np.array_equal(got, want) else 'differs'
    if rule['kind'] == 'ulp' and got.dtype.kind == 'c':
        return mismatch(got.real.copy(), want.real.copy(), rule) or mismatch(got.imag.copy(), want.imag.copy(), rule)
    wide = np.complex128 if got.dtype.kind == 'c' else np.float64
    g, w = got.astype(wide), want.astype(wide)
    special = ~(np.isfinite(g) & np.isfinite(w))
    if not np.array_equal(g[special], w[special], equal_nan=True):
        return 'differs in an infinity or NaN'
    if rule['kind'] == 'exact':
        same = np.array_equal(g, w, equal_nan=True) and np.array_equal(np.signbit(g.real) | np.isnan(g.real),
                                                                      np.signbit(w.real) | np.isnan(w.real))
        return None if same else f'differs by {np.abs(np.where(special, 0, g) - np.where(special, 0, w)).max():.2e}'
    if rule['kind'] == 'ulp':
        apart = np.abs(ordered(got) - ordered(want))[~special]
        return None if not apart.size or apart.max() <= rule['ulp'] else f'is {apart.max()} ulp apart'
    off = np.abs(g[~special] - w[~special])
    excess = off - rule['abs'] - rule['rel'] * np.abs(w[~special])
    return None if not off.size or excess.max() <= 0 else f'is off by {off.max():.2e}, {excess.max():.2e} too much'


def outputs(case, fresh):
    """Returns a sentence for each output (an array in npz form) that violates the rules of a stored case (packs.py)."""
    found = []
    types = result_types(case['module'])
    for k, (got, want, t) in enumerate(zip(fresh, case['outputs'], types)):
        if t in SMALL:
            got, want = got.view(SMALL[t]), want.view(SMALL[t])
        wrong = mismatch(got, want, case.get('rules', {}).get(str(k), case['rule']))
        if wrong:
            found.append(f'output {k} {wrong}')
    return found
