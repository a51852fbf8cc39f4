// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "core/executable.h"

#include "base/checked.h"
#include "cleave/schedule_limits.h"
#include "cleave/schema_hash.h"
#include "core/verify_instruction.h"
#include <algorithm>
#include <set>

namespace cleave::rt {
namespace {

/// A region may be larger than its last use by rounding, not by more: a damaged size must not make
/// the runtime allocate what the program has no use for.
constexpr uint64_t kRegionSlack = uint64_t(2) << 20;

Status checkRegion(absl::string_view what, uint64_t bytes, uint64_t used) {
  if (bytes > used && bytes - used > kRegionSlack)
    return absl::DataLossError(
        absl::StrCat(what, " declares ", bytes, " bytes, but its last use ends at ", used));
  return absl::OkStatus();
}

/// No two tensors of one region overlap.
Status checkDisjoint(absl::string_view what, std::vector<const TensorInfo *> tensors) {
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo *a, const TensorInfo *b) {
    return a->offset < b->offset || (a->offset == b->offset && a->bytes < b->bytes);
  });
  for (size_t i = 1; i < tensors.size(); ++i)
    if (tensors[i - 1]->offset + tensors[i - 1]->bytes > tensors[i]->offset)
      return absl::DataLossError(absl::StrCat(what, " '", printable(tensors[i - 1]->name),
                                              "' and '", printable(tensors[i]->name),
                                              "' overlap in memory"));
  std::set<absl::string_view> names;
  for (const TensorInfo *t : tensors)
    if (!names.insert(t->name).second)
      return absl::DataLossError(
          absl::StrCat("two ", what, "s are named '", printable(t->name), "'"));
  return absl::OkStatus();
}

uint64_t lastByte(const std::vector<TensorInfo> &tensors) {
  uint64_t end = 0;
  for (const TensorInfo &t : tensors)
    end = std::max(end, t.offset + t.bytes);
  return end;
}

} // namespace

const char *collectiveName(fb::CollectiveKind kind) {
  switch (kind) {
  case fb::CollectiveKind::AllReduce:
    return "all_reduce";
  case fb::CollectiveKind::AllGather:
    return "all_gather";
  case fb::CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case fb::CollectiveKind::AllToAll:
    return "all_to_all";
  case fb::CollectiveKind::AllSlice:
    return "all_slice";
  case fb::CollectiveKind::Permute:
    return "collective_permute";
  }
  return "unknown";
}

const char *operationName(const fb::Instr &instr) {
  switch (instr.op_type()) {
  case fb::Op::Launch:
    return "launch";
  case fb::Op::Gemm:
    return "gemm";
  case fb::Op::Attention:
    return "attention";
  case fb::Op::AttentionGrad:
    return "attention_grad";
  case fb::Op::Copy:
    return "copy";
  case fb::Op::Fill:
    return "fill";
  case fb::Op::Collective:
    return collectiveName(instr.op_as_Collective()->kind());
  case fb::Op::NONE:
    break;
  }
  return "unknown";
}

std::vector<uint32_t> EntryInfo::coordinates(const Mesh &mesh, uint32_t device) const {
  std::vector<uint32_t> result;
  for (const auto &list : axisLists)
    result.push_back(mesh.coordinate(device, list));
  return result;
}

StatusOr<std::shared_ptr<const Executable>> Executable::load(const std::string &path) {
  CLEAVE_ASSIGN_OR_RETURN(auto bytes, Bytes::read(path));
  auto result = fromBytes(std::move(bytes));
  return result.ok() ? result : annotate(result.status(), printable(path));
}

StatusOr<std::shared_ptr<const Executable>> Executable::fromMemory(std::span<const uint8_t> file) {
  return fromBytes(Bytes::copy(file));
}

StatusOr<std::shared_ptr<const Executable>> Executable::fromBytes(std::shared_ptr<Bytes> bytes) {
  constexpr absl::string_view kAgain = "copy the file again, or compile the model again";
  auto container = openContainer(bytes->span());
  if (!container.ok())
    return absl::IsDataLoss(container.status()) ? advise(container.status(), kAgain)
                                                : container.status();
  std::span<const uint8_t> payload = *container;
  // Every table takes at least 4 bytes, so the size bounds their number.
  flatbuffers::Verifier verifier(payload.data(), payload.size(), /*max_depth=*/32,
                                 flatbuffers::uoffset_t(payload.size() / 4 + 1));
  if (payload.size() >= FLATBUFFERS_MAX_BUFFER_SIZE || !fb::VerifyExecutableBuffer(verifier) ||
      !isAligned(*fb::GetExecutable(payload.data())))
    return advise(absl::DataLossError("damaged: the content is not a well-formed executable"),
                  kAgain);
  std::shared_ptr<Executable> result(new Executable);
  result->root_ = fb::GetExecutable(payload.data());
  result->bytes_ = std::move(bytes);
  if (Status status = result->verify(); !status.ok())
    return advise(annotate(status, "damaged"), kAgain);
  return std::shared_ptr<const Executable>(std::move(result));
}

