// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checks of axes, shardings and encodings against their mesh.

#include "cleave/Dialect/Cleave/IR/ShardingVerifier.h"

#include "cleave/Dialect/Cleave/IR/LayoutConversion.h"

using namespace mlir;
using namespace cleave;

const Mesh *cleave::verifyMesh(FlatSymbolRefAttr symbol, Operation *scope, EmitError emitError) {
  if (const Mesh *mesh = findMesh(scope, symbol))
    return mesh;
  std::string known;
  if (Operation *table = SymbolTable::getNearestSymbolTable(scope))
    for (MeshOp mesh : table->getRegion(0).getOps<MeshOp>())
      known += (known.empty() ? "@" : ", @") + mesh.getSymName().str();
  InFlightDiagnostic diagnostic = emitError();
  diagnostic << "unknown mesh " << symbol << "; ";
  if (known.empty())
    diagnostic << "the module has no cleave.mesh, add one";
  else
    diagnostic << "the module has " << known;
  return nullptr;
}

static std::string axesOfMesh(const Mesh &mesh) {
  if (mesh.axes().empty())
    return "no axes";
  std::string text = "axes ";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(mesh.axes(), stream, [&](const Mesh::Axis &axis) {
    stream << '"' << axis.name << "\"=" << axis.size;
  });
  return text;
}

namespace {
/// Checks lists of axes that belong together: no part of an axis may be used twice.
class AxisChecker {
public:
  AxisChecker(const Mesh &mesh, EmitError emitError) : mesh(mesh), emitError(emitError) {}

  LogicalResult check(ArrayRef<AxisRefAttr> axes) {
    for (auto [index, axis] : llvm::enumerate(axes)) {
      FailureOr<AxisRef> ref = checkAxis(axis);
      if (failed(ref))
        return failure();
      for (auto [other, otherRef] : used)
        if (ref->overlaps(otherRef))
          return overlap(axis, other);
      if (index > 0 && isAdjacent(used.back().second, *ref))
        return adjacent(used.back().first, axis, used.back().second);
      used.emplace_back(axis, *ref);
    }
    return success();
  }

  /// The same, for a list that must be in the mesh's order.
  LogicalResult checkSorted(ArrayRef<AxisRefAttr> axes, StringRef what) {
    size_t first = used.size();
    if (failed(check(axes)))
      return failure();
    for (size_t i = first + 1; i < used.size(); ++i)
      if (used[i].second < used[i - 1].second)
        return emitError() << what << " axes must be in the mesh's order: put "
                           << used[i].first.toString() << " before "
                           << used[i - 1].first.toString();
    return success();
  }

private:
  FailureOr<AxisRef> checkAxis(AxisRefAttr axis) {
    std::optional<uint32_t> index = mesh.findAxis(axis.getName());
    if (!index) {
      emitError() << "unknown axis " << axis.toString() << "; the mesh has " << axesOfMesh(mesh);
      return failure();
    }
    FailureOr<AxisRef> ref = axisOf(axis, mesh);
    int64_t size = mesh.axes()[*index].size;
    if (failed(ref)) {
      emitError() << "sub-axis " << axis.toString() << " does not fit its axis of size " << size
                  << ": pre-size times size must divide " << size;
      return failure();
    }
    if (axis.isSubAxis() && axis.getSize() == 1) {
      emitError() << "sub-axis " << axis.toString() << " has size 1; leave it out";
      return failure();
    }
    if (axis.isSubAxis() && axis.getSize() == size) {
      emitError() << "sub-axis " << axis.toString() << " is the whole axis; write \""
                  << axis.getName() << "\"";
      return failure();
    }
    return ref;
  }

  static bool isAdjacent(const AxisRef &major, const AxisRef &minor) {
    return major.axis == minor.axis && major.preSize * major.size == minor.preSize;
  }

