#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Programs above the limit of the float64 oracle are verified by a smaller twin.

For each case `cleave compile` and `cleave verify --oracle-limit`: the twin is there, smaller, and its
sizes are sharded as the program's, over every axis; both it and the program agree with their
unsharded selves. A program that is compiled wrong is found out by its twin, as one whose file was
changed is by the comparison with its unsharded self; and where there is no twin it is said why.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LLAMA = dict(model_type="llama", vocab_size=1000, hidden_size=128, intermediate_size=352,
             num_hidden_layers=5, num_attention_heads=8, num_key_value_heads=2, rms_norm_eps=1e-5,
             hidden_act="silu")
QWEN = dict(model_type="qwen2", vocab_size=601, hidden_size=96, intermediate_size=250,
            num_hidden_layers=6, num_attention_heads=6, num_key_value_heads=3, rms_norm_eps=1e-6,
            hidden_act="silu", use_sliding_window=True, sliding_window=32, max_window_layers=3,
            tie_word_embeddings=True)
GPT = dict(model_type="gpt2", vocab_size=601, n_embd=96, n_layer=4, n_head=6, n_positions=96,
           layer_norm_epsilon=1e-5, activation_function="gelu_new")
NAMES = {  # of a twin's sizes, in config.json
    "hidden": ("hidden_size", "n_embd"), "mlp": ("intermediate_size", "n_inner"),
    "vocabulary": ("vocab_size",), "kv_heads": ("num_key_value_heads", "n_head"),
    "layers": ("num_hidden_layers", "n_layer")}
BATCH, SEQUENCE = 6, 64
LAYER_NAMED = {"constraints": {"model.layers.1.mlp.down_proj.weight": [["tp"], []]}}

CASES = [  # name, config, flags of compile
    ("llama tp=3", LLAMA, "--mesh tp=3"),
    ("llama dp=2,tp=4", LLAMA, "--mesh dp=2,tp=4"),
    ("llama dp=2,tp=4 sequence", LLAMA, "--mesh dp=2,tp=4 --sequence-parallel"),
    ("llama kv heads < tp", LLAMA, "--mesh tp=8"),
    ("llama fsdp", LLAMA, "--mesh dp=2,fsdp=4"),
    ("llama bf16", LLAMA, "--mesh dp=2,tp=4 --dtype bf16"),
    ("llama one layer apart", LLAMA, "--mesh dp=2,tp=4 --strategy {strategy}"),
    ("qwen2 windows tp=3", QWEN, "--mesh dp=2,tp=3"),
    ("qwen2 windows tp=4", QWEN, "--mesh dp=4,tp=2 --sequence-parallel"),
    ("gpt2 dp=3,tp=4", GPT, "--mesh dp=3,tp=4"),
    ("llama step", LLAMA, "--mesh dp=2,tp=2 --entry train_step --zero 1 --microbatches 3"),
    ("qwen2 step", QWEN, "--mesh dp=2,tp=3 --entry train_step --zero 3"),
]


def shards(size, count):
    """What each of `count` devices holds, as full, cut or empty."""
    block = -(-size // count)
    held = [min(max(size - i * block, 0), block) for i in range(count)]
    return [2 if rows == block else 1 if rows else 0 for rows in held], block > 1


def run(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=600)


class Case:
    def __init__(self, arguments, scratch, name, config, flags):
        self.arguments, self.name, self.config = arguments, name, config
        self.folder = pathlib.Path(scratch) / name.replace(" ", "_")
        self.folder.mkdir()
        (self.folder / "config.json").write_text(json.dumps(config))
        (self.folder / "strategy.json").write_text(json.dumps(LAYER_NAMED))
        self.program = self.folder / "x.cleave"
        self.flags = flags.format(strategy=self.folder / "strategy.json").split()
        self.axes = [int(part.split("=")[1]) for part in
                     self.flags[self.flags.index("--mesh") + 1].split(",")]

    def compile(self, *more):
        done = run([self.arguments.cleave, "compile", str(self.folder / "config.json"), "-o",
                    str(self.program), "--batch", str(BATCH), "--seq", str(SEQUENCE), "--cpu",
                    "native", *self.flags, *more])
        # The model and its strategy are in the program: nothing else is read.
        (self.folder / "config.json").unlink()
        (self.folder / "strategy.json").unlink()
        return done

    def verify(self, limit):
        done = run([self.arguments.cleave, "verify", str(self.program), "--oracle-limit",
                    str(limit), "--json"])
        try:
            return done.returncode, json.loads(done.stdout)
        except json.JSONDecodeError:
            return done.returncode, {"text": done.stdout}

    def check(self):
        done = self.compile()
        if done.returncode:
            return done.stdout
        code, report = self.verify(self.arguments.limit)
        twin = report.get("twin", {})
        if code or not report.get("ok") or not twin.get("ok"):
            return f"exit {code}: {json.dumps(report, indent=1)}"
        if "float64" not in twin["against"] or "twin" not in twin["against"]:
            return f"compared with {twin['against']}"
        for name, keys in NAMES.items():
            given = next((self.config[key] for key in keys if key in self.config), None)
            size = twin["sizes"][name]
            if given is None:
                continue
            if name == "layers":
                if not 2 <= size <= given:
                    return f"{size} layers for {given}"
            elif size > given or any(shards(size, n) != shards(given, n) for n in self.axes):
                return f"{name} {size} is not sharded as {given} over {self.axes}"
        if twin["sizes"]["seq"] >= SEQUENCE:
            return "the twin is not smaller"
        return None

    def check_wrong(self):
        """A sum over devices that is compiled as a maximum."""
        done = self.compile("--wrong-reduction")
        if done.returncode:
            return done.stdout
        code, report = self.verify(self.arguments.limit)
        if code != 1 or report["ok"] or report["twin"]["ok"]:
            return f"a wrong program passed, exit {code}: {json.dumps(report, indent=1)}"
        return None

    def check_absent(self):
        done = self.compile()
        if done.returncode:
            return done.stdout
        code, report = self.verify(1)
        if code or "above the limit" not in report.get("twin", {}).get("absent", ""):
            return f"no word of the missing twin, exit {code}: {json.dumps(report, indent=1)}"
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cleave", required=True, help="the cleave binary")
    parser.add_argument("--limit", default="3e8", help="--oracle-limit, below what programs take")
    parser.add_argument("--only", default="", help="only cases whose name contains this text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, \
            concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        work = [(Case(arguments, scratch, *case), Case.check) for case in CASES]
        work.append((Case(arguments, scratch, "wrong", LLAMA, "--mesh dp=2,tp=4"),
                     Case.check_wrong))
        work.append((Case(arguments, scratch, "wrong step", LLAMA,
                          "--mesh dp=2,tp=2 --entry train_step --zero 1"), Case.check_wrong))
        work.append((Case(arguments, scratch, "absent", LLAMA, "--mesh tp=2"), Case.check_absent))
        work = [(case, check) for case, check in work if arguments.only in case.name]
        futures = [(case, pool.submit(check, case)) for case, check in work]
        failed = 0
        for case, future in futures:
            problem = future.result()
            print(f"{'FAIL' if problem else 'ok  '} {case.name}", flush=True)
            if problem:
                failed += 1
                print(problem)
    print(f"{len(work) - failed} of {len(work)} programs are verified by their twins")
    return 1 if failed or not work else 0


if __name__ == "__main__":
    sys.exit(main())
