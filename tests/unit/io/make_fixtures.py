#!/usr/bin/env python3
"""Writes data/: small files as NumPy, ml_dtypes and safetensors make them.

    python3 -m venv env && env/bin/pip install numpy ml_dtypes safetensors==0.5.3 && env/bin/python make_fixtures.py
"""
import io
import pathlib
import zipfile

import ml_dtypes
import numpy as np
import safetensors
import safetensors.numpy

DATA = pathlib.Path(__file__).resolve().parent / 'data'


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), **options)
    return out.getvalue()


def save(name, array, **options):
    (DATA / name).write_bytes(npy(array, **options))


def arrays():
    save('f32.npy', np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    save('f32_fortran.npy', np.asfortranarray(np.array([[1, 2, 3], [4, 5, 6]], np.float32)))
    save('f64_big_endian.npy', np.array([1.5, -2.5], '>f8'))
    save('c64_big_endian.npy', np.array([1 + 2j, -3.5j], '>c8'))
    save('c128.npy', np.array([1 + 2j, -3.5j], np.complex128))
    save('s16_big_endian.npy', np.array([1, -2, 300], '>i2'))
    save('f16.npy', np.array([1, 65504, -0.0], np.float16))
    save('u64.npy', np.array([0, 2**64 - 1], np.uint64))
    save('pred.npy', np.array([True, False]))
    save('scalar.npy', np.array(7, np.int32))
    save('empty.npy', np.zeros((0, 3), np.float32))
    save('version_2.npy', np.array([1, 2], np.int8), version=(2, 0))
    save('version_3.npy', np.array([1, 2], np.int8), version=(3, 0))
    save('bf16.npy', np.array([1, -2.5, 3e38]).astype(ml_dtypes.bfloat16))
    save('bf16_as_u16.npy', np.array([1, -2.5]).astype(ml_dtypes.bfloat16).view(np.uint16))
    save('f8e4m3fn.npy', np.array([1, -448]).astype(ml_dtypes.float8_e4m3fn))
    save('f8e5m2.npy', np.array([1, -57344]).astype(ml_dtypes.float8_e5m2))
    save('s4.npy', np.array([-8, -1, 7]).astype(ml_dtypes.int4))
    save('u2.npy', np.array([0, 3]).astype(ml_dtypes.uint2))
    save('f4e2m1fn.npy', np.array([0.5, -6]).astype(ml_dtypes.float4_e2m1fn))
    save('no_s4.npy', np.array([1, 0x37], np.uint8))
    save('record.npy', np.zeros(2, [('a', np.float32), ('b', np.int8)]))
    save('text.npy', np.array(['a', 'b']))


def zips():
    f32 = np.array([1, 2], np.float32)
    s32 = np.array([[3], [4]], np.int32)
    np.savez(DATA / 'args.npz', **{'0': f32, '1.0': s32, '1.1': np.float32(5)})
    np.savez_compressed(DATA / 'deflated.npz', f32, s32)
    np.savez(DATA / 'named.npz', x=f32, extra=s32)
    with zipfile.ZipFile(DATA / 'zip64.npz', 'w') as archive:
        with archive.open('0.npy', 'w', force_zip64=True) as entry:
            entry.write(npy(f32))
    with zipfile.ZipFile(DATA / 'bomb.npz', 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr('0.npy', npy(f32) + b'\0' * 10_000_000)
    with zipfile.ZipFile(DATA / 'not_npy.npz', 'w') as archive:
        archive.writestr('0.npy', b'hello')


def tensors():
    def entry(dtype, array):
        return {'dtype': dtype, 'shape': list(array.shape), 'data': array.tobytes()}

    (DATA / 'weights.safetensors').write_bytes(safetensors.serialize({
        'layer.w': entry('bfloat16', np.array([[1, -2.5]]).astype(ml_dtypes.bfloat16)),
        'layer.f8': entry('float8_e4m3fn', np.array([1, -448]).astype(ml_dtypes.float8_e4m3fn)),
        'layer.mask': entry('bool', np.array([True, False])),
        'layer.s4': entry('uint8', np.array([-8, 7]).astype(ml_dtypes.int4)),
    }, {'format': 'np'}))
    safetensors.numpy.save_file({'0': np.array([1, 2], np.float32), '1': np.int64(-7).reshape(())},
                                DATA / 'args.safetensors')


def main():
    DATA.mkdir(exist_ok=True)
    arrays()
    zips()
    tensors()


if __name__ == '__main__':
    main()
