#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory that `cleave inspect` predicts, against what the runtime allocates on every device, and what
ZeRO saves.

For every program the predicted total is the allocated one to the byte, and what inspect names by kind
adds up to it; so does the traffic by axis to that of the collectives. Over dp=N, ZeRO 1 and above divide the bytes of the optimizer by N, ZeRO 2 those of the
gradients, ZeRO 3 those of the weights, but for named padding: a shard has ceil(n/N) rows of the
dimension that is cut.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32,
          "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5,
          "hidden_act": "silu", "rope_theta": 10000.0, "max_position_embeddings": 64,
          "tie_word_embeddings": False}
# Gradients of more than 64 KiB, which are scattered one by one as they are made.
LARGE = {**CONFIG, "vocab_size": 384, "hidden_size": 192, "intermediate_size": 256,
         "num_hidden_layers": 6}
FORWARD = [("dp=1", []), ("dp=2,tp=2", []), ("tp=3", ["--dtype", "bf16"]),
           ("tp=4", ["--sequence-parallel"]), ("fsdp=3", [])]
TRAINING = [("dp=4", []), ("dp=4", ["--zero", "1"]), ("dp=4", ["--zero", "2"]),
            ("dp=4", ["--zero", "3"]), ("dp=3", ["--zero", "3", "--dtype", "bf16"]),
            ("tp=2", ["--sequence-parallel", "--optimizer", "sgd"]),
            ("dp=2,tp=2", ["--zero", "1", "--microbatches", "2"]),
            ("dp=2,fsdp=2", ["--optimizer", "sgd", "--momentum", "0.9"])]


