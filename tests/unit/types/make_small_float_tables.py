#!/usr/bin/env python3
"""Writes small_float_tables.inc: what ml_dtypes says every code of every 8-bit and narrower float means, and how it
rounds values around the ties. Run with ml_dtypes and numpy installed; the result is committed."""

import ml_dtypes
import numpy as np

TYPES = {
    "f8e5m2": "float8_e5m2", "f8e4m3": "float8_e4m3", "f8e3m4": "float8_e3m4", "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3b11fnuz": "float8_e4m3b11fnuz", "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0fnu": "float8_e8m0fnu", "f6e3m2fn": "float6_e3m2fn", "f6e2m3fn": "float6_e2m3fn", "f4e2m1fn": "float4_e2m1fn",
}
BITS = {"f6e3m2fn": 6, "f6e2m3fn": 6, "f4e2m1fn": 4}


def c_float(value):
    if np.isnan(value):
        return "NAN"
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return float(value).hex()


def main():
    print("// Written by make_small_float_tables.py from ml_dtypes", ml_dtypes.__version__ + ".")
    for name, attribute in TYPES.items():
        dtype = np.dtype(getattr(ml_dtypes, attribute))
        codes = np.arange(1 << BITS.get(name, 8), dtype=np.uint8)
        values = codes.view(dtype).astype(np.float64)
        print(f'HLO_DECODE("{name}", {{{", ".join(c_float(v) for v in values)}}})')
        # Ties between adjacent values, and their neighbours in f32 (ml_dtypes converts through f32).
        finite = np.unique(values[np.isfinite(values)])
        ties = (finite[:-1] + finite[1:]) / 2
        step = finite[-1] - finite[-2]
        probes = np.concatenate([ties, [finite[-1] + step / 2, finite[-1] + step, finite[0] - step / 2, 1e30, -1e30]])
        probes = probes.astype(np.float32)
        infinity = np.float32(np.inf)
        probes = np.unique(np.concatenate([np.nextafter(probes, -infinity), probes, np.nextafter(probes, infinity)]))
        if name == "f8e8m0fnu":
            probes = probes[np.abs(probes) > 2.0**-125]
        rounded = probes.astype(dtype).view(np.uint8)
        pairs = ", ".join(f"{{{c_float(p)}, {code}}}" for p, code in zip(probes, rounded))
        print(f'HLO_ENCODE("{name}", {{{pairs}}})')


if __name__ == "__main__":
    main()
