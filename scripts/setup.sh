#!/usr/bin/env bash
# Copyright 2026 The Cleave Authors.
# SPDX-License-Identifier: Apache-2.0

# Installs what building and testing Cleave needs, from the packages of Debian or Ubuntu. Run it as
# root or as a user with sudo; it asks nothing, and does nothing when all is there.
set -euo pipefail

packages=(
  # Compiler and linker, and LLD as a library: the compiler links host kernels in its own process.
  clang-22 lld-22 liblld-22-dev libclang-rt-22-dev
  # MLIR and LLVM, with mlir-tblgen, FileCheck, not, split-file and lit.
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  # Build tools.
  cmake ninja-build ccache python3 git clang-format-22
  # Libraries of the runtime and the compiler.
  libdnnl-dev libabsl-dev libflatbuffers-dev flatbuffers-compiler nlohmann-json3-dev
  libxxhash-dev libdlpack-dev libcli11-dev
  libzstd-dev zlib1g-dev
  # Tests and benchmarks.
  libgtest-dev libgmock-dev libbenchmark-dev
)

fail() {
  echo "setup: $*" >&2
  exit 1
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  fail "apt-get was not found: this script knows Debian and Ubuntu only. Install the equivalents of" \
    "these packages yourself: ${packages[*]}"
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${Status}' "$package" 2>/dev/null || true)
  [[ $state == "install ok installed" ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "setup: all packages are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  command -v sudo >/dev/null ||
    fail "${#missing[@]} packages are missing (${missing[*]}) and this user can not install them:" \
      "run scripts/setup.sh as root, or install sudo."
  as_root=(sudo)
fi
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -o Dpkg::Use-Pty=0 "$@"
}

echo "setup: installing ${missing[*]}"
apt update -qq ||
  fail "apt-get update failed (its message is above): check the network and the apt sources."

unknown=()
for package in "${missing[@]}"; do
  [[ -n $(apt-cache madison "$package" 2>/dev/null) ]] || unknown+=("$package")
done
if ((${#unknown[@]})); then
  release=$(. /etc/os-release && echo "${PRETTY_NAME:-this release}")
  fail "the apt sources of $release have no package ${unknown[*]}." \
    "Cleave needs LLVM and MLIR 22. Debian 12 has them in its security archive" \
    "(suite bookworm-security); on a release without them add an apt source that carries LLVM 22," \
    "then run scripts/setup.sh again."
fi

apt install --no-install-recommends "${missing[@]}" ||
  fail "apt-get install failed (its message is above)."
echo "setup: installed ${#missing[@]} packages"
