#!/usr/bin/env bash
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# From a fresh machine to a first result: installs what is missing, builds, and carries a small LLaMA
# through the tool. With the folder of built tools as argument, only the last part.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# == 0)); then
  scripts/setup.sh
  cmake --preset release
  cmake --build --preset release --target cleave
  bin=$PWD/build/release/bin
else
  bin=$(cd "$1" && pwd)
fi
PATH=$bin:$PATH
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ln -s "$PWD/test/data/reference/llama-gqa" "$scratch/llama"
cd "$scratch"

title() { printf '\n== %s ==\n' "$*"; }
show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

title "A LLaMA for 8 devices, 2 data parallel x 4 tensor parallel (llama = test/data/reference/llama-gqa)"
show cleave compile llama -o llama.cleave --mesh dp=2,tp=4 --batch 4 --seq 32

title "What was made: how tensors lie, memory, what is communicated"
show cleave inspect llama.cleave

title "Why it communicates: the embedding and the first layer"
show cleave explain llama.cleave | sed -n '1,12p'
echo "  ..."

title "Run on 8 logical devices, each with its shard of the weights"
show cleave run llama.cleave --weights llama --outputs out.safetensors

title "Does it compute what the unsharded program computes?"
show cleave verify llama.cleave --weights llama

title "And what Hugging Face transformers computes?"
show cleave verify llama.cleave --weights llama --reference llama/reference.safetensors \
  --interleavings 20

title "The same model with its parameters sharded over 8 devices, each gathered once"
show cleave compile llama -o llama.cleave --mesh fsdp=8 --batch 8 --seq 32
show cleave inspect llama.cleave | sed -n '/^$/,/^\$/p; /memory per device/,/^    total.*B$/p; /^  collectives/,/^    total/p'
show cleave verify llama.cleave --weights llama

printf '\nNext: docs/tutorial-ml-engineer.md\n'
