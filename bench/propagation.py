#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Propagation of shardings: cleave-propagate beside Shardy's own pass, CPU time an op, one thread.

Both shard LLaMA-7B (batch 16, sequence 2048) over dp=8,tp=8, its forward and its training step (backward
and AdamW with it), from the same shardings: "inputs" (parameters, moments, tokens) and "strategy"
(activations constrained as well). Shardy's program is
JAX's StableHLO; Cleave's is the same model from config.json, as imported (named) and decomposed to
primitives, which are ops of StableHLO's kind: that is the row to compare.

Verifiers are off on both sides, every run starts from a new context, and what is timed is the pass
alone: sdy-user-priority-propagate after sdy-import-pipeline, cleave-propagate after the strategy. Ops
are those of the program when the clock starts. "pipeline" is all of sdy-propagation-pipeline. The sides
take turns, round by round, and the best time of each counts. Lower and compile are JAX's for the same
program, once each.

Needs jax (pip install jax) and build/release/bench/bin/CompilerBench. Prints one JSON record a line.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import jax_llama
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

MODEL, BATCH, SEQUENCE, DP, TP = "llama-7b", 16, 2048, 8, 8
STEPS, GIVEN = ("forward", "train"), ("inputs", "strategy")


def op_count(op):
    return sum(1 + op_count(child.operation) for region in op.regions for block in region.blocks
               for child in block.operations)


def body_ops(module):
    return sum(op_count(f.operation) for f in module.body.operations
               if f.operation.name == "func.func")


def shardy_seconds(text, pipelines):
    """CPU seconds of the last of the pipelines on a fresh module, and the ops it started from."""
    context = jax_mlir.make_ir_context()
    with context, ir.Location.unknown():
        module = ir.Module.parse(text)
        for pipeline in pipelines:
            manager = passmanager.PassManager.parse(f"builtin.module({pipeline})")
            manager.enable_verifier(False)
            ops = body_ops(module)
            start = time.process_time()
            manager.run(module.operation)
            seconds = time.process_time() - start
    return seconds, ops


def cleave_nanoseconds(binary, layers):
    """{(step, form, given, layers): (ns an op, ops)}, the best of the benchmark's repetitions."""
    wanted = "|".join(map(str, layers))
    done = subprocess.run([binary, f"--benchmark_filter=^propagate/.*/layers:({wanted})/",
                           "--benchmark_format=json"], stdout=subprocess.PIPE, text=True, check=True)
    best = {}
    for run in json.loads(done.stdout)["benchmarks"]:
        if run["run_type"] != "iteration":
            continue
        if run.get("error_occurred"):
            sys.exit(f"{run['name']}: {run['error_message']}")
        _, step, form, given, count = run["name"].split("/")[:5]
        key = step, form, given, int(count.removeprefix("layers:"))
        best[key] = min(best.get(key, (1e30, 0)), (run["cpu_time"] * 1e6 / run["ops"], run["ops"]))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default="build/release/bench/bin/CompilerBench")
    parser.add_argument("--layers", default="1,4,16,32,64")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--compile-layers", default="1,4,16,32",
                        help="depths that XLA compiles as well; empty: none")
    parser.add_argument("--check", action="store_true",
                        help="exit 1 where cleave-propagate is less than twice as fast an op")
    a = parser.parse_args()
    numbers = lambda text: [int(n) for n in text.split(",") if n]
    layers = numbers(a.layers)
    if not os.access(a.bench, os.X_OK):
        sys.exit(f"{a.bench} is missing: build it (ninja -C build/release CompilerBench)")
    stablehlo.register_stablehlo_passes()

    cases = [(step, given, n) for step in STEPS for given in GIVEN for n in layers]
    texts, jax_record = {}, {}
    for step, given, n in cases:
        start = time.process_time()
        traced = jax_llama.Llama(MODEL, n, DP, TP, given).trace(step, BATCH, SEQUENCE)
        trace_s = time.process_time() - start
        start = time.process_time()
        lowered = traced.lower()
        lower_s = time.process_time() - start
        texts[step, given, n] = lowered.compiler_ir().operation.get_asm(print_generic_op_form=True)
        record = {"jax_trace_s": round(trace_s, 3), "jax_lower_s": round(lower_s, 3)}
        if (step, given) == ("forward", "strategy") and n in numbers(a.compile_layers):
            start, cpu = time.perf_counter(), time.process_time()
            lowered.compile()
            record["jax_compile_s"] = round(time.perf_counter() - start, 3)
            record["jax_compile_cpu_s"] = round(time.process_time() - cpu, 3)
        jax_record[step, given, n] = record

    cleave, shardy, pipeline = {}, {}, {}
    for _ in range(a.rounds):
        for key, value in cleave_nanoseconds(a.bench, layers).items():
            cleave[key] = min(cleave.get(key, value), value)
        for key, text in texts.items():
            alone = shardy_seconds(text, ["sdy-import-pipeline", "sdy-user-priority-propagate"])
            whole = shardy_seconds(text, ["sdy-propagation-pipeline"])
            shardy[key] = min(shardy.get(key, alone), alone)
            pipeline[key] = min(pipeline.get(key, whole), whole)

    worst = {}
    for step, given, n in cases:
        seconds, ops = shardy[step, given, n]
        whole, given_ops = pipeline[step, given, n]
        theirs = 1e6 * seconds / ops
        record = {"step": step, "given": given, "layers": n, "shardy_ops": ops,
                  "shardy_ms": round(1e3 * seconds, 3), "shardy_us_per_op": round(theirs, 2),
                  "shardy_pipeline_us_per_op": round(1e6 * whole / given_ops, 2)}
        for form in ("primitives", "named"):
            nanoseconds, count = cleave[step, form, given, n]
            ratio = theirs / (1e-3 * nanoseconds)
            record |= {f"cleave_{form}_ops": int(count),
                       f"cleave_{form}_ms": round(1e-6 * nanoseconds * count, 3),
                       f"cleave_{form}_us_per_op": round(1e-3 * nanoseconds, 2),
                       f"faster_{form}": round(ratio, 2)}
            worst[form] = min(worst.get(form, ratio), ratio)
        print(json.dumps(record | jax_record[step, given, n]), flush=True)
    print(json.dumps({"least_ratio": {k: round(v, 2) for k, v in worst.items()}}))
    return 0 if worst["primitives"] >= 2 or not a.check else 1


if __name__ == "__main__":
    sys.exit(main())
