// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "core/verify_instruction.h"

#include "base/checked.h"
#include "core/expr.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace cleave::rt {
namespace {

constexpr uint64_t kMaxExtent = uint64_t(1) << 40; ///< of any dimension an instruction names
constexpr uint64_t kKernelAlignment = 64;

template <typename... Parts> Status bad(Parts &&...parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

bool overlaps(const fb::BufferRef &a, const fb::BufferRef &b) {
  return a.region() == b.region() && a.bytes() && b.bytes() &&
         a.offset() < b.offset() + b.bytes() && b.offset() < a.offset() + a.bytes();
}

bool same(const fb::BufferRef &a, const fb::BufferRef &b) {
  return a.region() == b.region() && a.offset() == b.offset() && a.bytes() == b.bytes();
}

/// A strided operand [batch, rows, columns]: one of the last two strides is 1, no two elements
/// coincide (a batch stride of 0 shares the matrix), and the last element lies in the buffer.
Status checkStrides(absl::string_view what, const flatbuffers::Vector<int64_t> *strides,
                    std::array<uint64_t, 3> extents, const fb::BufferRef &ref, uint64_t elementSize,
                    bool mayShareBatch) {
  if (!strides || strides->size() != 3)
    return bad("operand ", what, " has ", strides ? strides->size() : 0, " strides, not 3");
  Checked last(1);
  std::array<std::pair<uint64_t, uint64_t>, 3> order; // (stride, extent)
  bool empty = false;
  for (size_t i = 0; i < 3; ++i) {
    int64_t stride = strides->Get(flatbuffers::uoffset_t(i));
    if (stride < 0 || uint64_t(stride) > kMaxExtent)
      return bad("operand ", what, " has stride ", stride);
    if (extents[i] == 0)
      empty = true;
    else
      last = last + Checked(extents[i] - 1) * Checked(uint64_t(stride));
    bool shared = i == 0 && mayShareBatch && stride == 0;
    order[i] = {shared ? 0 : uint64_t(stride), shared ? 1 : extents[i]};
  }
  if (empty)
    return absl::OkStatus();
  Checked bytes = last * Checked(elementSize);
  if (!bytes.atMost(ref.bytes()))
    return bad("operand ", what, " reaches beyond its ", ref.bytes(), " bytes");
  bool unit = strides->Get(1) == 1 || strides->Get(2) == 1;
  if (!unit)
    return bad("operand ", what, " has no unit stride in its last two dimensions");
  std::sort(order.begin(), order.end());
  uint64_t span = 0; // distance from the first to the last element of the smaller strides
  for (auto [stride, extent] : order) {
    if (extent <= 1)
      continue;
    if (stride <= span)
      return bad("operand ", what, " has overlapping elements");
    span += stride * (extent - 1); // bounded by `last`
  }
  return absl::OkStatus();
}

} // namespace

InstructionVerifier::InstructionVerifier(const fb::Executable &executable, const Mesh &mesh,
                                         const EntryInfo &entry)
    : executable_(executable), mesh_(mesh), entry_(entry) {
  for (uint32_t d = 0; d < mesh.numDevices(); ++d)
    coordinates_.push_back(entry.coordinates(mesh, d));
}

Status InstructionVerifier::verify(const fb::Instr &instr, uint32_t index, const Segment &segment) {
  repetitions_ = segment.repetitions;
  if (instr.stream() >= kMaxStreams)
    return bad("stream ", instr.stream(), ", at most ", kMaxStreams, " are allowed");
  if (instr.waits())
    for (uint32_t w : *instr.waits())
      if (w >= index || w < segment.begin)
        return bad("waits for instruction ", w, ", which is not an earlier one of its segment");
  switch (instr.op_type()) {
  case fb::Op::Launch:
    return verifyOp(*instr.op_as_Launch());
  case fb::Op::Gemm:
    return verifyOp(*instr.op_as_Gemm());
  case fb::Op::Attention:
    return verifyAttention(*instr.op_as_Attention(), nullptr);
  case fb::Op::AttentionGrad:
    return verifyAttention(*instr.op_as_AttentionGrad(), instr.op_as_AttentionGrad());
  case fb::Op::Copy:
    return verifyOp(*instr.op_as_Copy());
  case fb::Op::Fill:
    return verifyOp(*instr.op_as_Fill());
  case fb::Op::Collective:
    return verifyOp(*instr.op_as_Collective());
  case fb::Op::NONE:
    break;
  }
  return bad("unknown operation ", int(instr.op_type()));
}

Status InstructionVerifier::checkRef(absl::string_view what, const fb::BufferRef *ref,
                                     uint64_t alignment) {
  if (!ref)
    return bad("operand ", what, " is missing");
  if (ref->region() > fb::Region::MAX || ref->region() == fb::Region::Host)
    return bad("operand ", what, " lies in unknown region ", int(ref->region()));
  uint64_t limit = entry_.regionBytes[size_t(ref->region())];
  if (!(Checked(ref->offset()) + Checked(ref->bytes())).atMost(limit))
    return bad("operand ", what, " at offset ", ref->offset(), " with ", ref->bytes(),
               " bytes leaves the ", fb::EnumNameRegion(ref->region()), " region of ", limit,
               " bytes");
  if (ref->offset() % alignment != 0)
    return bad("operand ", what, " at offset ", ref->offset(), " is not aligned to ", alignment,
               " bytes");
  uint64_t &last = lastUse_[size_t(ref->region())];
  last = std::max(last, ref->offset() + ref->bytes());
  return absl::OkStatus();
}

Status InstructionVerifier::checkRange(absl::string_view what, const fb::Expr *expr, int64_t low,
                                       int64_t high, int64_t multiple) {
  if (!expr)
    return absl::OkStatus();
  CLEAVE_RETURN_IF_ERROR(checkExpr(*expr, entry_.axisLists.size(), repetitions_));
  size_t devices = dependsOnDevice(*expr) ? coordinates_.size() : 1;
  uint32_t repetitions = dependsOnRepetition(*expr) ? repetitions_ : 1;
  for (size_t d = 0; d < devices; ++d) {
    for (uint32_t r = 0; r < repetitions; ++r) {
      CLEAVE_ASSIGN_OR_RETURN(int64_t value, evaluate(*expr, coordinates_[d], r));
      if (value < low || value > high)
        return bad(what, " is ", value, " on device ", d, ", outside ", low, "..", high);
      if (value % multiple != 0)
        return bad(what, " is ", value, " on device ", d, ", not a multiple of ", multiple);
    }
  }
  return absl::OkStatus();
}

Status InstructionVerifier::verifyOp(const fb::Launch &op) {
  uint64_t kernels = executable_.kernels() ? executable_.kernels()->size() : 0;
  if (op.kernel() >= kernels)
    return bad("kernel ", op.kernel(), " of ", kernels);
  const fb::Kernel &kernel = *executable_.kernels()->Get(op.kernel());
  if (op.buffers()->size() != kernel.buffers())
    return bad(op.buffers()->size(), " buffers for a kernel of ", kernel.buffers());
  uint64_t scalars = op.scalars() ? op.scalars()->size() : 0;
  if (scalars != kernel.scalars())
    return bad(scalars, " scalars for a kernel of ", kernel.scalars());
  for (flatbuffers::uoffset_t i = 0; i < kernel.buffers(); ++i) {
    const fb::BufferRef *ref = op.buffers()->Get(i);
    CLEAVE_RETURN_IF_ERROR(checkRef(absl::StrCat(i), ref, kKernelAlignment));
    if (ref->bytes() < kernel.buffer_bytes()->Get(i))
      return bad("operand ", i, " has ", ref->bytes(), " bytes, the kernel touches ",
                 kernel.buffer_bytes()->Get(i));
    // Kernels are compiled for buffers that do not alias what they write.
    for (flatbuffers::uoffset_t j = 0; j < i; ++j) {
      bool writes = fb::Access(kernel.access()->Get(i)) != fb::Access::Read ||
                    fb::Access(kernel.access()->Get(j)) != fb::Access::Read;
      if (writes && overlaps(*ref, *op.buffers()->Get(j)))
        return bad("operands ", j, " and ", i, " overlap and one is written");
    }
  }
  for (flatbuffers::uoffset_t i = 0; i < scalars; ++i)
    CLEAVE_RETURN_IF_ERROR(checkRange(absl::StrCat("scalar ", i), op.scalars()->Get(i),
                                      kernel.scalar_min()->Get(i), kernel.scalar_max()->Get(i)));
  return absl::OkStatus();
}

Status InstructionVerifier::verifyOp(const fb::Gemm &op) {
  DType ab = op.dtype_ab(), c = op.dtype_c();
  if ((ab != DType::F32 && ab != DType::BF16 && ab != DType::F16) || (c != DType::F32 && c != ab))
    return bad("a matrix product of ", nameOf(ab), " into ", nameOf(c), " is not supported");
  for (uint64_t extent : {op.batch(), op.m_max(), op.n_max(), op.k_max()})
    if (extent > kMaxExtent)
      return bad("extent ", extent, " is too large");
  CLEAVE_RETURN_IF_ERROR(checkRef("a", op.a(), sizeOf(ab)));
  CLEAVE_RETURN_IF_ERROR(checkRef("b", op.b(), sizeOf(ab)));
  CLEAVE_RETURN_IF_ERROR(checkRef("c", op.c(), sizeOf(c)));
  CLEAVE_RETURN_IF_ERROR(checkRange("m", op.m(), 0, int64_t(op.m_max())));
  CLEAVE_RETURN_IF_ERROR(checkRange("n", op.n(), 0, int64_t(op.n_max())));
  CLEAVE_RETURN_IF_ERROR(checkRange("k", op.k(), 0, int64_t(op.k_max())));
  CLEAVE_RETURN_IF_ERROR(checkStrides("a", op.a_strides(), {op.batch(), op.m_max(), op.k_max()},
                                      *op.a(), sizeOf(ab), true));
  CLEAVE_RETURN_IF_ERROR(checkStrides("b", op.b_strides(), {op.batch(), op.k_max(), op.n_max()},
                                      *op.b(), sizeOf(ab), true));
  CLEAVE_RETURN_IF_ERROR(checkStrides("c", op.c_strides(), {op.batch(), op.m_max(), op.n_max()},
                                      *op.c(), sizeOf(c), false));
  if (overlaps(*op.c(), *op.a()) || overlaps(*op.c(), *op.b()))
    return bad("the result overlaps an operand");
  return absl::OkStatus();
}

Status InstructionVerifier::verifyDropout(const fb::Dropout &dropout,
                                          std::array<uint64_t, 4> extents) {
  constexpr uint64_t kBlock = 64, kMaxPosition = uint64_t(1) << 60;
  for (auto [what, ref] : {std::pair("seed", dropout.seed()), std::pair("step", dropout.step())}) {
    CLEAVE_RETURN_IF_ERROR(checkRef(what, ref, 8));
    if (ref->bytes() < 8)
      return bad("operand ", what, " has ", ref->bytes(), " bytes, and is an I64");
  }
  if (!std::isfinite(dropout.scale()))
    return bad("the scale of dropout is ", dropout.scale());
  Checked last(0);
  uint64_t strides[] = {dropout.batch_stride(), dropout.query_stride(), dropout.head_stride(),
                        dropout.group_stride()};
  for (size_t i = 0; i < extents.size(); ++i) {
    if (strides[i] % kBlock != 0)
      return bad("a stride of dropout is ", strides[i], ", not a multiple of ", kBlock);
    last = last + Checked(std::max<uint64_t>(extents[i], 1) - 1) * Checked(strides[i]);
  }
  if (!last.atMost(kMaxPosition))
    return bad("positions of dropout are too large");
  return checkRange("the position of dropout", dropout.position(), 0, int64_t(kMaxPosition),
                    kBlock);
}

template <typename Op>
Status InstructionVerifier::verifyAttention(const Op &op, const fb::AttentionGrad *grad) {
  if (op.dtype() != DType::F32 && op.dtype() != DType::BF16 && op.dtype() != DType::F16)
    return bad("attention on ", nameOf(op.dtype()), " is not supported");
  for (uint64_t extent :
       {op.batch(), op.sq(), op.skv(), op.kv_heads(), op.groups(), op.d(), op.dv()})
    if (extent > kMaxExtent)
      return bad("extent ", extent, " is too large");
  if (op.d() == 0 || op.dv() == 0)
    return bad("a head dimension is 0");
  uint64_t size = sizeOf(op.dtype());
  auto check = [&](absl::string_view what, const fb::BufferRef *ref, uint64_t alignment,
                   Checked bytes) -> Status {
    CLEAVE_RETURN_IF_ERROR(checkRef(what, ref, alignment));
    if (!bytes.atMost(ref->bytes()))
      return bad("operand ", what, " has ", ref->bytes(), " bytes, its shape takes ",
                 bytes.valid() ? absl::StrCat(bytes.value()) : "more than there are");
    return absl::OkStatus();
  };
  Checked rows = checkedProduct({op.batch(), op.sq(), op.kv_heads(), op.groups()});
  Checked keys = checkedProduct({op.batch(), op.skv(), op.kv_heads()});
  CLEAVE_RETURN_IF_ERROR(check("q", op.q(), size, rows * Checked(op.d()) * Checked(size)));
  CLEAVE_RETURN_IF_ERROR(check("k", op.k(), size, keys * Checked(op.d()) * Checked(size)));
  CLEAVE_RETURN_IF_ERROR(check("v", op.v(), size, keys * Checked(op.dv()) * Checked(size)));
  CLEAVE_RETURN_IF_ERROR(check("out", op.out(), size, rows * Checked(op.dv()) * Checked(size)));
  bool lse = op.lse() && op.lse()->bytes() != 0;
  if (lse)
    CLEAVE_RETURN_IF_ERROR(check("lse", op.lse(), 4, rows * Checked(4)));
  if (grad) {
    CLEAVE_RETURN_IF_ERROR(
        check("dout", grad->dout(), size, rows * Checked(op.dv()) * Checked(size)));
    CLEAVE_RETURN_IF_ERROR(check("dq", grad->dq(), size, rows * Checked(op.d()) * Checked(size)));
    CLEAVE_RETURN_IF_ERROR(check("dk", grad->dk(), size, keys * Checked(op.d()) * Checked(size)));
    CLEAVE_RETURN_IF_ERROR(
        check("dv", grad->dvalue(), size, keys * Checked(op.dv()) * Checked(size)));
    const fb::BufferRef *results[] = {grad->dq(), grad->dk(), grad->dvalue()};
    for (const fb::BufferRef *result : results) {
      for (const fb::BufferRef *ref : {op.q(), op.k(), op.v(), op.out(), grad->dout()})
        if (overlaps(*result, *ref))
          return bad("a result overlaps an operand");
      if (lse && overlaps(*result, *op.lse()))
        return bad("a result overlaps an operand");
      for (const fb::BufferRef *other : results)
        if (other != result && overlaps(*result, *other))
          return bad("the results overlap");
    }
  } else {
    for (const fb::BufferRef *ref : {op.q(), op.k(), op.v()})
      if (overlaps(*op.out(), *ref) || (lse && overlaps(*op.lse(), *ref)))
        return bad("a result overlaps an operand");
    if (lse && overlaps(*op.lse(), *op.out()))
      return bad("the results overlap");
  }
  if (const fb::Dropout *dropout = op.dropout()) {
    CLEAVE_RETURN_IF_ERROR(
        verifyDropout(*dropout, {op.batch(), op.sq(), op.kv_heads(), op.groups()}));
    for (const fb::BufferRef *ref : {dropout->seed(), dropout->step()}) {
      bool written = grad ? overlaps(*ref, *grad->dq()) || overlaps(*ref, *grad->dk()) ||
                                overlaps(*ref, *grad->dvalue())
                          : overlaps(*ref, *op.out()) || (lse && overlaps(*ref, *op.lse()));
      if (written)
        return bad("a result overlaps the seed or the step");
    }
  }
  if (op.window() < -1)
    return bad("window is ", op.window());
  if (!std::isfinite(op.scale()) || !std::isfinite(op.softcap()) || op.softcap() < 0)
    return bad("scale is ", op.scale(), " and softcap is ", op.softcap());
  CLEAVE_RETURN_IF_ERROR(
      checkRange("query_offset", op.query_offset(), -int64_t(kMaxExtent), int64_t(kMaxExtent)));
  return checkRange("skv_valid", op.skv_valid(), 0, int64_t(op.skv()));
}

Status InstructionVerifier::verifyOp(const fb::Copy &op) {
  CLEAVE_RETURN_IF_ERROR(checkRef("src", op.src(), 1));
  CLEAVE_RETURN_IF_ERROR(checkRef("dst", op.dst(), 1));
  if (op.src()->bytes() != op.dst()->bytes())
    return bad("copies ", op.src()->bytes(), " bytes to ", op.dst()->bytes());
  if (overlaps(*op.src(), *op.dst()))
    return bad("source and destination overlap");
  return absl::OkStatus();
}

Status InstructionVerifier::verifyOp(const fb::Fill &op) {
  if (!isKnown(op.dtype()))
    return bad("unknown element type ", int(op.dtype()));
  CLEAVE_RETURN_IF_ERROR(checkRef("dst", op.dst(), sizeOf(op.dtype())));
  if (op.dst()->bytes() % sizeOf(op.dtype()) != 0)
    return bad("fills ", op.dst()->bytes(), " bytes with elements of ", sizeOf(op.dtype()));
  return absl::OkStatus();
}

Status InstructionVerifier::verifyOp(const fb::Collective &op) {
  if (op.kind() > fb::CollectiveKind::MAX || op.reduction() > fb::Reduction::MAX)
    return bad("unknown collective ", int(op.kind()), " or reduction ", int(op.reduction()));
  if (!isKnown(op.dtype()))
    return bad("unknown element type ", int(op.dtype()));
  bool reduces =
      op.kind() == fb::CollectiveKind::AllReduce || op.kind() == fb::CollectiveKind::ReduceScatter;
  if (reduces && op.dtype() == DType::I1 && op.reduction() == fb::Reduction::Sum)
    return bad("a sum of booleans is not supported");
  bool permutes = op.kind() == fb::CollectiveKind::Permute;
  if (!permutes && op.axes() >= entry_.axisLists.size())
    return bad("axis list ", op.axes(), " of ", entry_.axisLists.size());
  flatbuffers::uoffset_t parts = op.parts()->size();
  bool mayBeGroup = reduces || op.kind() == fb::CollectiveKind::AllGather;
  if (parts == 0 || (parts > 1 && !mayBeGroup))
    return bad("a collective of ", parts, " parts, ", mayBeGroup ? "it needs at least" : "expected",
               " 1");
  for (flatbuffers::uoffset_t i = 0; i < parts; ++i)
    if (Status status = verifyPart(op, *op.parts()->Get(i)); !status.ok())
      return parts == 1 ? status : annotate(status, absl::StrCat("part ", i));
  if (permutes)
    return verifyPermute(op);
  return parts == 1 ? absl::OkStatus() : verifyDisjoint(op);
}

Status InstructionVerifier::verifyPart(const fb::Collective &op, const fb::CollectivePart &part) {
  uint64_t sites = executable_.sites() ? executable_.sites()->size() : 0;
  if (part.site() >= sites && !(sites == 0 && part.site() == 0))
    return bad("site ", part.site(), " of ", sites);
  uint64_t size = sizeOf(op.dtype());
  CLEAVE_RETURN_IF_ERROR(checkRef("src", part.src(), size));
  CLEAVE_RETURN_IF_ERROR(checkRef("dst", part.dst(), size));
  bool inPlace = op.kind() == fb::CollectiveKind::AllReduce && same(*part.src(), *part.dst());
  if (!inPlace && overlaps(*part.src(), *part.dst()))
    return bad("source and destination overlap");
  if (op.kind() == fb::CollectiveKind::Permute) {
    if (part.src()->bytes() != part.dst()->bytes())
      return bad("sends ", part.src()->bytes(), " bytes and receives ", part.dst()->bytes());
    return absl::OkStatus();
  }
  uint64_t n = shardCount(entry_.axisLists[op.axes()]);
  Checked frame = checkedProduct({part.outer(), part.inner(), size});
  auto covers = [n](uint64_t block, uint64_t dim) {
    Checked total = Checked(n) * Checked(block);
    return total.valid() && total.value() >= dim;
  };
  Checked source = frame * Checked(part.dim()), result = frame * Checked(part.block());
  switch (op.kind()) {
  case fb::CollectiveKind::AllReduce:
    result = source;
    break;
  case fb::CollectiveKind::AllGather:
    std::swap(source, result);
    break;
  case fb::CollectiveKind::AllToAll:
    // source [.., block, dim2 ..], result [.., dim, block2 ..]
    source = frame * Checked(op.middle()) * Checked(part.block()) * Checked(op.dim2());
    result = frame * Checked(op.middle()) * Checked(part.dim()) * Checked(op.block2());
    if (!covers(op.block2(), op.dim2()))
      return bad(n, " blocks of ", op.block2(), " do not cover ", op.dim2());
    break;
  default:
    break;
  }
  if (op.kind() != fb::CollectiveKind::AllReduce && !covers(part.block(), part.dim()))
    return bad(n, " blocks of ", part.block(), " do not cover ", part.dim());
  if (!source.equals(part.src()->bytes()))
    return bad("the source has ", part.src()->bytes(), " bytes, its shape does not");
  if (!result.equals(part.dst()->bytes()))
    return bad("the destination has ", part.dst()->bytes(), " bytes, its shape does not");
  return absl::OkStatus();
}

/// Parts run in any order: what one writes, no other reads or writes.
Status InstructionVerifier::verifyDisjoint(const fb::Collective &op) {
  struct Range {
    fb::Region region;
    uint64_t begin, end;
    bool isWritten;
  };
  std::vector<Range> ranges;
  for (const fb::CollectivePart *part : *op.parts()) {
    auto add = [&](const fb::BufferRef &ref, bool isWritten) {
      if (ref.bytes())
        ranges.push_back({ref.region(), ref.offset(), ref.offset() + ref.bytes(), isWritten});
    };
    add(*part->dst(), true);
    if (!same(*part->src(), *part->dst()))
      add(*part->src(), false);
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.region, a.begin) < std::tie(b.region, b.begin);
  });
  uint64_t readEnd = 0, writtenEnd = 0; // of the ranges before, in the same region
  for (size_t i = 0; i < ranges.size(); ++i) {
    const Range &range = ranges[i];
    if (i == 0 || range.region != ranges[i - 1].region)
      readEnd = writtenEnd = 0;
    if (range.begin < writtenEnd || (range.isWritten && range.begin < readEnd))
      return bad("a part writes what another one reads or writes, at offset ", range.begin,
                 " of the ", fb::EnumNameRegion(range.region), " region");
    uint64_t &end = range.isWritten ? writtenEnd : readEnd;
    end = std::max(end, range.end);
  }
  return absl::OkStatus();
}

