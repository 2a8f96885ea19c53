"""Writes data/modules.bin, data/snapshot.pb, data/*.hlo_unoptimized_snapshot.pb and the corpus of the fuzz target: messages that XLA serialised.

    python3 -m venv env && env/bin/pip install jax==0.12.0.1 && env/bin/python make_protos.py

modules.bin holds records: three numbers of four bytes, then so many bytes each of name, HloModuleProto, and text as XLA
prints the module. The modules are the first runnable case of each file in tests/cases/ops that XLA reads, and one with
tables in its header.
"""
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

os.environ['JAX_PLATFORMS'] = 'cpu'
from jaxlib import _hlo

HERE = pathlib.Path(__file__).parent
CASES = HERE.parents[1] / 'cases' / 'ops'
CORPUS = HERE.parents[1] / 'fuzz' / 'corpus' / 'proto'


def module_of(case):
    return '\n'.join(line for line in case.split('\n') if not line.startswith('//'))


def serialise(text):
    """Bytes and print, or None where XLA refuses the text or dies of it."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        options = _hlo.HloPrintOptions()
        options.print_large_constants = True
        module = _hlo.hlo_module_from_text(text)
        message = module.as_serialized_hlo_module_proto()
        with os.fdopen(write, 'wb') as pipe:
            pipe.write(struct.pack('<I', len(message)) + message + module.to_string(options).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, 'rb') as pipe:
        data = pipe.read()
    os.wait()
    if len(data) < 4:
        return None
    size, = struct.unpack('<I', data[:4])
    return data[4:4 + size], data[4 + size:]


def field(number, payload):
    """A field of bytes in the wire format."""
    def varint(value):
        out = b''
        while value > 127:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def literal(values, dims):
    """A LiteralProto of f32."""
    layout = field(1, bytes(reversed(range(len(dims)))))
    shape = b'\x10\x0b' + field(3, bytes(dims)) + field(5, layout)
    return field(1, shape) + field(8, struct.pack(f'<{len(values)}f', *values))


TABLES = """HloModule m, origin_recovery_table={
  {"a"} : {"b" {1}},
  "
  HloModule r
  ENTRY e { ROOT x = f32[] parameter(0) }
  "
  {"c"} : {"d"}
}
, debug_attributes={
  {"c"}:({log_mode=fusion_debugger,callback_id=7,partitioned=true,op_id=9},{op_id=3}),
  {"q" {2,3}}:({log_mode=default})
}
ENTRY e { ROOT p = f32[] parameter(0) }
"""


# Programs whose arguments XLA stores after the message: bits, several types, a column-major layout.
SNAPSHOTS = {
    'bits': 'flat(np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 1], bool).reshape(2, 5))',
    'types': 'flat((np.arange(6) * (1 + 1j)).astype(np.complex64).reshape(2, 3), '
             'np.arange(6).astype(jnp.bfloat16).reshape(3, 2))',
    'columns': 'jax.jit(lambda a: a * 2, in_shardings=columns)(jax.device_put(np.float32([[0, 1, 2], [3, 4, 5]]), columns))',
}
PROLOGUE = """
import jax, numpy as np, jax.numpy as jnp
from jax.experimental.layout import Format, Layout
columns = Format(Layout(major_to_minor=(1, 0)), jax.sharding.SingleDeviceSharding(jax.devices()[0]))
flat = lambda *a: jax.jit(lambda *b: [x.reshape(-1) for x in b])(*a)
"""


def unoptimized_snapshots():
    for name, program in SNAPSHOTS.items():
        with tempfile.TemporaryDirectory() as folder:
            flags = f'--xla_dump_to={folder} --xla_dump_hlo_as_proto --xla_dump_hlo_unoptimized_snapshots'
            subprocess.run([sys.executable, '-c', PROLOGUE + program], env=os.environ | {'XLA_FLAGS': flags}, check=True)
            last = sorted(pathlib.Path(folder).glob('*.hlo_unoptimized_snapshot.pb'))[-1]
            (HERE / 'data' / f'{name}.hlo_unoptimized_snapshot.pb').write_bytes(last.read_bytes())


def main():
    unoptimized_snapshots()
    records = [(b'tables', *serialise(TABLES))]
    CORPUS.mkdir(parents=True, exist_ok=True)
    for path in sorted(CASES.glob('*.hlo')):
        for case in path.read_text().split('// -----\n'):
            if '\n// run' not in case or '// foreach' in case:
                continue
            found = serialise(module_of(case))
            if found:
                records.append((path.stem.encode(), *found))
                break
    with open(HERE / 'data' / 'modules.bin', 'wb') as out:
        for record in records:
            out.write(struct.pack('<3I', *map(len, record)) + b''.join(record))

    # A handwritten run: XLA's module, and values that are exact in f32.
    message, _ = serialise('HloModule dot\nENTRY e {\n  a = f32[2,2] parameter(0)\n  b = f32[2,2] parameter(1)\n'
                           '  ROOT d = f32[2,2] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n')
    snapshot = (field(1, field(1, message)) + field(2, literal([1, 2, 3, 4], [2, 2])) +
                field(2, literal([1, 10, 100, 1000], [2, 2])) + field(3, literal([201, 2010, 403, 4030], [2, 2])))
    (HERE / 'data' / 'snapshot.pb').write_bytes(snapshot)
    wrong = snapshot[:-4] + struct.pack('<f', 4031)
    (HERE / 'data' / 'wrong_snapshot.pb').write_bytes(wrong)

    (CORPUS / 'snapshot').write_bytes(snapshot)
    (CORPUS / 'cut').write_bytes(snapshot[:200])
    by_name = {name.decode(): message for name, message, _ in records}
    for name in ['while', 'convolution', 'scatter', 'all-reduce', 'async-start', 'constant', 'sort']:
        if name in by_name:
            (CORPUS / name).write_bytes(by_name[name])
    print(len(records), 'modules')


main()