const EntryInfo *Executable::findEntry(absl::string_view name) const {
  for (const EntryInfo &entry : entries_)
    if (entry.name == name)
      return &entry;
  return nullptr;
}

const StateInfo *Executable::findState(absl::string_view name) const {
  for (const StateInfo &state : states_)
    if (state.tensor.name == name)
      return &state;
  return nullptr;
}

std::string Executable::siteName(const fb::Instr &instr) const {
  const auto *sites = root_->sites();
  if (!sites || instr.site() >= sites->size() || !sites->Get(instr.site())->name())
    return "";
  std::string name = sites->Get(instr.site())->name()->str();
  const fb::Collective *group = instr.op_as_Collective();
  if (group && group->parts()->size() > 1)
    absl::StrAppend(&name, " and ", group->parts()->size() - 1, " more");
  return name;
}

std::string Executable::instructionText(const EntryInfo &entry, size_t index) const {
  const fb::Instr &instr = *entry.schema->instrs()->Get(flatbuffers::uoffset_t(index));
  std::string text = absl::StrCat("entry '", printable(entry.name), "' instruction ", index, " (",
                                  operationName(instr));
  if (std::string site = siteName(instr); !site.empty())
    absl::StrAppend(&text, " of ", printable(site));
  return text + ")";
}

Status Executable::verify() {
  if (root_->format_version() != kFormatVersion || root_->schema_hash() != kSchemaHash)
    return absl::DataLossError("the content's version is not the header's");
  CLEAVE_ASSIGN_OR_RETURN(mesh_, Mesh::fromSchema(*root_->mesh()));
  CLEAVE_RETURN_IF_ERROR(verifyStates());
  CLEAVE_RETURN_IF_ERROR(verifyKernels());
  if (root_->entries()->size() == 0)
    return absl::DataLossError("no entry point");
  entries_.reserve(root_->entries()->size());
  for (const fb::Entry *entry : *root_->entries())
    CLEAVE_RETURN_IF_ERROR(verifyEntry(*entry));
  return absl::OkStatus();
}

Status Executable::verifyStates() {
  std::vector<const TensorInfo *> tensors;
  uint64_t end = 0;
  if (root_->states()) {
    states_.reserve(root_->states()->size());
    for (const fb::State *state : *root_->states()) {
      StateInfo info;
      CLEAVE_ASSIGN_OR_RETURN(
          info.tensor,
          TensorInfo::fromSchema(*state->tensor(), mesh_, fb::Region::State, root_->state_bytes()));
      info.kind = state->kind();
      if (info.kind > fb::StateKind::MAX)
        return absl::DataLossError(absl::StrCat("state '", printable(info.tensor.name),
                                                "' has unknown kind ", int(info.kind)));
      if (state->checkpoint_name())
        info.checkpointName = state->checkpoint_name()->str();
      if (state->checkpoint_shape())
        info.checkpointShape.assign(state->checkpoint_shape()->begin(),
                                    state->checkpoint_shape()->end());
      if (!info.checkpointName.empty()) {
        Checked elements(1);
        for (uint64_t s : info.checkpointShape)
          elements = elements * Checked(s);
        if (info.checkpointShape.size() > kMaxRank || !elements.equals(info.tensor.elements()))
          return absl::DataLossError(absl::StrCat(
              "state '", printable(info.tensor.name), "' of shape ", shapeText(info.tensor.shape),
              " can not be read from a checkpoint tensor of shape ",
              shapeText(std::span(info.checkpointShape)
                            .first(std::min(kMaxRank, info.checkpointShape.size())))));
      }
      end = std::max(end, info.tensor.offset + info.tensor.bytes);
      states_.push_back(std::move(info));
    }
  }
  for (const StateInfo &s : states_)
    tensors.push_back(&s.tensor);
  CLEAVE_RETURN_IF_ERROR(checkRegion("the state region", root_->state_bytes(), end));
  return checkDisjoint("state", tensors);
}

