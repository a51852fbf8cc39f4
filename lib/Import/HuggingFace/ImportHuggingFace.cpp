// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "cleave/Import/HuggingFace/ImportHuggingFace.h"
#include "GraphWriter.h"
#include "Model.h"
#include "WeightNames.h"
#include "cleave/Dialect/Cleave/IR/CleaveOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;
using mlir::Value;

namespace cleave {
namespace {

constexpr int64_t kIgnoredLabel = -100;
constexpr int64_t kMaxSize = INT32_MAX;

Error fault(const Twine &what) { return llvm::createStringError(what); }

/// Whether a tensor of these sizes, of 8 bytes an element, has less than 2^63 bytes.
bool isAddressable(llvm::ArrayRef<int64_t> sizes) {
  int64_t bytes = 8;
  for (int64_t size : sizes)
    if (llvm::MulOverflow(bytes, size, bytes))
      return false;
  return true;
}

Error checkOptions(const HuggingFaceOptions &options, const Model &model, StringRef configPath) {
  if (options.entry != "forward")
    return fault("entry: expected \"forward\", found \"" + options.entry +
                 "\"; Hugging Face models have no other entry");
  for (auto [name, size] : {std::pair<StringRef, int64_t>("batch", options.batch),
                            std::pair<StringRef, int64_t>("seq", options.sequence)})
    if (size < 1 || size > kMaxSize)
      return fault(name + ": expected an integer from 1 to " + Twine(kMaxSize) + ", found " +
                   Twine(size) + "; choose another");
  if (std::string limit = model.checkSequence(options.sequence); !limit.empty())
    return fault(configPath + ": " + limit);
  if (!isAddressable({options.batch, options.sequence, model.widestFeature()}) ||
      !isAddressable({options.batch, options.sequence, options.sequence, model.headCount()}))
    return fault(configPath + ": batch " + Twine(options.batch) + " and seq " +
                 Twine(options.sequence) +
                 " give this model a tensor of more than 2^63 bytes; choose smaller ones");
  return Error::success();
}

Error checkParameters(llvm::ArrayRef<Parameter> parameters, StringRef configPath) {
  for (const Parameter &parameter : parameters)
    if (!isAddressable(parameter.shape))
      return fault(configPath + ": parameter \"" + parameter.name + "\" of shape " +
                   safetensors::formatShape(parameter.shape) +
                   " would have more than 2^63 bytes; correct the sizes");
  return Error::success();
}

/// Writes the module of one model.
class ModuleWriter {
public:
  ModuleWriter(mlir::MLIRContext *context, const Model &model, const HuggingFaceOptions &options)
      : builder(context), model(model), options(options) {
    switch (options.elementType) {
    case ModelElementType::F32:
      type = builder.getF32Type();
      break;
    case ModelElementType::BF16:
      type = builder.getBF16Type();
      break;
    case ModelElementType::F16:
      type = builder.getF16Type();
      break;
    }
  }

  mlir::OwningOpRef<mlir::ModuleOp> write(llvm::ArrayRef<Parameter> parameters,
                                          llvm::ArrayRef<std::string> checkpointNames);

private:
  mlir::Location at(StringRef name) { return mlir::NameLoc::get(builder.getStringAttr(name)); }
  void writeStates(llvm::ArrayRef<Parameter> parameters,
                   llvm::ArrayRef<std::string> checkpointNames);
  void writeEntry(llvm::ArrayRef<Parameter> parameters);
  Value shiftLabels(GraphWriter &graph, Value labels);
  mlir::DictionaryAttr named(StringRef attribute, mlir::Attribute value) {
    return builder.getDictionaryAttr(builder.getNamedAttr(attribute, value));
  }

