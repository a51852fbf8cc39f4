#!/usr/bin/env python3
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0
"""Dropout is the same under every mesh.

- Masks: a program whose output is a mask gives the same bits on one device and on every mesh.
- Steps: loss and every gradient of a training step with dropout are those of one device, within what
  another order of sums rounds, for data, tensor and sequence parallelism, ZeRO, sizes that do not
  divide, and microbatches; another seed, and another step, drop other elements.
- Runs: a run that is resumed, under the same mesh, is the uninterrupted run bit by bit, and under
  another one within rounding.
- Costs: a step with dropout sends and keeps what one without does, beside the seed.
- `cleave verify`: such a step against the float64 interpreter.
"""
import argparse
import array
import json
import pathlib
import subprocess
import tempfile

MASKS = """
func.func @masks(%x: tensor<6x10x40xf32> {cleave.input = "x", cleave.logical = #cleave.logical<["batch", "seq", "mlp"]>},
                 %q: tensor<6x10x4x1x8xf32> {cleave.input = "q", cleave.logical = #cleave.logical<["batch", "seq", "kv_heads", "q_groups", "head_dim"]>},
                 %k: tensor<6x10x4x8xf32> {cleave.input = "k", cleave.logical = #cleave.logical<["batch", "seq_attn", "kv_heads", "head_dim"]>},
                 %seed: tensor<i64> {cleave.input = "seed"}, %step: tensor<i64> {cleave.input = "step"})
    -> (tensor<6x10x40xf32> {cleave.output = "mask"}, tensor<6x10x4x1x10xf32> {cleave.output = "weights"}) attributes {cleave.entry} {
  %zero = graph.constant dense<0.0> : tensor<6x10x40xf32>
  %one = graph.constant dense<1.0> : tensor<6x10x40xf32>
  %0 = graph.multiply %x, %zero : tensor<6x10x40xf32>
  %1 = graph.add %0, %one : tensor<6x10x40xf32>
  %2 = graph.dropout %1 seed %seed step %step <rate = 0.25, site = 77> : (tensor<6x10x40xf32>, tensor<i64>, tensor<i64>) -> tensor<6x10x40xf32>
  %qz = graph.constant dense<0.0> : tensor<6x10x4x1x8xf32>
  %q0 = graph.multiply %q, %qz : tensor<6x10x4x1x8xf32>
  %row = graph.iota dim 1 : tensor<6x10x4x10xi64>
  %column = graph.iota dim 3 : tensor<6x10x4x10xi64>
  %same = graph.compare eq %row, %column : (tensor<6x10x4x10xi64>, tensor<6x10x4x10xi64>) -> tensor<6x10x4x10xi1>
  %v = graph.convert %same : tensor<6x10x4x10xi1> -> tensor<6x10x4x10xf32>
  %3 = graph.attention %q0, %k, %v seed %seed step %step scale = 1.0 dropout = <rate = 0.5, site = 78>
      : (tensor<6x10x4x1x8xf32>, tensor<6x10x4x8xf32>, tensor<6x10x4x10xf32>, tensor<i64>, tensor<i64>) -> tensor<6x10x4x1x10xf32>
  return %2, %3 : tensor<6x10x40xf32>, tensor<6x10x4x1x10xf32>
}
"""
MASK_MESHES = ["dp=2", "dp=4", "tp=2", "tp=3", "dp=2,tp=4", "dp=3,tp=2", "tp=4 --sequence-parallel"]
STEP_MESHES = ["dp=4", "tp=2", "tp=3 --sequence-parallel", "dp=2,tp=4 --zero 1",
               "dp=3 --zero 3", "dp=2,tp=2 --sequence-parallel --microbatches 2",
               "dp=1 --microbatches 4"]
LIMIT = 2e-5


def read(path):
    """Tensors of numbers by name."""
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        values = array.array({"F32": "f", "I64": "q"}[entry["dtype"]])
        values.frombytes(data[begin:end])
        tensors[name] = values
    return tensors


def worst(found, expected, names):
    """The largest difference of a tensor over its largest entry, and the tensor."""
    result = (0.0, "")
    for name in names:
        scale = max([1e-3] + [abs(x) for x in expected[name]])
        difference = max(abs(a - b) for a, b in zip(found[name], expected[name], strict=True))
        result = max(result, (difference / scale, name))
    return result


