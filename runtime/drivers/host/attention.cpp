// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
#include "drivers/host/attention.h"
#include "absl/strings/str_cat.h"
#include "drivers/host/attention_kernels.h"
#include <algorithm>
#include <cmath>

namespace cleave::host {
namespace {

/// Rows (queries x groups) an item aims at. Packing a key block is shared by the rows of an item;
/// beyond some two hundred it no longer shows, and fewer items mean fewer threads.
constexpr int64_t kTargetRows = 192;
/// Positions beyond it would overflow; no sequence is so long.
constexpr int64_t kMaxPosition = int64_t(1) << 60;

absl::Status invalid(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("attention: ", what));
}

/// False if the product does not fit, so that offsets can be computed without care afterwards.
bool productFits(std::initializer_list<int64_t> sizes) {
  int64_t product = 8; // bytes of an element, and room
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(product, std::max<int64_t>(size, 1), &product))
      return false;
  return true;
}

absl::Status check(const AttentionDesc &desc) {
  if (desc.dtype != fb::DType::F32 && desc.dtype != fb::DType::BF16 && desc.dtype != fb::DType::F16)
    return invalid(
        absl::StrCat("elements must be F32, BF16 or F16, found ", fb::EnumNameDType(desc.dtype)));
  struct {
    const char *name;
    int64_t size;
  } sizes[] = {
      {"batch", desc.batch},   {"sq", desc.sq}, {"skv", desc.skv}, {"kv_heads", desc.kvHeads},
      {"groups", desc.groups}, {"d", desc.d},   {"dv", desc.dv}};
  for (auto [name, size] : sizes)
    if (size < 0)
      return invalid(absl::StrCat(name, " must not be negative, found ", size));
  if (!productFits({desc.batch, desc.sq, desc.kvHeads, desc.groups, std::max(desc.d, desc.dv)}) ||
      !productFits({desc.batch, desc.skv, desc.kvHeads, std::max(desc.d, desc.dv)}))
    return invalid("the operands are larger than memory can be");
  if (desc.validKeys < 0 || desc.validKeys > desc.skv)
    return invalid(absl::StrCat("the number of valid keys must be in 0..", desc.skv, ", found ",
                                desc.validKeys));
  if (desc.queryOffset > kMaxPosition || desc.queryOffset < -kMaxPosition)
    return invalid(absl::StrCat("query_offset is out of range: ", desc.queryOffset));
  if (!std::isfinite(desc.scale))
    return invalid("scale must be a finite number");
  const AttentionDesc::Dropout &drop = desc.dropout;
  for (uint64_t number :
       {drop.position, drop.batchStride, drop.queryStride, drop.headStride, drop.groupStride})
    if (number % kAttentionKeyBlock != 0)
      return invalid(absl::StrCat("position and strides of dropout must be multiples of ",
                                  kAttentionKeyBlock, ", found ", number));
  if (!std::isfinite(drop.scale))
    return invalid("the scale of dropout must be a finite number");
  if (!std::isfinite(desc.softcap) || desc.softcap < 0)
    return invalid("softcap must be a finite number that is not negative");
  return absl::OkStatus();
}

const AttentionKernels *kernelsOf(AttentionIsa isa) {
  static const bool v3 = __builtin_cpu_supports("x86-64-v3");
  static const bool v4 = __builtin_cpu_supports("x86-64-v4");
  if (v4 && isa != AttentionIsa::Avx2)
    return &kAttentionAvx512;
  if (v3 && isa != AttentionIsa::Avx512)
    return &kAttentionAvx2;
  return nullptr;
}

} // namespace

DropoutDraw drawOf(const AttentionDesc &desc, const int64_t *seed, const int64_t *step) {
  if (desc.dropout.threshold == 0)
    return {.threshold = 0, .site = 0, .step = 0, .key = {0, 0}, .scale = 1};
  uint64_t key = uint64_t(*seed);
  return {.threshold = desc.dropout.threshold,
          .site = desc.dropout.site,
          .step = uint32_t(*step),
          .key = {uint32_t(key), uint32_t(key >> 32)},
          .scale = float(desc.dropout.scale)};
}