Status Executable::verifyKernels() {
  if (root_->kernel_objects()) {
    std::set<absl::string_view> names;
    for (const fb::KernelObject *object : *root_->kernel_objects()) {
      absl::string_view isa(object->isa()->c_str(), object->isa()->size());
      if (isa != "x86-64-v3" && isa != "x86-64-v4" && isa.substr(0, 7) != "native:")
        return absl::DataLossError(
            absl::StrCat("kernels for an unknown machine '", printable(isa), "'"));
      if (!names.insert(isa).second)
        return absl::DataLossError(absl::StrCat("kernels for '", printable(isa), "' twice"));
      if (hashBytes({object->object()->data(), object->object()->size()}) != object->hash())
        return absl::DataLossError(
            absl::StrCat("the kernels for ", printable(isa), " do not match their checksum"));
    }
  }
  if (!root_->kernels())
    return absl::OkStatus();
  std::set<absl::string_view> symbols;
  for (flatbuffers::uoffset_t i = 0; i < root_->kernels()->size(); ++i) {
    const fb::Kernel &k = *root_->kernels()->Get(i);
    absl::string_view symbol(k.symbol()->c_str(), k.symbol()->size());
    std::string where = absl::StrCat("kernel ", i, " '", printable(symbol), "'");
    if (symbol.empty() || symbol.find('\0') != absl::string_view::npos ||
        !symbols.insert(symbol).second)
      return absl::DataLossError(where + " has an empty name or one used before");
    auto count = [](const auto *v) -> uint64_t { return v ? v->size() : 0; };
    if (count(k.buffer_bytes()) != k.buffers() || count(k.access()) != k.buffers())
      return absl::DataLossError(absl::StrCat(where, " has ", k.buffers(), " buffers but ",
                                              count(k.buffer_bytes()), " sizes and ",
                                              count(k.access()), " access kinds"));
    if (count(k.scalar_min()) != k.scalars() || count(k.scalar_max()) != k.scalars())
      return absl::DataLossError(absl::StrCat(where, " has ", k.scalars(), " scalars but ",
                                              count(k.scalar_min()), " lower and ",
                                              count(k.scalar_max()), " upper limits"));
    if (count(k.dtypes()) != 0 && count(k.dtypes()) != k.buffers())
      return absl::DataLossError(absl::StrCat(where, " has ", k.buffers(), " buffers but ",
                                              count(k.dtypes()), " element types"));
    for (flatbuffers::uoffset_t b = 0; b < count(k.dtypes()); ++b)
      if (!isKnown(DType(k.dtypes()->Get(b))))
        return absl::DataLossError(where + " has a buffer of unknown element type");
    for (flatbuffers::uoffset_t b = 0; b < k.buffers(); ++b)
      if (fb::Access(k.access()->Get(b)) > fb::Access::MAX)
        return absl::DataLossError(where + " has a buffer of unknown access");
  }
  return absl::OkStatus();
}

Status Executable::verifySignature(EntryInfo &entry) {
  auto read = [&](const flatbuffers::Vector<flatbuffers::Offset<fb::Tensor>> *tensors,
                  fb::Region region, const char *what, std::vector<TensorInfo> &result) -> Status {
    if (tensors) {
      result.reserve(tensors->size());
      for (const fb::Tensor *t : *tensors) {
        CLEAVE_ASSIGN_OR_RETURN(
            TensorInfo info,
            TensorInfo::fromSchema(*t, mesh_, region, entry.regionBytes[size_t(region)]));
        result.push_back(std::move(info));
      }
    }
    std::vector<const TensorInfo *> pointers;
    for (const TensorInfo &t : result)
      pointers.push_back(&t);
    return checkDisjoint(what, pointers);
  };
  CLEAVE_RETURN_IF_ERROR(read(entry.schema->inputs(), fb::Region::Input, "input", entry.inputs));
  CLEAVE_RETURN_IF_ERROR(
      read(entry.schema->outputs(), fb::Region::Output, "output", entry.outputs));
  if (entry.schema->states()) {
    for (uint32_t s : *entry.schema->states()) {
      if (s >= states_.size())
        return absl::DataLossError(absl::StrCat("it uses state ", s, " of ", states_.size()));
      entry.states.push_back(s);
    }
  }
  return absl::OkStatus();
}

Status Executable::verifySchedule(EntryInfo &entry) {
  uint32_t count = entry.schema->instrs()->size();
  if (!entry.schema->schedule() || entry.schema->schedule()->size() == 0) {
    entry.segments.push_back({0, count, 1});
    return absl::OkStatus();
  }
  uint64_t begin = 0, runs = 0;
  for (const fb::Segment *segment : *entry.schema->schedule()) {
    uint64_t end = begin + segment->instrs();
    if (segment->instrs() == 0 || end > count)
      return absl::DataLossError(absl::StrCat("its schedule has a segment of ", segment->instrs(),
                                              " instructions from ", begin, " on, of ", count));
    if (segment->repetitions() == 0 || segment->repetitions() > kMaxRepetitions)
      return absl::DataLossError(absl::StrCat("its schedule has a segment of ",
                                              segment->repetitions(), " repetitions, not 1 to ",
                                              kMaxRepetitions));
    runs += uint64_t(segment->instrs()) * segment->repetitions();
    entry.segments.push_back({uint32_t(begin), uint32_t(end), segment->repetitions()});
    begin = end;
  }
  if (begin != count)
    return absl::DataLossError(
        absl::StrCat("its schedule has ", begin, " of ", count, " instructions"));
  if (runs > uint64_t(kMaxInstructionRuns))
    return absl::DataLossError(
        absl::StrCat("its schedule runs ", runs, " instructions, more than ", kMaxInstructionRuns));
  return absl::OkStatus();
}