class Check:
    def __init__(self, cleave, data, folder):
        self.cleave, self.data, self.folder = cleave, data, pathlib.Path(folder)
        self.failures = 0

    def expect(self, condition, what):
        if not condition:
            self.failures += 1
            print("FAILED:", what)

    def run(self, *args):
        result = subprocess.run([self.cleave, *map(str, args)], capture_output=True, text=True)
        if result.returncode:
            raise SystemExit(f"cleave {' '.join(map(str, args))}\n{result.stdout}{result.stderr}")
        return result.stdout

    def masks(self):
        source = self.folder / "masks.mlir"
        source.write_text(MASKS)
        expected = None
        for mesh in ["dp=1"] + MASK_MESHES:
            program, outputs = self.folder / "masks.cleave", self.folder / "masks.safetensors"
            self.run("compile", source, "-o", program, "--mesh", *mesh.split())
            self.run("run", program, "--outputs", outputs, "--seed", 3)
            tensors = {name: values.tobytes() for name, values in read(outputs).items()}
            expected = expected or tensors
            self.expect(tensors == expected, f"masks under {mesh} are not those of one device")
        tensors = read(outputs)
        kept = sum(x != 0 for x in tensors["mask"]) / len(tensors["mask"])
        self.expect(abs(kept - 0.75) < 0.04, f"a rate of 0.25 keeps {kept} of 2400")
        # Scores are all 0: each weight is 1/10, kept ones twice that.
        self.expect(all(x == 0 or abs(x - 0.2) < 1e-6 for x in tensors["weights"]),
                    "weights of attention are neither 0 nor 0.2")
        kept = sum(x != 0 for x in tensors["weights"]) / len(tensors["weights"])
        self.expect(abs(kept - 0.5) < 0.05, f"a rate of 0.5 keeps {kept} of 2400 weights")

    def compile(self, model, mesh, name, *more, rate=0.2, sequence=16):
        program = self.folder / (name + ".cleave")
        self.run("compile", self.data / model, "--entry", "train_step", "--dropout", rate, "--batch", 8,
                 "--seq", sequence, "-o", program, "--mesh", *mesh.split(), *more)
        return program

    def train(self, program, model, steps, name, *more):
        """The checkpoint after some steps."""
        folder = self.folder / name
        self.run("train", program, "--data", self.folder / "data", "--steps", steps, "--checkpoint-dir",
                 folder, *more)
        checkpoint = folder / (folder / "latest").read_text().strip()
        return read(checkpoint / "model.safetensors") | read(checkpoint / "optimizer.safetensors")

    def gradients(self, program, model, name, seed=0):
        """With beta1 = 0, first moments are gradients."""
        return self.train(program, model, 1, name, "--weights", self.data / model, "--beta1", 0,
                          "--lr", 0, "--weight-decay", 0, "--clip", 0, "--seed", seed)

    def steps(self, model):
        one = self.compile(model, "dp=1", model)
        expected = self.gradients(one, model, model + "-one")
        names = [name for name in expected if name.endswith(".exp_avg")]
        for number, mesh in enumerate(STEP_MESHES):
            program = self.compile(model, mesh, f"{model}-{number}")
            found = self.gradients(program, model, f"{model}-{number}")
            difference, name = worst(found, expected, names)
            self.expect(difference <= LIMIT,
                        f"{model} under {mesh}: gradient {name} differs by {difference:.1e}")
        other = self.gradients(one, model, model + "-seed", seed=1)
        self.expect(worst(other, expected, names)[0] > 1e-2, f"{model}: another seed, the same masks")
        report = self.run("verify", self.folder / f"{model}-3.cleave", "--weights", self.data / model)
        self.expect("in float64" in report, f"{model}: verify did not use the oracle")

    def costs(self, model):
        config = json.loads((self.data / model / "config.json").read_text())
        layers, heads, width = (config[key] for key in ("n_layer", "n_head", "n_embd"))
        rows, sequence = 8, 64
        # One byte an element: dropout behind the embedding and twice in a layer, and of attention.
        masks = rows * sequence * (width * (1 + 2 * layers) + layers * heads * sequence)
        for mesh, parts in (("tp=2 --sequence-parallel", 2), ("dp=2,tp=2 --zero 3 --microbatches 2", 8)):
            found = []
            for rate in (0, 0.2):
                program = self.compile(model, mesh, "cost", rate=rate, sequence=sequence)
                report = json.loads(self.run("inspect", program, "--json"))
                entry = next(e for e in report["entries"] if e["name"] == "train_step")
                found.append((sum(c["runs"] * c["ring_bytes"] for c in entry["collectives"]),
                              entry["memory_per_device"]["total"]))
            (sent, memory), (sent_more, memory_more) = found
            self.expect(sent == sent_more, f"dropout under {mesh} sends {sent_more} and not {sent}")
            # A seed, and what memory packing makes of other kernels; no mask.
            self.expect(memory_more < memory + masks / parts / 2,
                        f"dropout under {mesh} takes {memory_more} bytes and not {memory}")

    def resume(self, model):
        """The last steps change nothing: what differs between them are the masks."""
        start = ["--weights", self.data / model, "--lr", 1e-3, "--seed", 5]
        program = self.compile(model, "dp=2,tp=2", "whole", "--zero", 1)
        whole = self.train(program, model, 4, "whole", *start)
        self.train(program, model, 2, "parts", *start)
        parts = self.train(program, model, 4, "parts", "--resume", "--lr", 1e-3)
        self.expect(parts == whole, "a resumed run is not the uninterrupted one")
        self.train(program, model, 2, "other", *start)
        other = self.compile(model, "dp=3", "other", "--zero", 3, "--microbatches", 2)
        parts = self.train(other, model, 4, "other", "--resume", "--lr", 1e-3)
        # Adam divides by roots of small numbers: what rounds away is larger than in a gradient.
        weights = [name for name in whole if not name.endswith((".exp_avg", ".exp_avg_sq"))]
        difference, name = worst(parts, whole, weights)
        self.expect(difference <= 1e-3, f"resumed under another mesh, {name} differs by {difference:.1e}")
        losses = []
        self.train(program, model, 3, "still", "--weights", self.data / model, "--lr", 0,
                   "--weight-decay", 0, "--log", self.folder / "log")
        for line in (self.folder / "log").read_text().splitlines():
            losses.append(json.loads(line)["loss"])
        self.expect(len(set(losses)) == 3, f"steps of one batch drop the same: {losses}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cleave", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check = Check(args.cleave, args.data, folder)
        (pathlib.Path(folder) / "data").write_bytes(bytes(range(97, 97 + 16)) * 8)
        check.masks()
        check.steps("gpt2")
        check.steps("llama-gqa")
        check.costs("gpt2")
        check.resume("gpt2")
    if check.failures:
        raise SystemExit(f"{check.failures} failed")
    print("dropout: the same under every mesh")


if __name__ == "__main__":
    main()
