// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0
//
// From the exec dialect to the tables of the schema.
#ifndef CLEAVE_LIB_TARGET_EXECUTABLE_EXECUTABLEBUILDER_H
#define CLEAVE_LIB_TARGET_EXECUTABLE_EXECUTABLEBUILDER_H

#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "cleave/Dialect/Exec/IR/ExecOps.h"
#include "cleave/schema/executable_generated.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace cleave {

class ExecutableBuilder {
public:
  ExecutableBuilder(mlir::ModuleOp module, fb::ExecutableT &executable)
      : module_(module), executable_(executable) {}
  mlir::LogicalResult run();

private:
  mlir::LogicalResult addMesh(exec::EntryOp entry);
  mlir::LogicalResult addStates();
  mlir::LogicalResult addKernels();
  mlir::LogicalResult addEntry(exec::EntryOp entry);
  template <typename OpT, typename TableT>
  mlir::LogicalResult fillAttention(OpT op, TableT &attention);
  mlir::LogicalResult addSchedule(exec::EntryOp op, fb::EntryT &entry);
  mlir::LogicalResult addInstruction(exec::InstructionOpInterface instruction, fb::EntryT &entry);

  mlir::FailureOr<std::unique_ptr<fb::TensorT>> tensor(mlir::Operation *op, exec::TensorAttr tensor,
                                                       fb::Region region);
  mlir::FailureOr<fb::DType> dtype(mlir::Operation *op, mlir::Type type);
  uint32_t site(mlir::Operation *op);
  uint32_t site(mlir::Operation *op, llvm::StringRef source, llvm::StringRef reason);

  mlir::ModuleOp module_;
  fb::ExecutableT &executable_;
  const Mesh *mesh_ = nullptr;
  llvm::DenseMap<mlir::StringAttr, uint32_t> states_, kernels_;
  std::vector<exec::KernelOp> kernelOps_;
  llvm::StringMap<uint32_t> sites_;
  llvm::DenseMap<mlir::Operation *, uint32_t> positions_; ///< of instructions, within their entry
  llvm::DenseMap<mlir::Operation *, uint32_t> segments_;  ///< of instructions, within the schedule
};

} // namespace cleave

#endif // CLEAVE_LIB_TARGET_EXECUTABLE_EXECUTABLEBUILDER_H
