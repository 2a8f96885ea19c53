"""More programs for calibrate_shadow.py, in the format of shadow_cases.py: backward passes, masks, windows, indices, generators,
and conversions of precision."""

import shadow_cases
from shadow_cases import Case, DOT, MEAN, SOFTMAX, SUM_OF_EXPONENTIALS

ROWS = "lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={0}, rhs_contracting_dims={1}"
CONVOLUTION = "dim_labels=b01f_01io->b01f"
MEAN_OF = """
  {0}s = f32[64] reduce({0}, zero), dimensions={{1}}, to_apply=add_f32
  {0}m = f32[64] divide({0}s, nb)
  {0}b = f32[64,256] broadcast({0}m), dimensions={{0}}
"""

CASES = [
    Case("softmax, backward", "missing sum over the row", ["f32[32,128]", "f32[32,128]"], """
      x = f32[32,128] copy(p0)
      """ + SOFTMAX + SUM_OF_EXPONENTIALS + """
      y = f32[32,128] divide(e, sb)
      g = f32[32,128] multiply(y, p1)
      <<t = f32[32] reduce(g, zero), dimensions={1}, to_apply=add_f32|t = f32[32] reduce(g, zero), dimensions={1}, to_apply=max_f32
      |t = f32[32] dot(y, p1), """ + ROWS + """>>
      tb = f32[32,128] broadcast(t), dimensions={0}
      <<k = f32[32,128] subtract(p1, tb)\\n ROOT r = f32[32,128] multiply(y, k)|k = f32[32,128] subtract(p1, tb)\\n ROOT r = f32[32,128] multiply(y, k)
      |k = f32[32,128] multiply(y, tb)\\n ROOT r = f32[32,128] subtract(g, k)>>"""),
    Case("layer norm, backward", "missing mean of the gradient", ["f32[64,256]", "f32[64,256]"], """
      x = f32[64,256] copy(p0)
      """ + MEAN + """
      q = f32[64,256] multiply(c, c)
      """ + MEAN_OF.format("q") + """
      i = f32[64,256] rsqrt(qb)
      h = f32[64,256] multiply(c, i)
      gh = f32[64,256] multiply(p1, h)
      """ + MEAN_OF.format("gh") + """
      g = f32[64,256] <<copy(p1)|copy(p1)|reverse(p1), dimensions={1}>>
      """ + MEAN_OF.format("g") + """
      hm = f32[64,256] multiply(h, ghb)
      <<a = f32[64,256] subtract(p1, gb)|a = f32[64,256] copy(p1)|a = f32[64,256] subtract(p1, gb)>>
      <<b = f32[64,256] subtract(a, hm)\\n ROOT r = f32[64,256] multiply(i, b)|b = f32[64,256] subtract(a, hm)\\n ROOT r = f32[64,256] multiply(i, b)
      |u = f32[64,256] multiply(i, a)\\n v = f32[64,256] multiply(i, hm)\\n ROOT r = f32[64,256] subtract(u, v)>>"""),
    Case("padding mask", "mask added as 0 and 1", ["f32[32,128]", "f32[32,128]"], """
      zero0 = f32[] constant(0)
      z = f32[32,128] broadcast(zero0), dimensions={}
      keep = pred[32,128] compare(p1, z), direction=GT
      off = f32[] constant(<<-1e9|-1|-1e9>>)
      offb = f32[32,128] broadcast(off), dimensions={}
      bias = f32[32,128] select(keep, z, offb)
      x = f32[32,128] add(p0, bias)
      """ + SOFTMAX + SUM_OF_EXPONENTIALS + """
      <<ROOT r = f32[32,128] divide(e, sb)|ROOT r = f32[32,128] divide(e, sb)
      |l = f32[32,128] log(sb)\\n w = f32[32,128] subtract(d, l)\\n ROOT r = f32[32,128] exponential(w)>>"""),
    Case("inverse transform", "conjugate not taken", ["f32[128]", "f32[128]"], """
      x = c64[128] complex(p0, p1)
      <<ROOT r = c64[128] fft(x), fft_type=IFFT, fft_length={128}
      |y = c64[128] fft(x), fft_type=FFT, fft_length={128}\\n k = c64[] constant((0.0078125, 0))\\n kb = c64[128] broadcast(k), dimensions={}\\n ROOT r = c64[128] multiply(y, kb)
      |n = f32[128] negate(p1)\\n w = c64[128] complex(p0, n)\\n y = c64[128] fft(w), fft_type=FFT, fft_length={128}\\n a = f32[128] real(y)\\n b = f32[128] imag(y)
       m = f32[128] negate(b)\\n z = c64[128] complex(a, m)\\n k = c64[] constant((0.0078125, 0))\\n kb = c64[128] broadcast(k), dimensions={}\\n ROOT r = c64[128] multiply(z, kb)>>"""),
    Case("low-pass filter", "one bin too many", ["f32[256]"], """
      f = c64[129] fft(p0), fft_type=RFFT, fft_length={256}
      i = s32[129] iota(), iota_dimension=0
      n = s32[] constant(16)
      nb = s32[129] broadcast(n), dimensions={}
      keep = pred[129] compare(i, nb), direction=<<LT|LE|LT>>
      zero = c64[] constant((0, 0))
      z = c64[129] broadcast(zero), dimensions={}
      <<g = c64[129] select(keep, f, z)|g = c64[129] select(keep, f, z)|w = f32[129] convert(keep)\\n c = c64[129] convert(w)\\n g = c64[129] multiply(f, c)>>
      ROOT r = f32[256] fft(g), fft_type=IRFFT, fft_length={256}"""),
    Case("cumulative product", "from the other end", ["f32[4,64]"], """
      one = f32[] constant(1)
      <<ROOT r = f32[4,64] reduce-window(p0, one), window={size=1x64 pad=0_0x63_0}, to_apply=mul_f32
      |ROOT r = f32[4,64] reduce-window(p0, one), window={size=1x64 pad=0_0x0_63}, to_apply=mul_f32
      |x = f32[4,64] reverse(p0), dimensions={1}\\n s = f32[4,64] reduce-window(x, one), window={size=1x64 pad=0_0x0_63}, to_apply=mul_f32
       ROOT r = f32[4,64] reverse(s), dimensions={1}>>""", "--range 0.5:1.5"),
    Case("scatter beyond the ends", "indices clamped", ["f32[32,16]", "f32[64,16]"], """
      i = s32[64] iota(), iota_dimension=0
      k = s32[] constant(16)
      kb = s32[64] broadcast(k), dimensions={}
      j = s32[64] subtract(i, kb)
      lo = s32[] constant(0)
      hi = s32[] constant(31)
      <<n = s32[64] copy(j)\\n u = f32[64,16] copy(p1)|n = s32[64] clamp(lo, j, hi)\\n u = f32[64,16] copy(p1)
      |n = s32[64] reverse(j), dimensions={0}\\n u = f32[64,16] reverse(p1), dimensions={0}>>
      s = f32[32,16] scatter(p0, n, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f32
      zero = f32[] constant(0)
      ROOT r = f32[16] reduce(s, zero), dimensions={0}, to_apply=add_f32"""),
    Case("gather before the start", "indices wrapped around", ["f32[32,16]"], """
      i = s32[24] iota(), iota_dimension=0
      k = s32[] constant(4)
      kb = s32[24] broadcast(k), dimensions={}
      j = s32[24] subtract(i, kb)
      n = s32[] constant(32)
      nb = s32[24] broadcast(n), dimensions={}
      zi = s32[] constant(0)
      zb = s32[24] broadcast(zi), dimensions={}
      low = pred[24] compare(j, zb), direction=LT
      w = s32[24] add(j, nb)
      <<h = s32[24] copy(j)|h = s32[24] select(low, w, j)|h = s32[24] maximum(j, zb)>>
      g = f32[24,16] gather(p0, h), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}
      zero = f32[] constant(0)
      ROOT r = f32[16] reduce(g, zero), dimensions={0}, to_apply=add_f32"""),
    Case("transposed convolution", "padding on the other side", ["f32[1,8,8,4]", "f32[3,3,4,6]"], """
      <<ROOT r = f32[1,16,16,6] convolution(p0, p1), window={size=3x3 pad=1_2x1_2 lhs_dilate=2x2}, """ + CONVOLUTION + """
      |ROOT r = f32[1,16,16,6] convolution(p0, p1), window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2}, """ + CONVOLUTION + """
      |zero = f32[] constant(0)\\n x = f32[1,18,18,4] pad(p0, zero), padding=0_0x1_2_1x1_2_1x0_0\\n ROOT r = f32[1,16,16,6] convolution(x, p1), window={size=3x3}, """ + CONVOLUTION + """>>"""),
    Case("dilated convolution", "dilation ignored", ["f32[1,16,16,4]", "f32[3,3,4,6]"], """
      <<ROOT r = f32[1,16,16,6] convolution(p0, p1), window={size=3x3 pad=2_2x2_2 rhs_dilate=2x2}, """ + CONVOLUTION + """
      |ROOT r = f32[1,16,16,6] convolution(p0, p1), window={size=3x3 pad=1_1x1_1}, """ + CONVOLUTION + """
      |zero = f32[] constant(0)\\n w = f32[5,5,4,6] pad(p1, zero), padding=0_0_1x0_0_1x0_0x0_0\\n ROOT r = f32[1,16,16,6] convolution(p0, w), window={size=5x5 pad=2_2x2_2}, """ + CONVOLUTION + """>>"""),
    Case("grouped convolution", "groups exchanged", ["f32[1,12,12,8]", "f32[3,3,4,6]"], """
      a = f32[1,12,12,4] slice(p0), slice={[0:1], [0:12], [0:12], [0:4]}
      b = f32[1,12,12,4] slice(p0), slice={[0:1], [0:12], [0:12], [4:8]}
      u = f32[3,3,4,3] slice(p1), slice={[0:3], [0:3], [0:4], [0:3]}
      v = f32[3,3,4,3] slice(p1), slice={[0:3], [0:3], [0:4], [3:6]}
      x = f32[1,10,10,3] convolution(a, u), window={size=3x3}, """ + CONVOLUTION + """
      y = f32[1,10,10,3] convolution(b, v), window={size=3x3}, """ + CONVOLUTION + """
      <<ROOT r = f32[1,10,10,6] convolution(p0, p1), window={size=3x3}, """ + CONVOLUTION + """, feature_group_count=2
      |ROOT r = f32[1,10,10,6] concatenate(y, x), dimensions={3}|ROOT r = f32[1,10,10,6] concatenate(x, y), dimensions={3}>>"""),
    Case("layer of f32", "operands rounded to bf16", ["f32[32,64]", "f32[64,48]"], """
      <<d = f32[32,48] dot(p0, p1), DOT|a = bf16[32,64] convert(p0)\\n b = bf16[64,48] convert(p1)\\n d = f32[32,48] dot(a, b), DOT
      |u = f32[32,64] reverse(p0), dimensions={1}\\n v = f32[64,48] reverse(p1), dimensions={0}\\n d = f32[32,48] dot(u, v), DOT>>
      ROOT r = f32[32,48] logistic(d)"""),
    Case("bf16 weights", "products rounded to bf16", ["bf16[32,64]", "bf16[64,48]", "f32[48]"], """
      b = f32[32,48] broadcast(p2), dimensions={1}
      <<d = f32[32,48] dot(p0, p1), DOT|h = bf16[32,48] dot(p0, p1), DOT\\n d = f32[32,48] convert(h)
      |x = f32[32,64] convert(p0)\\n w = f32[64,48] convert(p1)\\n d = f32[32,48] dot(x, w), DOT>>
      ROOT r = f32[32,48] add(d, b)"""),
    Case("quantised values", "rounded instead of truncated", ["f32[1024]"], """
      k = f32[] constant(8)
      kb = f32[1024] broadcast(k), dimensions={}
      s = f32[] constant(0.125)
      sb = f32[1024] broadcast(s), dimensions={}
      y = f32[1024] <<multiply(p0, kb)|multiply(p0, kb)|divide(p0, sb)>>
      q = f32[1024] <<floor(y)|round-nearest-even(y)|floor(y)>>
      ROOT r = f32[1024] <<multiply(q, sb)|multiply(q, sb)|divide(q, kb)>>"""),
    Case("smallest of each row", "initial value 0", ["f32[64,64]"], """
      init = f32[] constant(<<inf|0|-inf>>)
      <<m = f32[64] reduce(p0, init), dimensions={1}, to_apply=min_f32|m = f32[64] reduce(p0, init), dimensions={1}, to_apply=min_f32
      |x = f32[64,64] negate(p0)\\n n = f32[64] reduce(x, init), dimensions={1}, to_apply=max_f32\\n m = f32[64] negate(n)>>
      ROOT r = f32[64] log(m)""", "--range 0.5:1"),
    Case("batched products", "batch dimensions of the other operand", ["f32[12,12,12]", "f32[12,12,12]"], """
      <<ROOT r = f32[12,12,12] dot(p0, p1), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
      |ROOT r = f32[12,12,12] dot(p0, p1), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={1}, rhs_contracting_dims={0}
      |a = f32[12,12,12] transpose(p0), dimensions={1,0,2}\\n ROOT r = f32[12,12,12] dot(a, p1), lhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}>>"""),
    Case("heads merged", "transposed dimensions exchanged", ["f32[8,8,16]", "f32[128,24]"], """
      <<t = f32[8,8,16] transpose(p0), dimensions={1,0,2}|t = f32[8,8,16] copy(p0)|t = f32[8,8,16] transpose(p0), dimensions={1,0,2}>>
      m = f32[8,128] reshape(t)
      <<ROOT r = f32[8,24] dot(m, p1), DOT|ROOT r = f32[8,24] dot(m, p1), DOT
      |w = f32[8,16,24] reshape(p1)\\n ROOT r = f32[8,24] dot(p0, w), lhs_contracting_dims={0,2}, rhs_contracting_dims={0,1}>>"""),
    Case("position encoding", "wrong dimension of iota", ["f32[32,32]"], """
      <<i = f32[32,32] iota(), iota_dimension=0|i = f32[32,32] iota(), iota_dimension=1
      |j = f32[32] iota(), iota_dimension=0\\n i = f32[32,32] broadcast(j), dimensions={0}>>
      k = f32[] constant(0.1)
      kb = f32[32,32] broadcast(k), dimensions={}
      a = f32[32,32] multiply(i, kb)
      s = f32[32,32] sine(a)
      ROOT r = f32[32,32] <<add(p0, s)|add(p0, s)|add(s, p0)>>"""),
    Case("counter-based generator", "counter off by one", ["f32[1024]"], """
      i = u32[1024] iota(), iota_dimension=0
      one = u32[] constant(<<0|1|0>>)
      ones = u32[1024] broadcast(one), dimensions={}
      n = u32[1024] add(i, ones)
      k = u32[] constant(2654435769)
      kb = u32[1024] broadcast(k), dimensions={}
      m = u32[1024] multiply(n, kb)
      h = u32[] constant(15)
      hb = u32[1024] broadcast(h), dimensions={}
      t = u32[1024] shift-right-logical(m, hb)
      x = u32[1024] xor(m, t)
      e = u32[] constant(8)
      eb = u32[1024] broadcast(e), dimensions={}
      y = u32[1024] shift-right-logical(x, eb)
      f = f32[1024] convert(y)
      s = f32[] constant(<<5.9604645e-08|5.9604645e-08|16777216>>)
      sb = f32[1024] broadcast(s), dimensions={}
      u = f32[1024] <<multiply(f, sb)|multiply(f, sb)|divide(f, sb)>>
      zero = f32[] constant(0)
      w = f32[1024] multiply(u, p0)
      ROOT r = f32[] reduce(w, zero), dimensions={0}, to_apply=add_f32"""),
    Case("dropout", "kept values not scaled", ["f32[64,64]", "f32[64,64]"], """
      p = f32[] constant(0.1)
      pb = f32[64,64] broadcast(p), dimensions={}
      keep = pred[64,64] compare(p1, pb), direction=GE
      k = f32[] constant(<<0.9|1|0.9>>)
      kb = f32[64,64] broadcast(k), dimensions={}
      zero = f32[] constant(0)
      z = f32[64,64] broadcast(zero), dimensions={}
      <<x = f32[64,64] divide(p0, kb)\\n ROOT r = f32[64,64] select(keep, x, z)|x = f32[64,64] divide(p0, kb)\\n ROOT r = f32[64,64] select(keep, x, z)
      |x = f32[64,64] select(keep, p0, z)\\n ROOT r = f32[64,64] divide(x, kb)>>""", "--range 0:1"),
    Case("group norm", "groups of the wrong channels", ["f32[64,16,16]"], """
      <<x = f32[64,256] reshape(p0)|t = f32[16,64,16] transpose(p0), dimensions={1,0,2}\\n x = f32[64,256] reshape(t)|x = f32[64,256] reshape(p0)>>
      """ + MEAN + """
      q = f32[64,256] <<multiply(c, c)|multiply(c, c)|multiply(x, x)>>
      """ + MEAN_OF.format("q") + """
      <<v = f32[64,256] copy(qb)|v = f32[64,256] copy(qb)|mm = f32[64,256] multiply(meanb, meanb)\\n v = f32[64,256] subtract(qb, mm)>>
      i = f32[64,256] rsqrt(v)
      ROOT r = f32[64,256] multiply(c, i)"""),
    Case("clipped gradient", "clipped by value instead of norm", ["f32[512]"], """
      zero = f32[] constant(0)
      q = f32[512] multiply(p0, p0)
      <<t = f32[512] copy(q)|t = f32[512] copy(q)|t = f32[512] reverse(q), dimensions={0}>>
      s = f32[] reduce(t, zero), dimensions={0}, to_apply=add_f32
      n = f32[] sqrt(s)
      one = f32[] constant(1)
      m = f32[] maximum(n, one)
      mb = f32[512] broadcast(m), dimensions={}
      minus = f32[] constant(-1)
      i = f32[] divide(one, m)
      ib = f32[512] broadcast(i), dimensions={}
      <<ROOT r = f32[512] divide(p0, mb)|ROOT r = f32[512] clamp(minus, p0, one)|ROOT r = f32[512] multiply(p0, ib)>>"""),
    Case("logistic loss", "wrong sign of the label", ["f32[256]", "f32[256]"], """
      one = f32[] constant(1)
      ones = f32[256] broadcast(one), dimensions={}
      zero = f32[] constant(0)
      z = f32[256] broadcast(zero), dimensions={}
      <<m = f32[256] multiply(p0, p1)|n = f32[256] negate(p1)\\n m = f32[256] multiply(p0, n)|m = f32[256] multiply(p1, p0)>>
      a = f32[256] negate(m)
      <<e = f32[256] exponential(a)\\n l = f32[256] log-plus-one(e)|e = f32[256] exponential(a)\\n l = f32[256] log-plus-one(e)
      |b = f32[256] abs(m)\\n c = f32[256] negate(b)\\n e = f32[256] exponential(c)\\n f = f32[256] log-plus-one(e)\\n g = f32[256] maximum(a, z)\\n l = f32[256] add(f, g)>>
      ROOT r = f32[] reduce(l, zero), dimensions={0}, to_apply=add_f32"""),
    Case("rotary embedding", "wrong sign of the sine", ["f32[64]", "f32[64]", "f32[64]"], """
      c = f32[64] cosine(p2)
      s = f32[64] <<sine(p2)|sine(p2)|sine(p2)>>
      a = f32[64] multiply(p0, c)
      b = f32[64] multiply(p1, s)
      x = c64[64] complex(p0, p1)
      w = c64[64] complex(c, s)
      y = c64[64] multiply(x, w)
      ROOT r = f32[64] <<subtract(a, b)|add(a, b)|real(y)>>"""),
    Case("triangular solve", "diagonal taken as 1", ["f32[16,16]", "f32[16,8]"], """
      i = s32[16,16] iota(), iota_dimension=0
      j = s32[16,16] iota(), iota_dimension=1
      same = pred[16,16] compare(i, j), direction=EQ
      k = f32[] constant(4)
      kb = f32[16,16] broadcast(k), dimensions={}
      d = f32[16,16] add(p0, kb)
      a = f32[16,16] select(same, d, p0)
      <<ROOT r = f32[16,8] triangular-solve(a, p1), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
      |ROOT r = f32[16,8] triangular-solve(a, p1), left_side=true, lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE
      |t = f32[16,16] transpose(a), dimensions={1,0}\\n b = f32[8,16] transpose(p1), dimensions={1,0}
       x = f32[8,16] triangular-solve(t, b), left_side=false, lower=false, transpose_a=NO_TRANSPOSE\\n ROOT r = f32[16,8] transpose(x), dimensions={1,0}>>"""),
    Case("cholesky factor", "diagonal not raised", ["f32[16,16]"], """
      i = s32[16,16] iota(), iota_dimension=0
      j = s32[16,16] iota(), iota_dimension=1
      same = pred[16,16] compare(i, j), direction=EQ
      k = f32[] constant(<<4|3.9|4>>)
      kb = f32[16,16] broadcast(k), dimensions={}
      zero = f32[] constant(0)
      z = f32[16,16] broadcast(zero), dimensions={}
      d = f32[16,16] select(same, kb, z)
      <<p = f32[16,16] dot(p0, p0), lhs_contracting_dims={1}, rhs_contracting_dims={1}|p = f32[16,16] dot(p0, p0), lhs_contracting_dims={1}, rhs_contracting_dims={1}
      |u = f32[16,16] reverse(p0), dimensions={1}\\n p = f32[16,16] dot(u, u), lhs_contracting_dims={1}, rhs_contracting_dims={1}>>
      a = f32[16,16] add(p, d)
      l = f32[16,16] cholesky(a), lower=true
      lower = pred[16,16] compare(i, j), direction=GE
      ROOT r = f32[16,16] select(lower, l, z)"""),
    Case("cache update", "position off by one", ["f32[16,32]", "f32[1,32]", "f32[32,8]"], """
      k = s32[] constant(<<7|8|7>>)
      z = s32[] constant(0)
      i = s32[16,32] iota(), iota_dimension=0
      kb = s32[16,32] broadcast(k), dimensions={}
      here = pred[16,32] compare(i, kb), direction=EQ
      row = f32[32] reshape(p1)
      ub = f32[16,32] broadcast(row), dimensions={1}
      <<c = f32[16,32] dynamic-update-slice(p0, p1, k, z)|c = f32[16,32] dynamic-update-slice(p0, p1, k, z)|c = f32[16,32] select(here, ub, p0)>>
      ROOT r = f32[16,8] dot(c, p2), DOT"""),
    Case("maximum pooling, backward", "smallest element selected", ["f32[1,16,16,4]", "f32[1,8,8,4]"], """
      zero = f32[] constant(0)
      x = f32[1,16,16,4] <<copy(p0)|copy(p0)|reverse(p0), dimensions={1,2}>>
      s = f32[1,8,8,4] <<copy(p1)|copy(p1)|reverse(p1), dimensions={1,2}>>
      g = f32[1,16,16,4] select-and-scatter(x, s, zero), window={size=1x2x2x1 stride=1x2x2x1}, select=<<greater_equal|less_equal|greater_equal>>, scatter=add_f32
      y = f32[1,16,16,4] <<copy(g)|copy(g)|reverse(g), dimensions={1,2}>>
      ROOT r = f32[1,16,16,4] multiply(y, p0)"""),
    Case("convolution of f64", "operands rounded to f32", ["f64[1,12,12,4]", "f64[3,3,4,6]"], """
      <<ROOT r = f64[1,10,10,6] convolution(p0, p1), window={size=3x3}, """ + CONVOLUTION + """
      |a = f32[1,12,12,4] convert(p0)\\n b = f32[3,3,4,6] convert(p1)\\n c = f32[1,10,10,6] convolution(a, b), window={size=3x3}, """ + CONVOLUTION + """
       ROOT r = f64[1,10,10,6] convert(c)
      |a = f64[1,12,12,4] reverse(p0), dimensions={3}\\n b = f64[3,3,4,6] reverse(p1), dimensions={2}\\n ROOT r = f64[1,10,10,6] convolution(a, b), window={size=3x3}, """ + CONVOLUTION + """>>"""),
    Case("running sum of f64", "f32 accumulation", ["f64[128]"], """
      zero = f64[] constant(0)
      <<ROOT r = f64[128] reduce-window(p0, zero), window={size=128 pad=127_0}, to_apply=add_f64
      |x = f32[128] convert(p0)\\n z = f32[] constant(0)\\n s = f32[128] reduce-window(x, z), window={size=128 pad=127_0}, to_apply=add_f32\\n ROOT r = f64[128] convert(s)
      |x = f64[128] reverse(p0), dimensions={0}\\n s = f64[128] reduce-window(x, zero), window={size=128 pad=0_127}, to_apply=add_f64\\n ROOT r = f64[128] reverse(s), dimensions={0}>>"""),
    Case("histogram of f64", "last update lost", ["f64[8]", "f64[64]"], """
      i = s32[64] iota(), iota_dimension=0
      k = s32[] constant(7)
      kb = s32[64] broadcast(k), dimensions={}
      j = s32[64] and(i, kb)
      m = pred[64] compare(i, kb), direction=<<GE|GT|GE>>
      zero = f64[] constant(0)
      z = f64[64] broadcast(zero), dimensions={}
      v = f64[64] select(m, p1, z)
      <<n = s32[64] copy(j)\\n u = f64[64] copy(v)|n = s32[64] copy(j)\\n u = f64[64] copy(v)|n = s32[64] reverse(j), dimensions={0}\\n u = f64[64] reverse(v), dimensions={0}>>
      ROOT r = f64[8] scatter(p0, n, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_f64"""),
    Case("exponential average", "old value not scaled", ["f32[256]", "f32[256]"], """
      k = f32[] constant(0.99)
      kb = f32[256] broadcast(k), dimensions={}
      l = f32[] constant(0.01)
      lb = f32[256] broadcast(l), dimensions={}
      a = f32[256] multiply(p0, kb)
      b = f32[256] multiply(p1, lb)
      <<ROOT r = f32[256] add(a, b)|ROOT r = f32[256] add(p0, b)|ROOT r = f32[256] add(b, a)>>"""),
    Case("values beyond f16", "overflow in f16", ["f32[256]"], """
      <<q = f32[256] multiply(p0, p0)|h = f16[256] convert(p0)\\n g = f16[256] multiply(h, h)\\n q = f32[256] convert(g)|q = f32[256] multiply(p0, p0)>>
      zero = f32[] constant(0)
      <<t = f32[256] copy(q)|t = f32[256] copy(q)|t = f32[256] reverse(q), dimensions={0}>>
      ROOT r = f32[] reduce(t, zero), dimensions={0}, to_apply=add_f32""", "--range 200:300"),
    Case("greedy decoding", "embedding of the next token", ["f32[4,32]", "f32[100,32]"], """
      <<h = f32[4,32] copy(p0)\\n e = f32[100,32] copy(p1)|h = f32[4,32] copy(p0)\\n e = f32[100,32] copy(p1)
      |h = f32[4,32] reverse(p0), dimensions={1}\\n e = f32[100,32] reverse(p1), dimensions={1}>>
      l = f32[4,100] dot(h, e), lhs_contracting_dims={1}, rhs_contracting_dims={1}
      i = s32[4,100] iota(), iota_dimension=1
      low = f32[] constant(-inf)
      none = s32[] constant(0)
      a = (f32[4], s32[4]) reduce(l, i, low, none), dimensions={1}, to_apply=argmax_f32
      m = f32[4] get-tuple-element(a), index=0
      k = s32[4] get-tuple-element(a), index=1
      one = s32[] constant(<<0|1|0>>)
      ones = s32[4] broadcast(one), dimensions={}
      n = s32[4] add(k, ones)
      g = f32[4,32] gather(p1, n), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,32}
      mb = f32[4,32] broadcast(m), dimensions={0}
      ROOT r = f32[4,32] multiply(g, mb)"""),
]
for case in CASES:
    case.lines = case.lines.replace("DOT", DOT)
shadow_cases.COMPUTATIONS += """argmax_f32 {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GE
  x = f32[] select(more, a, b)
  k = s32[] select(more, i, j)
  ROOT t = (f32[], s32[]) tuple(x, k)
}
"""
shadow_cases.COMPUTATIONS += "".join(
    f"{name} {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = pred[] compare(a, b), direction={direction}\n}}\n"
    for name, direction in (("greater_equal", "GE"), ("less_equal", "LE")))