const Segment &EntryInfo::segmentOf(uint32_t instruction) const {
  return *std::upper_bound(segments.begin(), segments.end(), instruction,
                           [](uint32_t i, const Segment &segment) { return i < segment.end; });
}

InstructionRun EntryInfo::runOf(uint32_t command) const {
  for (const Segment &segment : segments) {
    uint32_t size = segment.end - segment.begin;
    if (uint64_t(command) < uint64_t(size) * segment.repetitions)
      return {segment.begin + command % size, command / size};
    command -= size * segment.repetitions;
  }
  return {};
}

Status Executable::verifyEntry(const fb::Entry &schema) {
  EntryInfo entry;
  entry.schema = &schema;
  entry.name = schema.name()->str();
  std::string where = absl::StrCat("entry '", printable(entry.name), "'");
  if (entry.name.empty() || findEntry(entry.name))
    return absl::DataLossError(where + " has an empty name or one used before");
  auto bytesOf = [&](fb::Region region) -> uint64_t & { return entry.regionBytes[size_t(region)]; };
  bytesOf(fb::Region::State) = root_->state_bytes();
  bytesOf(fb::Region::Input) = schema.input_bytes();
  bytesOf(fb::Region::Output) = schema.output_bytes();
  bytesOf(fb::Region::Stash) = schema.stash_bytes();
  bytesOf(fb::Region::Scratch) = schema.scratch_bytes();
  bytesOf(fb::Region::Workspace) = schema.workspace_bytes();
  CLEAVE_RETURN_IF_ERROR(annotate(verifySignature(entry), where));
  if (schema.axis_lists()) {
    for (const fb::AxisList *list : *schema.axis_lists()) {
      auto parts = mesh_.axisParts(list->axes());
      if (!parts.ok())
        return annotate(parts.status(), where);
      entry.axisLists.push_back(*std::move(parts));
    }
  }

  CLEAVE_RETURN_IF_ERROR(annotate(verifySchedule(entry), where));

  InstructionVerifier verifier(*root_, mesh_, entry);
  uint64_t sites = root_->sites() ? root_->sites()->size() : 0;
  for (flatbuffers::uoffset_t i = 0; i < schema.instrs()->size(); ++i) {
    const fb::Instr &instr = *schema.instrs()->Get(i);
    Status status = instr.site() < sites || (sites == 0 && instr.site() == 0)
                        ? verifier.verify(instr, i, entry.segmentOf(i))
                        : absl::DataLossError(absl::StrCat("site ", instr.site(), " of ", sites));
    if (!status.ok())
      return annotate(status, instructionText(entry, i));
  }

  // What the instructions touch bounds the regions that no signature bounds.
  auto check = [&](absl::string_view name, fb::Region region, uint64_t signatureEnd) {
    return annotate(
        checkRegion(name, bytesOf(region), std::max(signatureEnd, verifier.lastUse(region))),
        where);
  };
  CLEAVE_RETURN_IF_ERROR(check("the input region", fb::Region::Input, lastByte(entry.inputs)));
  CLEAVE_RETURN_IF_ERROR(check("the output region", fb::Region::Output, lastByte(entry.outputs)));
  CLEAVE_RETURN_IF_ERROR(check("the stash region", fb::Region::Stash, 0));
  CLEAVE_RETURN_IF_ERROR(check("the scratch region", fb::Region::Scratch, 0));
  CLEAVE_RETURN_IF_ERROR(check("the workspace region", fb::Region::Workspace, 0));
  if (schema.scratch_uses()) {
    Checked sum(0);
    for (const fb::ScratchUse *use : *schema.scratch_uses()) {
      if (use->kind() > fb::ScratchKind::MAX)
        return absl::DataLossError(
            absl::StrCat(where, " uses scratch for the unknown kind ", int(use->kind())));
      sum = sum + Checked(use->fullest());
    }
    if (!sum.equals(schema.scratch_bytes()))
      return absl::DataLossError(absl::StrCat(where, " has ", schema.scratch_bytes(),
                                              " bytes of scratch, but its uses say ", sum.value()));
  }
  entries_.push_back(std::move(entry));
  return absl::OkStatus();
}

} // namespace cleave::rt