absl::StatusOr<AttentionPlan> AttentionPlan::create(const AttentionDesc &desc, AttentionIsa isa) {
  if (absl::Status status = check(desc); !status.ok())
    return status;
  AttentionPlan plan;
  plan.desc_ = desc;
  plan.desc_.window = std::min(desc.window, kMaxPosition);
  plan.kernels_ = kernelsOf(isa);
  if (!plan.kernels_)
    return absl::FailedPreconditionError(
        isa == AttentionIsa::Avx512
            ? "attention: this processor has no AVX-512 (x86-64-v4)"
            : "attention: this processor has no AVX2 and FMA (x86-64-v3), which Cleave needs");
  if (desc.batch == 0 || desc.sq == 0 || desc.kvHeads == 0 || desc.groups == 0)
    return plan;
  // As many equal blocks of queries as make the rows of one come near the target.
  int64_t most = std::max<int64_t>(1, kTargetRows / desc.groups);
  plan.queryBlocks_ = (desc.sq + most - 1) / most;
  plan.queryBlock_ = (desc.sq + plan.queryBlocks_ - 1) / plan.queryBlocks_;
  plan.queryBlocks_ = (desc.sq + plan.queryBlock_ - 1) / plan.queryBlock_;
  plan.items_ = desc.batch * desc.kvHeads * plan.queryBlocks_;
  plan.scratchBytes_ = plan.kernels_->scratchBytes(plan.queryBlock_ * desc.groups, desc.d, desc.dv);
  return plan;
}

void AttentionPlan::runItem(const AttentionBuffers &buffers, int64_t index, void *scratch) const {
  // The last blocks of queries see most keys when causal: they come first, so that threads that
  // share the items end together.
  int64_t block = queryBlocks_ - 1 - index % queryBlocks_;
  int64_t head = index / queryBlocks_ % desc_.kvHeads;
  int64_t batch = index / queryBlocks_ / desc_.kvHeads;
  int64_t query = block * queryBlock_;
  int64_t element = desc_.dtype == fb::DType::F32 ? 4 : 2;
  auto at = [&](auto *base, int64_t offset) {
    using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(base)>>,
                                    const char, char>;
    return static_cast<Byte *>(base) + offset * element;
  };

  AttentionItem item;
  item.element = desc_.dtype == fb::DType::F32    ? AttentionElement::F32
                 : desc_.dtype == fb::DType::BF16 ? AttentionElement::BF16
                                                  : AttentionElement::F16;
  item.queries = std::min(queryBlock_, desc_.sq - query);
  item.groups = desc_.groups;
  item.d = desc_.d;
  item.dv = desc_.dv;
  item.kStride = desc_.kvHeads * desc_.d;
  item.vStride = desc_.kvHeads * desc_.dv;
  item.qStride = item.kStride * desc_.groups;
  item.outStride = item.vStride * desc_.groups;
  item.q = at(buffers.q, (batch * desc_.sq + query) * item.qStride + head * desc_.groups * desc_.d);
  item.k = at(buffers.k, batch * desc_.skv * item.kStride + head * desc_.d);
  item.v = at(buffers.v, batch * desc_.skv * item.vStride + head * desc_.dv);
  item.out =
      at(buffers.out, (batch * desc_.sq + query) * item.outStride + head * desc_.groups * desc_.dv);
  item.lseStride = desc_.sq;
  item.lse = buffers.lse
                 ? buffers.lse + (batch * desc_.kvHeads + head) * desc_.groups * desc_.sq + query
                 : nullptr;
  item.position = desc_.queryOffset + query;
  item.validKeys = desc_.validKeys;
  item.causal = desc_.causal;
  item.window = desc_.window;
  item.scale = desc_.scale;
  item.softcap = desc_.softcap;
  item.dropout = drawOf(desc_, buffers.seed, buffers.step);
  const AttentionDesc::Dropout &drop = desc_.dropout;
  item.dropoutQueryStride = drop.queryStride;
  item.dropoutGroupStride = drop.groupStride;
  item.dropoutPosition = drop.position + uint64_t(batch) * drop.batchStride +
                         uint64_t(head) * drop.headStride + uint64_t(query) * drop.queryStride;
  item.scratch = scratch;
  kernels_->item(item);
}

void AttentionPlan::run(const AttentionBuffers &buffers, void *scratch) const {
  for (int64_t item = 0; item < items_; ++item)
    runItem(buffers, item, scratch);
}

} // namespace cleave::host
