"""Programs with injected bugs and with legal rewrites, for calibrate_shadow.py.

A case has the types of its arguments and the lines of three entry computations: the program, the program with a bug, and a
program that differs by associativity, by the order of sums or by fusion alone. `<<a|b|c>>` in `lines` stands for a in the
first, b in the second and c in the third; `\\n` separates lines within an alternative."""

import dataclasses
import re


@dataclasses.dataclass
class Case:
    name: str
    bug: str
    arguments: list
    lines: str
    fill: str = ""  # Further flags of hlo-run for the arguments.

    def module(self, which):
        text = re.sub(r"<<(.*?)>>", lambda m: m.group(1).split("|")[which], self.lines, flags=re.DOTALL)
        parameters = [f"p{i} = {shape} parameter({i})" for i, shape in enumerate(self.arguments)]
        body = [line.strip() for line in text.replace("\\n", "\n").splitlines() if line.strip()]
        return "HloModule m\n" + COMPUTATIONS + "ENTRY e {\n" + "\n".join("  " + line for line in parameters + body) + "\n}\n"


def scalar_computation(name, opcode, kind):
    return f"{name}_{kind} {{\n  x = {kind}[] parameter(0)\n  y = {kind}[] parameter(1)\n  ROOT r = {kind}[] {opcode}(x, y)\n}}\n"


COMPUTATIONS = "".join(scalar_computation(name, opcode, kind) for name, opcode in
                       [("add", "add"), ("max", "maximum"), ("min", "minimum"), ("mul", "multiply")]
                       for kind in ("f32", "f16", "bf16", "f64")) + """cond {
  s = (s32[], f32[64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(8)
  ROOT l = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  h = f32[64] get-tuple-element(s), index=1
  w = f32[64,64] get-tuple-element(s), index=2
  z = f32[64] dot(w, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64] tanh(z)
  ROOT r = (s32[], f32[64], f32[64,64]) tuple(j, t, w)
}
body_transposed {
  s = (s32[], f32[64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  h = f32[64] get-tuple-element(s), index=1
  w = f32[64,64] get-tuple-element(s), index=2
  z = f32[64] dot(w, h), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  t = f32[64] tanh(z)
  ROOT r = (s32[], f32[64], f32[64,64]) tuple(j, t, w)
}
body_summed {
  s = (s32[], f32[64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  h = f32[64] get-tuple-element(s), index=1
  w = f32[64,64] get-tuple-element(s), index=2
  hb = f32[64,64] broadcast(h), dimensions={1}
  p = f32[64,64] multiply(w, hb)
  back = f32[64,64] reverse(p), dimensions={1}
  zero = f32[] constant(0)
  z = f32[64] reduce(back, zero), dimensions={1}, to_apply=add_f32
  t = f32[64] tanh(z)
  ROOT r = (s32[], f32[64], f32[64,64]) tuple(j, t, w)
}
body_short {
  s = (s32[], f32[64], f32[64,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  two = s32[] constant(2)
  j = s32[] add(i, two)
  h = f32[64] get-tuple-element(s), index=1
  w = f32[64,64] get-tuple-element(s), index=2
  z = f32[64] dot(w, h), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[64] tanh(z)
  ROOT r = (s32[], f32[64], f32[64,64]) tuple(j, t, w)
}
"""

# Returns the lines that compute the exponentials of a softmax along dimension 1 of x.
SOFTMAX = """
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  m = f32[32] reduce(x, low), dimensions={1}, to_apply=max_f32
  mb = f32[32,128] broadcast(m), dimensions={0}
  d = f32[32,128] subtract(x, mb)
  e = f32[32,128] exponential(d)
"""
SUM_OF_EXPONENTIALS = """
  s = f32[32] reduce(e, zero), dimensions={1}, to_apply=add_f32
  sb = f32[32,128] broadcast(s), dimensions={0}
"""
MEAN = """
  zero = f32[] constant(0)
  n = f32[] constant(256)
  nb = f32[64] broadcast(n), dimensions={}
  sum = f32[64] reduce(x, zero), dimensions={1}, to_apply=add_f32
  mean = f32[64] divide(sum, nb)
  meanb = f32[64,256] broadcast(mean), dimensions={0}
  c = f32[64,256] subtract(x, meanb)
"""
DOT = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
MLP = "f32[32,64]", "f32[64,96]", "f32[96,48]"

