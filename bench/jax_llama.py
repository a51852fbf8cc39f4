# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""A LLaMA as one writes it in JAX, forward and training step, for Shardy and XLA to shard.
Nothing is allocated but by `training`.

Needs jax (pip install jax). Import it before anything else that imports jax: it asks for CPU devices.
"""
import json
import os
import pathlib

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=64")
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

MODELS = pathlib.Path(__file__).resolve().parent / "models"
COLUMN, ROW = P(None, "tp"), P("tp", None)


class Llama:
    """The model of a config.json with any number of layers, on a mesh of dp x tp.

    given="inputs": parameters and tokens carry shardings. given="strategy": activations are
    constrained as well, where Megatron's layout says so. With `scan` set, layers are one loop over
    stacked weights, as who writes for short compile times has them, instead of a copy each.
    """
    scan = False

    def __init__(self, model, layers, dp, tp, given, dtype=jnp.bfloat16):
        c = json.loads((MODELS / model / "config.json").read_text())
        self.layers = layers or c["num_hidden_layers"]
        self.dtype, self.given = dtype, given
        self.hidden, self.ffn, self.vocab = c["hidden_size"], c["intermediate_size"], c["vocab_size"]
        self.heads, self.kv_heads = c["num_attention_heads"], c["num_key_value_heads"]
        self.head_dim = self.hidden // self.heads
        self.eps, self.theta = c["rms_norm_eps"], c["rope_theta"]
        self.mesh = Mesh(np.array(jax.devices()[:dp * tp]).reshape(dp, tp), ("dp", "tp"))

    def constrain(self, x, *spec):
        if self.given != "strategy":
            return x
        return jax.lax.with_sharding_constraint(x, NamedSharding(self.mesh, P(*spec)))

    def norm(self, x, weight):
        y = x.astype(jnp.float32)
        y = y * jax.lax.rsqrt(jnp.mean(y * y, -1, keepdims=True) + self.eps)
        return self.constrain((y * weight.astype(jnp.float32)).astype(self.dtype), "dp", None, None)

    def rope(self, x, cos, sin):
        a, b = jnp.split(x.astype(jnp.float32), 2, axis=-1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(self.dtype)

    def layer(self, p, x, cos, sin):
        y = self.norm(x, p["norm1"])
        split = lambda w: self.constrain((y @ w).reshape(*y.shape[:2], -1, self.head_dim),
                                         "dp", None, "tp", None)
        q, k, v = split(p["q"]), split(p["k"]), split(p["v"])
        q, k = self.rope(q, cos, sin), self.rope(k, cos, sin)
        q = q.reshape(*q.shape[:2], self.kv_heads, -1, self.head_dim)
        scores = jnp.einsum("bqhgd,bkhd->bhgqk", q, k).astype(jnp.float32) * self.head_dim ** -0.5
        causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf)).astype(self.dtype)
        o = jnp.einsum("bhgqk,bkhd->bqhgd", weights, v).reshape(x.shape)
        x = self.constrain(x + o @ p["o"], "dp", None, None)
        y = self.norm(x, p["norm2"])
        gate = self.constrain(y @ p["gate"], "dp", None, "tp")
        up = self.constrain(y @ p["up"], "dp", None, "tp")
        return self.constrain(x + (jax.nn.silu(gate) * up) @ p["down"], "dp", None, None)

    def forward(self, p, ids, labels):
        frequency = self.theta ** (-jnp.arange(0, self.head_dim, 2) / self.head_dim)
        angle = jnp.arange(ids.shape[1])[:, None] * frequency
        cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        x = self.constrain(p["embedding"][ids], "dp", None, None)
        if self.scan:
            x, _ = jax.lax.scan(lambda x, layer: (self.layer(layer, x, cos, sin), None), x,
                                p["layers"])
        else:
            for layer in p["layers"]:
                x = self.layer(layer, x, cos, sin)
        logits = (self.norm(x, p["norm"]) @ p["head"]).astype(jnp.float32)
        logits = self.constrain(logits, "dp", None, "tp")
        picked = jnp.take_along_axis(logits[:, :-1], labels[:, 1:, None], -1)[..., 0]
        return logits, jnp.mean(jax.nn.logsumexp(logits[:, :-1], -1) - picked)

    def train(self, p, m, v, step, ids, labels):
        """One step of AdamW; weights and moments are f32."""
        cast = lambda p: jax.tree.map(lambda w: w.astype(self.dtype), p)
        loss, g = jax.value_and_grad(lambda p: self.forward(cast(p), ids, labels)[1])(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, v, g)
        update = lambda p, m, v: p - 3e-4 * (m / (1 - 0.9 ** step) / (
            jnp.sqrt(v / (1 - 0.95 ** step)) + 1e-8) + 0.1 * p)
        return jax.tree.map(update, p, m, v), m, v, loss

    def trace(self, step, batch, sequence):
        h, f, kv = self.hidden, self.ffn, self.kv_heads * self.head_dim
        dtype = self.dtype if step == "forward" else jnp.float32
        of = lambda *shape: jax.ShapeDtypeStruct(shape, dtype)
        layer = dict(norm1=of(h), norm2=of(h), q=of(h, h), k=of(h, kv), v=of(h, kv), o=of(h, h),
                     gate=of(h, f), up=of(h, f), down=of(f, h))
        layers = [layer] * self.layers
        if self.scan:
            layers = {name: of(self.layers, *w.shape) for name, w in layer.items()}
        params = dict(embedding=of(self.vocab, h), layers=layers, norm=of(h),
                      head=of(h, self.vocab))
        spec = self.placement()
        tokens = jax.ShapeDtypeStruct((batch, sequence), jnp.int32)
        data = P("dp", None)
        if step == "forward":
            function, arguments = self.forward, (params, tokens, tokens)
            specs = (spec, data, data)
        else:
            count = jax.ShapeDtypeStruct((), jnp.float32)
            function, arguments = self.train, (params, params, params, count, tokens, tokens)
            specs = (spec, spec, spec, P(), data, data)
        return jax.jit(function, in_shardings=self.shardings(specs)).trace(*arguments)

    def placement(self):
        placed = dict(norm1=P(), norm2=P(), q=COLUMN, k=COLUMN, v=COLUMN, o=ROW, gate=COLUMN,
                      up=COLUMN, down=ROW)
        layers = [placed] * self.layers
        if self.scan:
            layers = {name: P(None, *spec) for name, spec in placed.items()}
        return dict(embedding=ROW, layers=layers, norm=P(), head=COLUMN)

    def shardings(self, specs):
        return jax.tree.map(lambda s: NamedSharding(self.mesh, s), specs,
                            is_leaf=lambda s: isinstance(s, P))

    def training(self, tensors):
        """The compiled step, and a function that puts tokens and the state on the devices: weights by
        their Hugging Face names from `tensors`, moments of zero."""
        part = dict(norm1="input_layernorm", norm2="post_attention_layernorm", q="self_attn.q_proj",
                    k="self_attn.k_proj", v="self_attn.v_proj", o="self_attn.o_proj",
                    gate="mlp.gate_proj", up="mlp.up_proj", down="mlp.down_proj")
        params = dict(embedding=tensors["model.embed_tokens.weight"],
                      layers=[{k: tensors[f"model.layers.{i}.{name}.weight"].T
                               for k, name in part.items()} for i in range(self.layers)],
                      norm=tensors["model.norm.weight"], head=tensors["lm_head.weight"].T)
        spec, data = self.placement(), P("dp", None)
        of = self.shardings((spec, spec, spec, P(), data, data))
        run = jax.jit(self.train, in_shardings=of, out_shardings=(*of[:3], None),
                      donate_argnums=(0, 1, 2))

        def place(ids):
            zeros = jax.tree.map(np.zeros_like, params)
            state = [jax.device_put(x, s) for x, s in zip((params, zeros, zeros), of)]
            return *state, jax.device_put(ids.astype(np.int32), of[4])

        return run, place
