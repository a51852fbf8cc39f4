// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Import/Mlir/ImportMlir.h"
#include "TemporaryFolder.h"
#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "gmock/gmock.h"

using namespace cleave;
using testing::HasSubstr;
using testing::Not;

namespace {

class ImportMlir : public testing::Test {
protected:
  std::string faultOf(llvm::StringRef text, llvm::StringRef entry = "") {
    std::string path = folder.write("program.mlir", text);
    auto module = importMlir(path, entry, &context);
    std::string message = module ? "" : llvm::toString(module.takeError());
    if (!module) {
      EXPECT_THAT(message, testing::StartsWith(path + ":"));
      EXPECT_THAT(message, Not(HasSubstr("\n")));
    }
    return message;
  }

  mlir::MLIRContext context;
  TemporaryFolder folder;
};

constexpr llvm::StringLiteral kProgram = R"(
func.func @forward(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {cleave.entry} {
  %0 = graph.exp %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
})";

TEST_F(ImportMlir, Program) {
  EXPECT_EQ(faultOf(kProgram), "");
  EXPECT_EQ(faultOf(kProgram, "forward"), "");
  EXPECT_THAT(faultOf(kProgram, "train"), HasSubstr("expected one of forward, found \"train\""));
}

TEST_F(ImportMlir, Faults) {
  EXPECT_THAT(faultOf("func.func @f() {"), HasSubstr("program.mlir:1:"));
  EXPECT_THAT(faultOf("func.func @f() { return }"), HasSubstr("cleave.entry, found none"));
  EXPECT_THAT(faultOf(""), HasSubstr("found none"));
  // A declaration is no entry.
  EXPECT_THAT(faultOf("func.func private @f() attributes {cleave.entry}"), HasSubstr("found none"));
  EXPECT_THAT(faultOf("func.func @f() { other.op() : () -> () return }"), HasSubstr(":1:18: "));
  EXPECT_THAT(faultOf(R"(func.func @f(%x: tensor<4xf32>) -> tensor<3xf32> {
      %0 = "graph.reshape"(%x) : (tensor<4xf32>) -> tensor<3xf32>
      return %0 : tensor<3xf32> })"),
              HasSubstr("program.mlir:2:"));
  EXPECT_THAT(llvm::toString(importMlir(folder.path("none.mlir"), "", &context).takeError()),
              HasSubstr("none.mlir: cannot be read"));
}

TEST_F(ImportMlir, ReadsWhatTheOtherFrontDoorWrites) {
  llvm::Expected<ImportedModel> model =
      importHuggingFace(CLEAVE_REFERENCE_DIR "/gpt2", {2, 8}, &context);
  ASSERT_TRUE(bool(model));
  std::string text;
  llvm::raw_string_ostream(text) << *model->module;
  EXPECT_EQ(faultOf(text), "");
}

} // namespace