CASES = [
    Case("sum of rows", "wrong axis", ["f32[64,64]"], """
      zero = f32[] constant(0)
      <<x = f32[64,64] copy(p0)|x = f32[64,64] transpose(p0), dimensions={1,0}|x = f32[64,64] reverse(p0), dimensions={1}>>
      ROOT r = f32[64] reduce(x, zero), dimensions={1}, to_apply=add_f32"""),
    Case("mean", "off by one in the count", ["f32[1024]"], """
      zero = f32[] constant(0)
      <<x = f32[1024] copy(p0)|x = f32[1024] copy(p0)|x = f32[1024] reverse(p0), dimensions={0}>>
      s = f32[] reduce(x, zero), dimensions={0}, to_apply=add_f32
      n = f32[] constant(<<1024|1023|1024>>)
      ROOT r = f32[] divide(s, n)""", "--range 0:1"),
    Case("sum of bf16", "missing upcast", ["bf16[4096]"], """
      <<x = f32[4096] convert(p0)\\n zero = f32[] constant(0)\\n ROOT r = f32[] reduce(x, zero), dimensions={0}, to_apply=add_f32
      |h = bf16[2,2048] reshape(p0)\\n zero = bf16[] constant(0)\\n s = bf16[2048] reduce(h, zero), dimensions={0}, to_apply=add_bf16
        k = bf16[] reduce(s, zero), dimensions={0}, to_apply=add_bf16\\n ROOT r = f32[] convert(k)
      |x = f32[4096] convert(p0)\\n zero = f32[] constant(0)\\n h = f32[64,64] reshape(x)\\n s = f32[64] reduce(h, zero), dimensions={0}, to_apply=add_f32
        ROOT r = f32[] reduce(s, zero), dimensions={0}, to_apply=add_f32>>""", "--range 0:1"),
    Case("sum with an initial value", "wrong initial value", ["f32[512]"], """
      zero = f32[] constant(<<0|1|0>>)
      <<x = f32[512] copy(p0)|x = f32[512] copy(p0)|x = f32[512] reverse(p0), dimensions={0}>>
      ROOT r = f32[] reduce(x, zero), dimensions={0}, to_apply=add_f32"""),
    Case("difference", "swapped operands", ["f32[256]", "f32[256]", "f32[256]"], """
      d = f32[256] <<subtract(p0, p1)|subtract(p1, p0)|subtract(p0, p1)>>
      <<ROOT r = f32[256] multiply(d, p2)|ROOT r = f32[256] multiply(d, p2)
      |u = f32[256] multiply(p0, p2)\\n v = f32[256] multiply(p1, p2)\\n ROOT r = f32[256] subtract(u, v)>>"""),
    Case("dot of f32", "f16 accumulation", ["f32[32,512]", "f32[512,32]"], """
      <<ROOT r = f32[32,32] dot(p0, p1), DOT
      |a = f16[32,512] convert(p0)\\n b = f16[512,32] convert(p1)\\n d = f16[32,32] dot(a, b), DOT\\n ROOT r = f32[32,32] convert(d)
      |a = f32[32,256] slice(p0), slice={[0:32], [0:256]}\\n b = f32[256,32] slice(p1), slice={[0:256], [0:32]}
       c = f32[32,256] slice(p0), slice={[0:32], [256:512]}\\n d = f32[256,32] slice(p1), slice={[256:512], [0:32]}
       x = f32[32,32] dot(a, b), DOT\\n y = f32[32,32] dot(c, d), DOT\\n ROOT r = f32[32,32] add(y, x)>>"""),
    Case("masked sum", "dropped mask", ["f32[64,256]", "f32[64,256]"], """
      zero = f32[] constant(0)
      z = f32[64,256] broadcast(zero), dimensions={}
      m = pred[64,256] compare(p1, z), direction=GT
      <<x = f32[64,256] select(m, p0, z)|x = f32[64,256] copy(p0)|y = f32[64,256] select(m, p0, z)\\n x = f32[64,256] reverse(y), dimensions={1}>>
      ROOT r = f32[64] reduce(x, zero), dimensions={1}, to_apply=add_f32"""),
    Case("softmax", "sum over the wrong axis", ["f32[32,128]"], """
      x = f32[32,128] copy(p0)
      """ + SOFTMAX + """
      <<""" + SUM_OF_EXPONENTIALS + """ ROOT r = f32[32,128] divide(e, sb)
      |s = f32[128] reduce(e, zero), dimensions={0}, to_apply=add_f32\\n sb = f32[32,128] broadcast(s), dimensions={1}\\n ROOT r = f32[32,128] divide(e, sb)
      |""" + SUM_OF_EXPONENTIALS + """ one = f32[] constant(1)\\n ones = f32[32,128] broadcast(one), dimensions={}\\n q = f32[32,128] divide(ones, sb)
       ROOT r = f32[32,128] multiply(q, e)>>"""),
    Case("log-sum-exp", "maximum not added back", ["f32[32,128]"], """
      x = f32[32,128] copy(p0)
      """ + SOFTMAX + """
      <<t = f32[32,128] copy(e)|t = f32[32,128] copy(e)|t = f32[32,128] reverse(e), dimensions={1}>>
      s = f32[32] reduce(t, zero), dimensions={1}, to_apply=add_f32
      l = f32[32] log(s)
      <<ROOT r = f32[32] add(l, m)|ROOT r = f32[32] copy(l)|ROOT r = f32[32] add(m, l)>>"""),
    Case("layer norm", "variance divided by n - 1", ["f32[64,256]"], """
      x = f32[64,256] copy(p0)
      """ + MEAN + """
      q = f32[64,256] multiply(c, c)
      <<t = f32[64,256] copy(q)|t = f32[64,256] copy(q)|t = f32[64,256] reverse(q), dimensions={1}>>
      v = f32[64] reduce(t, zero), dimensions={1}, to_apply=add_f32
      k = f32[] constant(<<256|255|256>>)
      kb = f32[64] broadcast(k), dimensions={}
      var = f32[64] divide(v, kb)
      eps = f32[] constant(1e-5)
      epsb = f32[64] broadcast(eps), dimensions={}
      vare = f32[64] add(var, epsb)
      <<i = f32[64] rsqrt(vare)\\n ib = f32[64,256] broadcast(i), dimensions={0}\\n ROOT r = f32[64,256] multiply(c, ib)
      |i = f32[64] rsqrt(vare)\\n ib = f32[64,256] broadcast(i), dimensions={0}\\n ROOT r = f32[64,256] multiply(c, ib)
      |i = f32[64] sqrt(vare)\\n ib = f32[64,256] broadcast(i), dimensions={0}\\n ROOT r = f32[64,256] divide(c, ib)>>"""),
    Case("layer norm of small values", "missing epsilon", ["f32[64,256]"], """
      x = f32[64,256] copy(p0)
      """ + MEAN + """
      q = f32[64,256] multiply(c, c)
      <<t = f32[64,256] copy(q)|t = f32[64,256] copy(q)|t = f32[64,256] reverse(q), dimensions={1}>>
      v = f32[64] reduce(t, zero), dimensions={1}, to_apply=add_f32
      var = f32[64] divide(v, nb)
      eps = f32[] constant(<<1e-5|0|1e-5>>)
      epsb = f32[64] broadcast(eps), dimensions={}
      vare = f32[64] add(var, epsb)
      i = f32[64] rsqrt(vare)
      ib = f32[64,256] broadcast(i), dimensions={0}
      ROOT r = f32[64,256] multiply(c, ib)""", "--range -0.01:0.01"),
    Case("root mean square norm", "mean subtracted", ["f32[64,256]", "f32[256]"], """
      x = f32[64,256] copy(p0)
      """ + MEAN + """
      <<y = f32[64,256] copy(x)|y = f32[64,256] copy(c)|y = f32[64,256] copy(x)>>
      q = f32[64,256] multiply(y, y)
      v = f32[64] reduce(q, zero), dimensions={1}, to_apply=add_f32
      var = f32[64] divide(v, nb)
      i = f32[64] rsqrt(var)
      ib = f32[64,256] broadcast(i), dimensions={0}
      g = f32[64,256] broadcast(p1), dimensions={1}
      <<a = f32[64,256] multiply(x, ib)\\n ROOT r = f32[64,256] multiply(a, g)|a = f32[64,256] multiply(y, ib)\\n ROOT r = f32[64,256] multiply(a, g)
      |a = f32[64,256] multiply(ib, g)\\n ROOT r = f32[64,256] multiply(x, a)>>"""),
    Case("dense layers with relu", "missing relu", list(MLP), """
      h = f32[32,96] dot(p0, p1), DOT
      zero = f32[] constant(0)
      z = f32[32,96] broadcast(zero), dimensions={}
      <<a = f32[32,96] maximum(h, z)|a = f32[32,96] copy(h)|g = pred[32,96] compare(h, z), direction=GT\\n a = f32[32,96] select(g, h, z)>>
      ROOT r = f32[32,48] dot(a, p2), DOT"""),
    Case("dense layers with tanh gelu", "wrong constant", list(MLP), """
      h = f32[32,96] dot(p0, p1), DOT
      k = f32[] constant(<<0.044715|0.04715|0.044715>>)
      kb = f32[32,96] broadcast(k), dimensions={}
      h2 = f32[32,96] multiply(h, h)
      h3 = f32[32,96] <<multiply(h2, h)|multiply(h2, h)|multiply(h, h2)>>
      t = f32[32,96] multiply(h3, kb)
      u = f32[32,96] add(h, t)
      c = f32[] constant(0.7978845608)
      cb = f32[32,96] broadcast(c), dimensions={}
      v = f32[32,96] multiply(u, cb)
      w = f32[32,96] tanh(v)
      one = f32[] constant(1)
      ones = f32[32,96] broadcast(one), dimensions={}
      y = f32[32,96] add(w, ones)
      half = f32[] constant(0.5)
      halves = f32[32,96] broadcast(half), dimensions={}
      <<a = f32[32,96] multiply(h, halves)\\n g = f32[32,96] multiply(a, y)|a = f32[32,96] multiply(h, halves)\\n g = f32[32,96] multiply(a, y)
      |a = f32[32,96] multiply(y, halves)\\n g = f32[32,96] multiply(a, h)>>
      ROOT r = f32[32,48] dot(g, p2), DOT"""),
    Case("attention", "missing scale", ["f32[32,64]", "f32[128,64]", "f32[128,64]"], """
      k = f32[] constant(<<0.125|1|0.125>>)
      kb = f32[32,128] broadcast(k), dimensions={}
      <<a = f32[32,128] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={1}\\n x = f32[32,128] multiply(a, kb)
      |a = f32[32,128] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={1}\\n x = f32[32,128] multiply(a, kb)
      |kq = f32[32,64] broadcast(k), dimensions={}\\n q = f32[32,64] multiply(p0, kq)\\n x = f32[32,128] dot(q, p1), lhs_contracting_dims={1}, rhs_contracting_dims={1}>>
      """ + SOFTMAX + SUM_OF_EXPONENTIALS + """
      <<w = f32[32,128] divide(e, sb)\\n ROOT r = f32[32,64] dot(w, p2), DOT
      |w = f32[32,128] divide(e, sb)\\n ROOT r = f32[32,64] dot(w, p2), DOT
      |o = f32[32,64] dot(e, p2), DOT\\n so = f32[32,64] broadcast(s), dimensions={0}\\n ROOT r = f32[32,64] divide(o, so)>>"""),
    Case("causal attention", "mask off by one", ["f32[32,128]", "f32[128,64]"], """
      i = s32[32,128] iota(), iota_dimension=0
      j = s32[32,128] iota(), iota_dimension=1
      keep = pred[32,128] compare(j, i), direction=<<LE|LT|LE>>
      off = f32[] constant(-1e9)
      offb = f32[32,128] broadcast(off), dimensions={}
      x = f32[32,128] select(keep, p0, offb)
      """ + SOFTMAX + SUM_OF_EXPONENTIALS + """
      <<w = f32[32,128] divide(e, sb)\\n ROOT r = f32[32,64] dot(w, p1), DOT
      |w = f32[32,128] divide(e, sb)\\n ROOT r = f32[32,64] dot(w, p1), DOT
      |o = f32[32,64] dot(e, p1), DOT\\n so = f32[32,64] broadcast(s), dimensions={0}\\n ROOT r = f32[32,64] divide(o, so)>>"""),
    Case("product with a transposed matrix", "missing transpose", ["f32[48,48]", "f32[48,48]"], """
      <<ROOT r = f32[48,48] dot(p0, p1), lhs_contracting_dims={1}, rhs_contracting_dims={1}|ROOT r = f32[48,48] dot(p0, p1), DOT
      |t = f32[48,48] transpose(p1), dimensions={1,0}\\n u = f32[48,48] reverse(p0), dimensions={1}\\n v = f32[48,48] reverse(t), dimensions={0}
       ROOT r = f32[48,48] dot(u, v), DOT>>"""),
    Case("chain of products", "swapped operands", ["f32[32,32]", "f32[32,32]", "f32[32,32]"], """
      <<a = f32[32,32] dot(p0, p1), DOT\\n ROOT r = f32[32,32] dot(a, p2), DOT|a = f32[32,32] dot(p1, p0), DOT\\n ROOT r = f32[32,32] dot(a, p2), DOT
      |a = f32[32,32] dot(p1, p2), DOT\\n ROOT r = f32[32,32] dot(p0, a), DOT>>"""),
    Case("convolution", "wrong padding", ["f32[2,16,16,8]", "f32[3,3,8,12]"], """
      <<ROOT r = f32[2,16,16,12] convolution(p0, p1), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
      |ROOT r = f32[2,16,16,12] convolution(p0, p1), window={size=3x3 pad=2_0x1_1}, dim_labels=b01f_01io->b01f
      |a = f32[2,16,16,4] slice(p0), slice={[0:2], [0:16], [0:16], [0:4]}\\n b = f32[3,3,4,12] slice(p1), slice={[0:3], [0:3], [0:4], [0:12]}
       c = f32[2,16,16,4] slice(p0), slice={[0:2], [0:16], [0:16], [4:8]}\\n d = f32[3,3,4,12] slice(p1), slice={[0:3], [0:3], [4:8], [0:12]}
       x = f32[2,16,16,12] convolution(a, b), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
       y = f32[2,16,16,12] convolution(c, d), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
       ROOT r = f32[2,16,16,12] add(x, y)>>"""),
    Case("convolution with a flipped kernel", "kernel not flipped", ["f32[1,64,4]", "f32[5,4,6]"], """
      <<k = f32[5,4,6] reverse(p1), dimensions={0}\\n ROOT r = f32[1,60,6] convolution(p0, k), window={size=5}, dim_labels=b0f_0io->b0f
      |ROOT r = f32[1,60,6] convolution(p0, p1), window={size=5}, dim_labels=b0f_0io->b0f
      |ROOT r = f32[1,60,6] convolution(p0, p1), window={size=5 rhs_reversal=1}, dim_labels=b0f_0io->b0f>>"""),
    Case("average pooling", "window of the wrong size", ["f32[1,32,32,4]"], """
      zero = f32[] constant(0)
      s = <<f32[1,31,31,4] reduce-window(p0, zero), window={size=1x2x2x1}, to_apply=add_f32
      |f32[1,31,31,4] reduce-window(p0, zero), window={size=1x2x1x1 pad=0_0x0_0x0_-1x0_0}, to_apply=add_f32
      |f32[1,31,31,4] reduce-window(p0, zero), window={size=1x2x2x1}, to_apply=add_f32>>
      k = f32[] constant(0.25)
      kb = f32[1,31,31,4] broadcast(k), dimensions={}
      ROOT r = f32[1,31,31,4] multiply(s, kb)"""),
    Case("maximum pooling", "initial value 0", ["f32[1,32,32,4]"], """
      low = f32[] constant(<<-inf|0|-inf>>)
      <<x = f32[1,32,32,4] copy(p0)|x = f32[1,32,32,4] copy(p0)|x = f32[1,32,32,4] copy(p0)>>
      m = f32[1,16,16,4] reduce-window(x, low), window={size=1x2x2x1 stride=1x2x2x1}, to_apply=max_f32
      e = f32[1,16,16,4] exponential(m)
      zero = f32[] constant(0)
      <<t = f32[1,16,16,4] copy(e)|t = f32[1,16,16,4] copy(e)|t = f32[1,16,16,4] reverse(e), dimensions={1,2}>>
      ROOT r = f32[4] reduce(t, zero), dimensions={0,1,2}, to_apply=add_f32"""),
    Case("cumulative sum", "exclusive instead of inclusive", ["f32[512]"], """
      zero = f32[] constant(0)
      <<ROOT r = f32[512] reduce-window(p0, zero), window={size=512 pad=511_0}, to_apply=add_f32
      |ROOT r = f32[512] reduce-window(p0, zero), window={size=512 pad=512_-1}, to_apply=add_f32
      |x = f32[512] reverse(p0), dimensions={0}\\n s = f32[512] reduce-window(x, zero), window={size=512 pad=0_511}, to_apply=add_f32
       ROOT r = f32[512] reverse(s), dimensions={0}>>"""),
    Case("recurrent network", "transposed weights", ["f32[64]", "f32[64,64]"], """
      i = s32[] constant(0)
      t = (s32[], f32[64], f32[64,64]) tuple(i, p0, p1)
      w = (s32[], f32[64], f32[64,64]) while(t), condition=cond, body=<<body|body_transposed|body_summed>>
      ROOT r = f32[64] get-tuple-element(w), index=1""", "--range -0.2:0.2"),
    Case("recurrent network, steps", "half of the iterations", ["f32[64]", "f32[64,64]"], """
      i = s32[] constant(0)
      t = (s32[], f32[64], f32[64,64]) tuple(i, p0, p1)
      w = (s32[], f32[64], f32[64,64]) while(t), condition=cond, body=<<body|body_short|body_summed>>
      ROOT r = f32[64] get-tuple-element(w), index=1""", "--range -0.2:0.2"),
    Case("embedding", "index off by one", ["f32[100,32]", "s32[16]"], """
      one = s32[] constant(<<0|1|0>>)
      ones = s32[16] broadcast(one), dimensions={}
      i = s32[16] add(p1, ones)
      g = f32[16,32] gather(p0, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,32}
      zero = f32[] constant(0)
      <<x = f32[16,32] copy(g)|x = f32[16,32] copy(g)|x = f32[16,32] reverse(g), dimensions={0}>>
      ROOT r = f32[32] reduce(x, zero), dimensions={0}, to_apply=add_f32"""),
    Case("gradient of an embedding", "updates overwrite instead of adding", ["f32[8,16]", "s32[64]", "f32[64,16]"], """
      <<u = f32[64,16] copy(p2)\\n i = s32[64] copy(p1)|u = f32[64,16] copy(p2)\\n i = s32[64] copy(p1)
      |u = f32[64,16] reverse(p2), dimensions={0}\\n i = s32[64] reverse(p1), dimensions={0}>>
      ROOT r = f32[8,16] scatter(p0, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=<<add_f32|max_f32|add_f32>>"""),
    Case("squared distances", "wrong sign", ["f32[48,32]", "f32[40,32]"], """
      zero = f32[] constant(0)
      a = f32[48,40,32] broadcast(p0), dimensions={0,2}
      b = f32[48,40,32] broadcast(p1), dimensions={1,2}
      d = f32[48,40,32] <<subtract(a, b)|add(a, b)|subtract(b, a)>>
      q = f32[48,40,32] multiply(d, d)
      <<x = f32[48,40,32] copy(q)|x = f32[48,40,32] copy(q)|x = f32[48,40,32] reverse(q), dimensions={2}>>
      ROOT r = f32[48,40] reduce(x, zero), dimensions={2}, to_apply=add_f32"""),
    Case("cosine similarity", "norm without its root", ["f32[64,128]", "f32[64,128]"], """
      zero = f32[] constant(0)
      ab = f32[64,128] multiply(p0, p1)
      aa = f32[64,128] multiply(p0, p0)
      bb = f32[64,128] multiply(p1, p1)
      s = f32[64] reduce(ab, zero), dimensions={1}, to_apply=add_f32
      t = f32[64] reduce(aa, zero), dimensions={1}, to_apply=add_f32
      u = f32[64] reduce(bb, zero), dimensions={1}, to_apply=add_f32
      <<v = f32[64] sqrt(t)\\n w = f32[64] sqrt(u)\\n n = f32[64] multiply(v, w)\\n ROOT r = f32[64] divide(s, n)
      |v = f32[64] sqrt(t)\\n n = f32[64] multiply(v, u)\\n ROOT r = f32[64] divide(s, n)
      |v = f32[64] multiply(t, u)\\n w = f32[64] rsqrt(v)\\n ROOT r = f32[64] multiply(s, w)>>"""),
    Case("cross entropy", "mean over the wrong count", ["f32[32,128]", "f32[32,128]"], """
      x = f32[32,128] copy(p0)
      """ + SOFTMAX + SUM_OF_EXPONENTIALS + """
      l = f32[32,128] log(sb)
      y = f32[32,128] subtract(d, l)
      z = f32[32,128] multiply(y, p1)
      <<t = f32[32,128] copy(z)|t = f32[32,128] copy(z)|t = f32[32,128] reverse(z), dimensions={0,1}>>
      total = f32[] reduce(t, zero), dimensions={0,1}, to_apply=add_f32
      k = f32[] constant(<<-32|-128|-32>>)
      ROOT r = f32[] divide(total, k)""", "--range 0:1"),
    Case("adam update", "missing bias correction", ["f32[1024]", "f32[1024]", "f32[1024]"], """
      b = f32[] constant(0.1)
      bb = f32[1024] broadcast(b), dimensions={}
      <<m = f32[1024] divide(p1, bb)|m = f32[1024] copy(p1)|m = f32[1024] divide(p1, bb)>>
      v = f32[1024] abs(p2)
      s = f32[1024] sqrt(v)
      eps = f32[] constant(1e-8)
      epsb = f32[1024] broadcast(eps), dimensions={}
      n = f32[1024] add(s, epsb)
      rate = f32[] constant(0.001)
      rb = f32[1024] broadcast(rate), dimensions={}
      <<u = f32[1024] divide(m, n)\\n d = f32[1024] multiply(u, rb)|u = f32[1024] divide(m, n)\\n d = f32[1024] multiply(u, rb)
      |u = f32[1024] multiply(m, rb)\\n d = f32[1024] divide(u, n)>>
      ROOT r = f32[1024] subtract(p0, d)"""),
    Case("momentum", "wrong sign of the gradient", ["f32[1024]", "f32[1024]", "f32[1024]"], """
      k = f32[] constant(0.9)
      kb = f32[1024] broadcast(k), dimensions={}
      m = f32[1024] multiply(p1, kb)
      <<n = f32[1024] add(m, p2)\\n ROOT r = f32[1024] subtract(p0, n)|n = f32[1024] subtract(m, p2)\\n ROOT r = f32[1024] subtract(p0, n)
      |n = f32[1024] subtract(p0, m)\\n ROOT r = f32[1024] subtract(n, p2)>>"""),
    Case("sum of four arrays", "one array twice", ["f32[512]", "f32[512]", "f32[512]", "f32[512]"], """
      <<a = f32[512] add(p0, p1)\\n b = f32[512] add(a, p2)\\n ROOT r = f32[512] add(b, p3)
      |a = f32[512] add(p0, p1)\\n b = f32[512] add(a, p2)\\n ROOT r = f32[512] add(b, p2)
      |a = f32[512] add(p2, p3)\\n b = f32[512] add(p0, p1)\\n ROOT r = f32[512] add(b, a)>>"""),
    Case("cubic polynomial", "wrong coefficient", ["f32[512]"], """
      three = f32[] constant(3)
      a = f32[512] broadcast(three), dimensions={}
      two = f32[] constant(<<2|-2|2>>)
      b = f32[512] broadcast(two), dimensions={}
      <<u = f32[512] multiply(p0, a)\\n v = f32[512] add(u, b)\\n w = f32[512] multiply(v, p0)\\n ROOT r = f32[512] add(w, a)
      |u = f32[512] multiply(p0, a)\\n v = f32[512] add(u, b)\\n w = f32[512] multiply(v, p0)\\n ROOT r = f32[512] add(w, a)
      |s = f32[512] multiply(p0, p0)\\n u = f32[512] multiply(s, a)\\n v = f32[512] multiply(p0, b)\\n w = f32[512] add(u, a)\\n ROOT r = f32[512] add(w, v)>>""",
         "--range 0:1"),
    Case("sine and cosine", "missing phase", ["f32[512]", "f32[512]"], """
      x = f32[512] <<add(p0, p1)|copy(p0)|add(p1, p0)>>
      s = f32[512] sine(x)
      c = f32[512] cosine(x)
      ROOT r = f32[512] multiply(s, c)"""),
    Case("norm of f16", "f16 accumulation", ["f16[16,512]"], """
      <<x = f32[16,512] convert(p0)\\n q = f32[16,512] multiply(x, x)\\n zero = f32[] constant(0)\\n s = f32[16] reduce(q, zero), dimensions={1}, to_apply=add_f32\\n ROOT r = f32[16] sqrt(s)
      |q = f16[16,512] multiply(p0, p0)\\n zero = f16[] constant(0)\\n s = f16[16] reduce(q, zero), dimensions={1}, to_apply=add_f16
       u = f32[16] convert(s)\\n ROOT r = f32[16] sqrt(u)
      |x = f32[16,512] convert(p0)\\n q = f32[16] dot(x, x), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}\\n ROOT r = f32[16] sqrt(q)>>"""),
    Case("bf16 layer", "bias dropped", ["bf16[32,64]", "bf16[64,48]", "bf16[48]"], """
      <<d = bf16[32,48] dot(p0, p1), DOT\\n b = bf16[32,48] broadcast(p2), dimensions={1}\\n ROOT r = bf16[32,48] add(d, b)
      |ROOT r = bf16[32,48] dot(p0, p1), DOT
      |x = f32[32,64] convert(p0)\\n w = f32[64,48] convert(p1)\\n c = f32[48] convert(p2)\\n d = f32[32,48] dot(x, w), DOT
       b = f32[32,48] broadcast(c), dimensions={1}\\n s = f32[32,48] add(d, b)\\n ROOT r = bf16[32,48] convert(s)>>"""),
    Case("bf16 chain", "missing square", ["bf16[1024]", "bf16[1024]"], """
      <<a = bf16[1024] multiply(p0, p0)\\n b = bf16[1024] add(a, p1)\\n ROOT r = bf16[1024] exponential(b)
      |b = bf16[1024] add(p0, p1)\\n ROOT r = bf16[1024] exponential(b)
      |x = f32[1024] convert(p0)\\n y = f32[1024] convert(p1)\\n a = f32[1024] multiply(x, x)\\n b = f32[1024] add(a, y)\\n e = f32[1024] exponential(b)\\n ROOT r = bf16[1024] convert(e)>>"""),
    Case("sum of f64", "f32 accumulation", ["f64[2048]"], """
      <<zero = f64[] constant(0)\\n ROOT r = f64[] reduce(p0, zero), dimensions={0}, to_apply=add_f64
      |x = f32[2048] convert(p0)\\n zero = f32[] constant(0)\\n s = f32[] reduce(x, zero), dimensions={0}, to_apply=add_f32\\n ROOT r = f64[] convert(s)
      |zero = f64[] constant(0)\\n x = f64[2,1024] reshape(p0)\\n s = f64[1024] reduce(x, zero), dimensions={0}, to_apply=add_f64\\n ROOT r = f64[] reduce(s, zero), dimensions={0}, to_apply=add_f64>>"""),
    Case("product of f64 matrices", "operands rounded to f32", ["f64[32,64]", "f64[64,32]"], """
      <<ROOT r = f64[32,32] dot(p0, p1), DOT|a = f32[32,64] convert(p0)\\n b = f32[64,32] convert(p1)\\n d = f32[32,32] dot(a, b), DOT\\n ROOT r = f64[32,32] convert(d)
      |u = f64[32,64] reverse(p0), dimensions={1}\\n v = f64[64,32] reverse(p1), dimensions={0}\\n ROOT r = f64[32,32] dot(u, v), DOT>>"""),
    Case("stencil", "neighbour twice", ["f32[258]"], """
      a = f32[256] slice(p0), slice={[0:256]}
      b = f32[256] slice(p0), slice={[1:257]}
      c = f32[256] slice(p0), slice=<<{[2:258]}|{[1:257]}|{[2:258]}>>
      two = f32[] constant(2)
      tb = f32[256] broadcast(two), dimensions={}
      m = f32[256] multiply(b, tb)
      <<s = f32[256] add(a, c)\\n ROOT r = f32[256] subtract(s, m)|s = f32[256] add(a, c)\\n ROOT r = f32[256] subtract(s, m)
      |s = f32[256] subtract(a, m)\\n ROOT r = f32[256] add(s, c)>>"""),
    Case("variance scale", "scale applied before the sum of squares", ["f32[1024]"], """
      zero = f32[] constant(0)
      k = f32[] constant(0.5)
      kb = f32[1024] broadcast(k), dimensions={}
      <<q = f32[1024] multiply(p0, p0)\\n y = f32[1024] multiply(q, kb)|x = f32[1024] multiply(p0, kb)\\n y = f32[1024] multiply(x, x)
      |x = f32[1024] multiply(p0, kb)\\n y = f32[1024] multiply(x, p0)>>
      ROOT r = f32[] reduce(y, zero), dimensions={0}, to_apply=add_f32"""),
    Case("sorted values", "descending instead of ascending", ["f32[256]", "f32[256]"], """
      <<x = f32[256] add(p0, p1)|x = f32[256] add(p0, p1)|x = f32[256] add(p1, p0)>>
      s = f32[256] sort(x), dimensions={0}, to_apply=<<less|greater|less>>
      i = f32[256] iota(), iota_dimension=0
      w = f32[256] multiply(s, i)
      zero = f32[] constant(0)
      <<t = f32[256] copy(w)|t = f32[256] copy(w)|t = f32[256] reverse(w), dimensions={0}>>
      ROOT r = f32[] reduce(t, zero), dimensions={0}, to_apply=add_f32"""),
    Case("spectrum", "missing normalisation", ["f32[256]"], """
      f = c64[129] fft(p0), fft_type=RFFT, fft_length={256}
      a = f32[129] <<abs(f)|real(f)|abs(f)>>
      k = f32[] constant(256)
      kb = f32[129] broadcast(k), dimensions={}
      <<ROOT r = f32[129] divide(a, kb)|ROOT r = f32[129] divide(a, kb)|i = f32[] constant(0.00390625)\\n ib = f32[129] broadcast(i), dimensions={}\\n ROOT r = f32[129] multiply(a, ib)>>"""),
    Case("product of probabilities", "one factor missing", ["f32[64,8]"], """
      one = f32[] constant(1)
      <<x = f32[64,8] copy(p0)\\n ROOT r = f32[64] reduce(x, one), dimensions={1}, to_apply=mul_f32
      |x = f32[64,7] slice(p0), slice={[0:64], [0:7]}\\n ROOT r = f32[64] reduce(x, one), dimensions={1}, to_apply=mul_f32
      |x = f32[64,8] reverse(p0), dimensions={1}\\n ROOT r = f32[64] reduce(x, one), dimensions={1}, to_apply=mul_f32>>""", "--range 0.1:1"),
]
for case in CASES:
    case.lines = case.lines.replace("DOT", DOT)
COMPUTATIONS += "".join(f"{name} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = pred[] compare(a, b), direction={direction}\n}}\n"
                        for name, direction in (("less", "LT"), ("greater", "GT")))