class Checker:
    def __init__(self, cleave, folder):
        self.cleave, self.folder, self.failures = cleave, folder, 0
        self.config = folder / "config.json"
        self.config.write_text(json.dumps(CONFIG))
        (folder / "text.txt").write_bytes(b"".join(bytes([i * 7 % 31]) for i in range(400)))

    def run(self, *arguments):
        return subprocess.run([self.cleave, *map(str, arguments)], check=True,
                              capture_output=True, text=True).stdout

    def expect(self, case, what, got, wanted):
        if got != wanted:
            self.failures += 1
            print(f"{case}: {what} is {got}, expected {wanted}")

    def compile(self, entry, mesh, flags, config=None):
        program = self.folder / "program.cleave"
        self.run("compile", config or self.config, "-o", program, "--entry", entry, "--mesh", mesh,
                 "--batch", 12, "--seq", 8, "--cpu", "native", *flags)
        root = json.loads(self.run("inspect", program, "--entry", entry, "--json"))
        return program, root, root["entries"][0]["memory_per_device"]

    def check_sums(self, case, memory):
        regions = ("state", "input", "output", "stash", "scratch", "workspace")
        self.expect(case, "the sum of the regions", sum(memory[r] for r in regions),
                    memory["total"])
        self.expect(case, "the sum of the kinds of states",
                    sum(memory["state_by_kind"].values()), memory["state"])
        self.expect(case, "the sum of what scratch is used for",
                    sum(memory["scratch_by_kind"].values()), memory["scratch"])

    def check_traffic(self, case, mesh, entry):
        """Ring bytes by axis: those of the collectives, and under dp alone those of the gradients."""
        axes = {row["axes"]: row for row in entry["traffic_by_axes"]}
        self.expect(case, "bytes over all axes",
                    round(sum(row["ring_bytes"] for row in axes.values()), 3),
                    round(sum(c["runs"] * c["ring_bytes"] for c in entry["collectives"]), 3))
        self.expect(case, "the number of collectives",
                    sum(row["count"] + row["small_count"] for row in axes.values()),
                    sum(c["runs"] for c in entry["collectives"] if c["kind"] != "all_slice"))
        names = {part.split("=")[0] for part in mesh.split(",")}
        self.expect(case, "other axes than the mesh has",
                    [a for a in axes if not set(a.split(",")) <= names], [])
        if mesh == "dp=4":
            weights = entry["memory_per_device"]["state_by_kind"]["weight"]
            least = 2 * 3 / 4 * (4 * weights if "--zero 3" in case else weights)
            # ZeRO 3 may gather weights again for the backward pass.
            most = (1.5 if "--zero 3" in case else 1) * least
            sent = axes["dp"]["ring_bytes"]
            self.expect(case, f"bytes over dp, {sent} of {least} to {most}",
                        0.97 * least <= sent <= 1.03 * most + 640, True)

    def check_allocated(self, case, memory, report):
        devices = report["allocated_bytes_per_device"]
        self.expect(case, "allocated", devices, [memory["total"]] * len(devices))

    def forward(self):
        for mesh, flags in FORWARD:
            case = " ".join(["forward", mesh, *flags])
            # Weights for `cleave run`: those of a first checkpoint.
            program, _, memory = self.compile("forward", mesh, flags)
            self.check_sums(case, memory)
            self.check_allocated(case, memory, json.loads(
                self.run("run", program, "--weights", self.folder / "run/step-000001", "--json")))

    def training(self):
        by_zero = {}
        for mesh, flags in TRAINING:
            case = " ".join(["train_step", mesh, *flags])
            program, root, memory = self.compile("train_step", mesh, flags)
            self.check_sums(case, memory)
            self.check_traffic(case, mesh, root["entries"][0])
            arguments = ["--checkpoint-dir", self.folder / "run"] if not by_zero else []
            self.check_allocated(case, memory, json.loads(
                self.run("train", program, "--init", 1, "--data", self.folder / "text.txt",
                         "--steps", 1, "--json", *arguments)))
            if mesh == "dp=4":
                by_zero[int(flags[1]) if flags else 0] = root, memory
        self.zero(4, by_zero)

    def zero(self, count, by_zero):
        """Bytes by kind under each stage, and the padding of every tensor that is cut."""
        whole = {kind: by_zero[0][1]["state_by_kind"][kind] for kind in ("weight", "optimizer")}
        for stage, (root, memory) in by_zero.items():
            case = f"train_step dp={count} --zero {stage}"
            cut = {"optimizer": stage >= 1, "weight": stage >= 3}
            for kind, bytes_of_kind in whole.items():
                padding = number = 0
                for state in root["states"]:
                    if state["kind"] != kind:
                        continue
                    size = {"F32": 4, "I64": 8}[state["dtype"]]
                    elements = math.prod(state["shape"])
                    if not state["shape"]:
                        number += size  # The step's number, on every device.
                    elif cut[kind]:
                        padding += state["bytes_per_device"] - size * elements / count
                wanted = (bytes_of_kind - number) / count + padding + number if cut[kind] \
                    else bytes_of_kind
                self.expect(case, f"{kind} bytes", memory["state_by_kind"][kind], wanted)
                self.expect(case, f"padding of {kind}s",
                            padding <= 0.05 * bytes_of_kind / count, True)
        # Between microbatches stage 1 holds whole sums of gradients, stage 2 shards of them and what
        # is on its way of two layers in six.
        large = self.folder / "large.json"
        large.write_text(json.dumps(LARGE))
        memory = {stage: self.compile("train_step", f"dp={count}",
                                      ["--microbatches", "3", "--zero", str(stage)], large)[2]
                  for stage in (1, 2)}
        saved = memory[1]["scratch"] - memory[2]["scratch"]
        least = 0.7 * memory[1]["state_by_kind"]["weight"] * (1 - 1 / count)
        self.expect(f"dp={count} --microbatches 3", f"ZeRO 2 saves {saved} of {least} bytes",
                    saved >= least, True)
        gradients = {stage: memory["gradients_held"] for stage, (_, memory) in by_zero.items()}
        self.expect("dp=4", "gradients", gradients[0] >= whole["weight"], True)
        alignment = 64 * 2 * 20
        for stage in (2, 3):
            self.expect(f"dp=4 --zero {stage}", f"gradients {gradients[stage]} of {gradients[0]}",
                        gradients[stage] <= gradients[0] / count + alignment, True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, help="the cleave binary")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        checker = Checker(arguments.cleave, pathlib.Path(scratch))
        checker.training()
        checker.forward()
    print(f"{len(FORWARD) + len(TRAINING)} programs, {checker.failures} failures")
    return 1 if checker.failures else 0


if __name__ == "__main__":
    sys.exit(main())