  mlir::OpBuilder builder;
  const Model &model;
  const HuggingFaceOptions &options;
  mlir::Type type;
  llvm::SmallVector<LogicalAxesAttr> logical; ///< one a parameter
};

void ModuleWriter::writeStates(llvm::ArrayRef<Parameter> parameters,
                               llvm::ArrayRef<std::string> checkpointNames) {
  auto weight = builder.getStringAttr("weight");
  for (auto [parameter, checkpointName] : llvm::zip_equal(parameters, checkpointNames)) {
    logical.push_back(LogicalAxesAttr::get(builder.getContext(), parameter.logical));
    StateOp::create(builder, at(parameter.name), parameter.name,
                    mlir::RankedTensorType::get(parameter.view, type),
                    builder.getStringAttr(checkpointName),
                    builder.getDenseI64ArrayAttr(parameter.shape), logical.back(), weight,
                    /*sharding=*/ShardingAttr());
  }
}

Value ModuleWriter::shiftLabels(GraphWriter &graph, Value labels) {
  // Position s is scored against labels[s + 1]; the last position against nothing.
  constexpr StringRef kName = "loss.labels";
  auto labelType = mlir::cast<mlir::RankedTensorType>(labels.getType());
  auto ignored = builder.getI64IntegerAttr(kIgnoredLabel);
  if (options.sequence == 1)
    return graph.make<graph::ConstantOp>(kName, {},
                                         mlir::DenseElementsAttr::get(labelType, ignored));
  Value fill = graph.make<graph::ConstantOp>(
      kName, {},
      mlir::DenseElementsAttr::get(mlir::RankedTensorType::get({}, builder.getI64Type()), ignored));
  Value next =
      graph.make<graph::SliceOp>(kName, {}, labels, int64_t(1), int64_t(1), options.sequence);
  return graph.make<graph::PadOp>(kName, {}, next, fill, llvm::ArrayRef<int64_t>{0, 0},
                                  llvm::ArrayRef<int64_t>{0, 1});
}

void ModuleWriter::writeEntry(llvm::ArrayRef<Parameter> parameters) {
  auto idType =
      mlir::RankedTensorType::get({options.batch, options.sequence}, builder.getI64Type());
  llvm::SmallVector<mlir::Type> argumentTypes;
  llvm::SmallVector<mlir::Attribute> argumentAttrs;
  llvm::SmallVector<mlir::Location> argumentLocs;
  for (auto [parameter, axes] : llvm::zip_equal(parameters, logical)) {
    argumentTypes.push_back(mlir::RankedTensorType::get(parameter.view, type));
    argumentAttrs.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(CleaveDialect::kLogicalAttr, axes),
         builder.getNamedAttr(
             CleaveDialect::kStateAttr,
             mlir::FlatSymbolRefAttr::get(builder.getContext(), parameter.name))}));
    argumentLocs.push_back(at(parameter.name));
  }
  auto idAxes =
      LogicalAxesAttr::get(builder.getContext(), llvm::ArrayRef<StringRef>{"batch", "seq"});
  for (StringRef name : {"input_ids", "labels"}) {
    argumentTypes.push_back(idType);
    argumentAttrs.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr(CleaveDialect::kInputAttr, builder.getStringAttr(name)),
         builder.getNamedAttr(CleaveDialect::kLogicalAttr, idAxes)}));
    argumentLocs.push_back(at(name));
  }

  auto func = mlir::func::FuncOp::create(builder, at(options.entry), options.entry,
                                         builder.getFunctionType(argumentTypes, {}));
  func->setDiscardableAttr(CleaveDialect::kEntryAttr, builder.getUnitAttr());
  mlir::Block *body = builder.createBlock(&func.getBody(), {}, argumentTypes, argumentLocs);
  llvm::StringMap<Value> byName;
  for (auto [parameter, argument] : llvm::zip(parameters, body->getArguments()))
    byName[parameter.name] = argument;
  Value inputIds = body->getArgument(parameters.size());
  Value labels = body->getArgument(parameters.size() + 1);

  GraphWriter graph(builder, type, std::move(byName), options.dropout);
  Value logits = model.buildLogits(graph, inputIds);
  auto loss = graph.create<graph::CrossEntropyOp>("loss", {}, logits, shiftLabels(graph, labels),
                                                  kIgnoredLabel);
  mlir::func::ReturnOp::create(builder, at(options.entry),
                               mlir::ValueRange{logits, loss.getLoss()});
  func.setFunctionType(
      builder.getFunctionType(argumentTypes, {logits.getType(), loss.getLoss().getType()}));
  // Set together: one by one, each costs time linear in their number.
  func.setArgAttrsAttr(builder.getArrayAttr(argumentAttrs));
  func.setResAttrsAttr(
      builder.getArrayAttr({named(CleaveDialect::kOutputAttr, builder.getStringAttr("logits")),
                            named(CleaveDialect::kOutputAttr, builder.getStringAttr("loss"))}));
}

mlir::OwningOpRef<mlir::ModuleOp> ModuleWriter::write(llvm::ArrayRef<Parameter> parameters,
                                                      llvm::ArrayRef<std::string> checkpointNames) {
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder, builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  writeStates(parameters, checkpointNames);
  writeEntry(parameters);
  return module;
}

} // namespace

Expected<ImportedModel> importHuggingFace(StringRef path, const HuggingFaceOptions &options,
                                          mlir::MLIRContext *context) {
  context->loadDialect<CleaveDialect, graph::GraphDialect, mlir::func::FuncDialect>();
  Expected<ConfigReader> reader =
      options.config.empty() ? ConfigReader::open(path) : ConfigReader::parse(options.config, path);
  if (!reader)
    return reader.takeError();
  Expected<std::unique_ptr<Model>> model = readModel(*reader);
  if (!model)
    return model.takeError();
  if (Error error = checkOptions(options, **model, reader->path()))
    return std::move(error);
  std::vector<Parameter> parameters = (*model)->parameters();
  if (Error error = checkParameters(parameters, reader->path()))
    return std::move(error);

  ImportedModel result;
  result.config = reader->contents().str();
  result.warnings = reader->warnings().vec();
  llvm::raw_string_ostream rates(result.dropoutOfConfig);
  for (auto [key, rate] : (*model)->dropoutRates())
    if (rate > 0)
      rates << (result.dropoutOfConfig.empty() ? "" : ", ") << key << " "
            << llvm::format("%g", rate);
  if (std::string warning = (*model)->warnAboutSequence(options.sequence); !warning.empty())
    result.warnings.push_back((reader->path() + ": " + warning).str());
  std::vector<std::string> checkpointNames;
  if (options.config.empty() && llvm::sys::fs::is_directory(path) &&
      safetensors::Checkpoint::isPresent(path)) {
    Expected<safetensors::Checkpoint> checkpoint = safetensors::Checkpoint::open(path);
    if (!checkpoint)
      return checkpoint.takeError();
    if (Error error = matchWeights(*checkpoint, parameters, (*model)->basePrefix(), checkpointNames,
                                   result.warnings))
      return std::move(error);
  } else {
    for (const Parameter &parameter : parameters)
      checkpointNames.push_back(parameter.name);
  }
  result.module = ModuleWriter(context, **model, options).write(parameters, checkpointNames);
  return result;
}

} // namespace cleave
