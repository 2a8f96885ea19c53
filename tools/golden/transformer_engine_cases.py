#!/usr/bin/env python3
"""Writes the cases of TransformerEngine's attention, with expected values from JAX's functions in f64 on the CPU.

    python3 transformer_engine_cases.py > ../../tests/cases/semantics/transformer-engine.hlo
"""

import jax
import jax.numpy as jnp
import numpy as np
from library_cases import case, numbers

BS3HD, BSH3D, BSHD_BS2HD, BSHD_BSH2D, BSHD_BSHD_BSHD = range(5, 10)
NONE, PADDING, CAUSAL, PADDING_CAUSAL, CAUSAL_BOTTOM_RIGHT = range(5)
MASKS = ["no mask", "padding", "a causal mask", "padding and a causal mask", "a causal mask aligned at the last key"]
EMPTY = np.zeros(0, np.float32)


def packed(layout, q, k, v):
    """Returns the first three operands, or the first three results of a backward call; arrays are [B, S, N, H]."""
    axis = 3 if layout in (BSH3D, BSHD_BSH2D) else 2
    if layout in (BS3HD, BSH3D):
        return [np.stack([q, k, v], axis), EMPTY, EMPTY]
    if layout in (BSHD_BS2HD, BSHD_BSH2D):
        return [q, np.stack([k, v], axis), EMPTY]
    return [q, k, v]


def config(layout, mask, scale, has_bias, window):
    bias = 2 if has_bias else 0
    return (f"{{attn_heads = 4 : i64, bias_type = {bias} : i64, deterministic = false, dropout_probability = 0.000000e+00 : f64, "
            f"is_training = true, mask_type = {mask} : i64, max_segments_per_seq = 1 : i64, qkv_layout = {layout} : i64, "
            f"scaling_factor = {scale:e} : f64, window_size_left = {window} : i64, window_size_right = -1 : i64}}")


def attention(rng, layout, mask, heads=(2, 2), sizes=(3, 3), has_bias=False, window=-1, newer=False):
    b, h, scale = 2, 2, 0.5
    (n, m), (t, s) = heads, sizes
    q, k, v = numbers(rng, b, t, n, h), numbers(rng, b, s, m, h), numbers(rng, b, s, m, h)
    bias = numbers(rng, 1, n, t, s)
    rows, columns = np.arange(t)[:, None], np.arange(s)[None, :]
    aligned = rows + (s - t if mask == CAUSAL_BOTTOM_RIGHT else 0)
    allowed = np.ones((b, n, t, s), bool)
    lengths = [np.full(b, t), np.full(b, s)]
    if mask in (PADDING, PADDING_CAUSAL):
        lengths = [np.array([t - 1, t]), np.array([s, s - 1])]
        allowed &= (rows < lengths[0][:, None, None, None]) & (columns < lengths[1][:, None, None, None])
    if mask in (CAUSAL, PADDING_CAUSAL, CAUSAL_BOTTOM_RIGHT):
        allowed &= columns <= aligned
    if window >= 0:
        allowed &= columns >= aligned - window
    some = allowed.any(-1)

    def forward(q, k, v, bias):
        k, v = (jnp.repeat(x, n // m, 2) for x in (k, v))
        scores = scale * jnp.einsum("btnh,bsnh->bnts", q, k) + bias
        stats = jax.nn.logsumexp(jnp.where(some[..., None], jnp.where(allowed, scores, -jnp.inf), 0), -1)
        p = jnp.where(some[..., None], jnp.exp(jnp.where(allowed, scores, -jnp.inf) - stats[..., None]), 0)
        return jnp.einsum("bnts,bsnh->btnh", p, v), jnp.where(some, stats, -jnp.inf)

    wide = [jnp.asarray(x, jnp.float64) for x in (q, k, v, bias if has_bias else np.zeros_like(bias))]
    o, stats = forward(*wide)
    stats = np.float32(stats)[..., None]
    ends = [np.concatenate([[0], np.cumsum(x)]).astype(np.int32) for x in lengths]
    ragged = [EMPTY] * 6
    offset = [EMPTY] if newer else []
    seed, state = np.arange(2, dtype=np.uint32), np.zeros((2, 4), np.uint32)
    options = config(layout, mask, scale, has_bias, window)
    inputs = [*packed(layout, q, k, v), bias if has_bias else EMPTY, *offset]
    title = f"TransformerEngine's attention in layout {layout} with {MASKS[mask]}"
    title += "".join(words for words, given in ((", a bias", has_bias), (", a window", window >= 0), (", an offset of the softmax", newer))
                     if given)
    case(title, "te_fused_attn_forward_ffi", [*inputs, seed, *ends, *ragged], [np.float32(o), stats], config=options)
    gradient = numbers(rng, *o.shape)
    _, pullback, _ = jax.vjp(forward, *wide, has_aux=True)
    dq, dk, dv, dbias = (np.float32(g) for g in pullback(jnp.asarray(gradient, jnp.float64)))
    case(f"{title}, backwards", "te_fused_attn_backward_ffi", [*inputs, stats, state, np.float32(o), gradient, *ends, *ragged],
         [*packed(layout, dq, dk, dv), dbias if has_bias else EMPTY], config=options)


if __name__ == "__main__":
    rng = np.random.default_rng(17)
    attention(rng, BS3HD, NONE)
    attention(rng, BSH3D, PADDING_CAUSAL)
    attention(rng, BSHD_BS2HD, CAUSAL, heads=(4, 2))
    attention(rng, BSHD_BSH2D, PADDING, heads=(4, 2), sizes=(2, 4))
    attention(rng, BSHD_BSHD_BSHD, CAUSAL_BOTTOM_RIGHT, sizes=(2, 4), has_bias=True)
    attention(rng, BSHD_BS2HD, CAUSAL, heads=(4, 2), sizes=(4, 4), window=1, newer=True)