Status InstructionVerifier::verifyPermute(const fb::Collective &op) {
  if (!op.peer() || !op.source())
    return bad("a permutation lacks its peer or its source");
  int64_t last = int64_t(mesh_.numDevices()) - 1;
  CLEAVE_RETURN_IF_ERROR(checkRange("peer", op.peer(), -1, last));
  CLEAVE_RETURN_IF_ERROR(checkRange("source", op.source(), -1, last));
  if (dependsOnRepetition(*op.peer()) || dependsOnRepetition(*op.source()))
    return bad("a permutation differs from repetition to repetition");
  for (uint32_t d = 0; d < mesh_.numDevices(); ++d) {
    CLEAVE_ASSIGN_OR_RETURN(int64_t peer, evaluate(*op.peer(), coordinates_[d], 0));
    CLEAVE_ASSIGN_OR_RETURN(int64_t source, evaluate(*op.source(), coordinates_[d], 0));
    if (peer >= 0) {
      CLEAVE_ASSIGN_OR_RETURN(int64_t back, evaluate(*op.source(), coordinates_[size_t(peer)], 0));
      if (back != int64_t(d))
        return bad("device ", d, " sends to ", peer, ", which receives from ", back);
    }
    if (source >= 0) {
      CLEAVE_ASSIGN_OR_RETURN(int64_t back, evaluate(*op.peer(), coordinates_[size_t(source)], 0));
      if (back != int64_t(d))
        return bad("device ", d, " receives from ", source, ", which sends to ", back);
    }
  }
  return absl::OkStatus();
}

} // namespace cleave::rt