  LogicalResult overlap(AxisRefAttr axis, AxisRefAttr other) {
    if (axis == other)
      return emitError() << "axis " << axis.toString()
                         << " is used twice; an axis may be used once in a sharding";
    return emitError() << "axis " << axis.toString() << " overlaps " << other.toString()
                       << "; each part of an axis may be used once in a sharding";
  }

  LogicalResult adjacent(AxisRefAttr major, AxisRefAttr minor, AxisRef ref) {
    AxisRefAttr merged = axisAttrOf(major.getContext(), mesh,
                                    {ref.axis, ref.preSize, ref.size * uint32_t(minor.getSize())});
    return emitError() << major.toString() << " and " << minor.toString()
                       << " are adjacent parts of one axis; write them as " << merged.toString();
  }

  const Mesh &mesh;
  EmitError emitError;
  SmallVector<std::pair<AxisRefAttr, AxisRef>> used;
};
} // namespace

LogicalResult cleave::verifyAxes(ArrayRef<AxisRefAttr> axes, const Mesh &mesh,
                                 EmitError emitError) {
  return AxisChecker(mesh, emitError).check(axes);
}

LogicalResult cleave::verifySharding(ShardingAttr sharding, Type type, Operation *scope,
                                     EmitError emitError) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError() << "a sharding needs a ranked tensor, found a value of type " << type;
  if (tensor.getRank() != int64_t(sharding.getRank()))
    return emitError() << "sharding has " << sharding.getRank()
                       << " dimensions, but the tensor has rank " << tensor.getRank() << " ("
                       << type << "); list axes for each dimension, {} for none";
  const Mesh *mesh = verifyMesh(sharding.getMesh(), scope, emitError);
  if (!mesh)
    return failure();
  AxisChecker checker(*mesh, emitError);
  for (auto [index, dim] : llvm::enumerate(sharding.getDimShardings())) {
    if (failed(checker.check(dim.getAxes())))
      return failure();
    if (dim.getPriority() && dim.getIsClosed() && dim.empty())
      return emitError() << "dimension " << index
                         << " has a priority but is closed and without axes; remove p"
                         << *dim.getPriority() << " or open the dimension with {?}";
  }
  return failure(failed(checker.checkSorted(sharding.getReplicatedAxes(), "replicated")) ||
                 failed(checker.checkSorted(sharding.getUnreducedAxes(), "unreduced")));
}

LogicalResult cleave::verifyLogicalAxes(LogicalAxesAttr names, Type type, EmitError emitError) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError() << "logical names need a ranked tensor, found a value of type " << type;
  if (tensor.getRank() != int64_t(names.getRank()))
    return emitError() << "there are " << names.getRank()
                       << " logical names, but the tensor has rank " << tensor.getRank() << " ("
                       << type << "); give each dimension a name, \"\" for none";
  llvm::SmallDenseSet<StringAttr> seen;
  for (StringAttr name : names.getNames())
    if (!name.empty() && !seen.insert(name).second)
      return emitError() << "logical name " << name
                         << " is used twice; a name may stand for one dimension of a tensor";
  return success();
}

LogicalResult cleave::verifyEncoding(Type type, Operation *scope, EmitError emitError) {
  ShardAttr shard = getShard(type);
  if (!shard)
    return success();
  const Mesh *mesh = verifyMesh(shard.getMesh(), scope, emitError);
  if (!mesh)
    return failure();
  AxisChecker checker(*mesh, emitError);
  for (AxisListAttr axes : shard.getDimAxes())
    if (failed(checker.check(axes.getAxes())))
      return failure();
  if (failed(checker.checkSorted(shard.getUnreducedAxes(), "unreduced")))
    return failure();
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> expected = localShape(shard.getGlobalShape(), layoutOf(shard, *mesh));
  if (ArrayRef<int64_t>(expected) != tensor.getShape()) {
    InFlightDiagnostic diagnostic = emitError();
    diagnostic << "local shape of " << type << " must be [";
    llvm::interleaveComma(expected, diagnostic);
    diagnostic << "], the global shape divided by the shards of each dimension, rounded up";
    return diagnostic;
  }
  return success();
}
