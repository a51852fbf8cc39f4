// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ProgramGenerator.h"

#include "RandomShardings.h"

using namespace mlir;
using namespace cleave;
using namespace cleave::fuzz;
using namespace cleave::graph;

Shape Generator::randomShape(unsigned rank) {
  Shape shape;
  int64_t size = 1;
  for (unsigned d = 0; d < rank; ++d) {
    int64_t n = dimSize();
    if (size * n > kMaxElements / 4)
      n = random.between(1, 2);
    shape.push_back(n);
    size *= n;
  }
  return shape;
}

/// A layout that is partial over the axes which it does not use otherwise.
ShardingAttr Generator::partialSharding(unsigned rank) {
  Layout layout = randomLayout(random, mesh, rank);
  AxisList free;
  for (uint32_t i = 0; i < mesh.axes().size(); ++i)
    if (mesh.axis(i).size > 1 && !axesOverlap(layout.usedAxes(), mesh.axis(i)))
      free.push_back(mesh.axis(i));
  layout.partial = sortedAxes(free);
  return shardingOf(b.getContext(), meshSym, mesh, layout);
}

Generator::Known Generator::argument(ArrayRef<int64_t> shape, Type elementType) {
  Type type = RankedTensorType::get(shape, elementType ? elementType : floatType());
  Value value = body->addArgument(type, b.getUnknownLoc());
  ShardingAttr sharding;
  if (random.chance(65))
    sharding = randomSharding(random, meshSym, mesh, shape.size(), random.chance(50));
  // Now and then an argument that comes in partial.
  if (isa<FloatType>(cast<RankedTensorType>(type).getElementType()) && random.chance(3)) {
    ShardingAttr partial = partialSharding(shape.size());
    sharding = options.isEntry || options.isTraining ? sharding : partial;
  }
  argumentShardings.push_back(sharding);
  Known known{value, 1};
  if (isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
    values.push_back(known);
  return known;
}

/// Later values are likelier, so that programs grow deep.
Generator::Known Generator::pickValue() {
  if (values.empty() || random.chance(10))
    return argument(randomShape(random.between(1, 4)));
  int64_t n = values.size();
  return values[std::max(random.below(n), random.below(n))];
}

Generator::Known Generator::pickRank(unsigned rank) {
  SmallVector<Known> fitting;
  for (const Known &known : values)
    if (rankOf(known.value) == rank)
      fitting.push_back(known);
  if (fitting.empty() || random.chance(30))
    return argument(randomShape(rank));
  return random.pick<Known>(fitting);
}

Generator::Known Generator::pickShape(ArrayRef<int64_t> shape) {
  SmallVector<Known> fitting;
  for (const Known &known : values)
    if (PrimitiveBuilder::shapeOf(known.value) == shape)
      fitting.push_back(known);
  if (fitting.empty() || random.chance(25))
    return argument(shape);
  return random.pick<Known>(fitting);
}

void Generator::keep(Value value, double bound) {
  if (bound > kMaxBound) {
    value = p.tanh(value);
    bound = 1;
  }
  // Shardings given on results of ops, as a planner would.
  if (random.chance(12)) {
    auto given = randomSharding(random, meshSym, mesh, rankOf(value), random.chance(30));
    setSharding(value, given);
  }
  values.push_back({value, bound});
}

void Generator::addHints() {
  if (values.empty())
    return;
  int kind = random.below(100);
  Known known = pickValue();
  if (kind < 18) {
    ShardingAttr sharding =
        randomSharding(random, meshSym, mesh, rankOf(known.value), random.chance(60));
    values.push_back({ShardingConstraintOp::create(b, p.loc, known.value, sharding), known.bound});
  } else if (kind < 22) {
    static constexpr PropagationDirection kDirections[] = {
        PropagationDirection::None, PropagationDirection::Forward, PropagationDirection::Backward};
    values.push_back(
        {PropagationBarrierOp::create(b, p.loc, known.value, kDirections[random.below(3)]),
         known.bound});
  } else if (kind < 25) {
    if (options.isTraining) // A compiler's op, which has no derivative.
      return;
    ShardingAttr sharding = randomSharding(random, meshSym, mesh, rankOf(known.value), true);
    values.push_back({ReshardOp::create(b, p.loc, known.value, sharding), known.bound});
  } else if (kind < 28) {
    Known other = pickShape(shapeOf(known.value));
    int64_t group = numGroups++;
    ShardingGroupOp::create(b, p.loc, known.value, group);
    ShardingGroupOp::create(b, p.loc, other.value, group);
  }
}

void Generator::addUnary() {
  auto [x, bound] = pickValue();
  switch (random.below(18)) {
  case 11:
    return keep(p.make<CosOp>(x), 1);
  case 12:
    return keep(p.make<ErfOp>(x), 1);
  case 13:
    return keep(p.make<Expm1Op>(p.tanh(x)), 2);
  case 14:
    return keep(p.log(p.add(p.make<AbsOp>(x), 0.5)), bound);
  case 15:
    return keep(p.make<SqrtOp>(p.add(p.make<AbsOp>(x), 0.25)), bound);
  case 16: {
    Value low = p.splatLike(x, -0.5), high = p.splatLike(x, 0.75);
    return keep(p.make<ClampOp>(low, x, high), 1);
  }
  case 17:
    return keep(p.make<PowerOp>(p.add(p.make<AbsOp>(p.tanh(x)), 0.5), p.tanh(x)), 2);
  case 0:
    return keep(p.negate(x), bound);
  case 1:
    return keep(p.tanh(x), 1);
  case 2:
    return keep(p.exp(p.tanh(x)), 3);
  case 3:
    return keep(p.make<LogisticOp>(x), 1);
  case 4:
    return keep(p.make<SiluOp>(x), bound);
  case 5:
    return keep(
        p.make<GeluOp>(x, random.chance(50) ? GeluApproximation::None : GeluApproximation::Tanh),
        bound);
  case 6:
    return keep(p.make<ReluOp>(x), bound);
  case 7:
    return keep(p.make<AbsOp>(x), bound);
  case 8:
    return keep(p.make<SinOp>(x), 1);
  case 9:
    return keep(p.make<Log1pOp>(p.make<AbsOp>(x)), bound);
  case 10:
    return keep(p.rsqrt(p.add(p.multiply(x, x), 1.0)), 1);
  default:
    return keep(p.multiply(x, 0.5), bound);
  }
}

void Generator::addBinary() {
  auto [x, boundX] = pickValue();
  auto [y, boundY] = pickShape(shapeOf(x));
  switch (random.below(9)) {
  case 0:
  case 1:
  case 2:
    return keep(p.add(x, y), boundX + boundY);
  case 3:
    return keep(p.subtract(x, y), boundX + boundY);
  case 4:
  case 5:
    return keep(p.multiply(x, y), boundX * boundY);
  case 6:
    return keep(p.maximum(x, y), std::max(boundX, boundY));
  case 7:
    return keep(p.make<MinimumOp>(x, y), std::max(boundX, boundY));
  default:
    return keep(p.divide(x, p.add(p.make<AbsOp>(y), 1.0)), boundX);
  }
}

void Generator::addDot() {
  auto [x, boundX] = pickValue();
  Shape shape = shapeOf(x);
  if (shape.empty())
    return;
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  random.shuffle(dims);
  int64_t numContract = std::min<int64_t>(dims.size(), random.chance(80) ? 1 : 2);
  int64_t numBatch = random.chance(25) ? std::min<int64_t>(dims.size() - numContract, 1) : 0;
  SmallVector<int64_t> contract(ArrayRef(dims).take_front(numContract));
  SmallVector<int64_t> batch(ArrayRef(dims).slice(numContract, numBatch));
  // The other operand, its dimensions in any order.
  Shape other;
  SmallVector<int64_t> roles; // index into contract, then batch, then free
  int64_t sum = 1, result = sizeOf(x);
  for (int64_t d : contract) {
    other.push_back(shape[d]);
    sum *= shape[d];
  }
  for (int64_t d : batch)
    other.push_back(shape[d]);
  result /= std::max<int64_t>(sum, 1);
  int64_t free = random.between(0, 2);
  for (int64_t i = 0; i < free && other.size() < kMaxRank; ++i) {
    int64_t n = dimSize();
    if (result * n > kMaxElements || shape.size() - numContract + i + 1 > kMaxRank)
      break;
    other.push_back(n);
    result *= n;
  }
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, other.size()));
  random.shuffle(order);
  Shape permuted;
  SmallVector<int64_t> contractY(numContract), batchY(numBatch);
  for (auto [to, from] : llvm::enumerate(order)) {
    permuted.push_back(other[from]);
    if (from < numContract)
      contractY[from] = to;
    else if (from < numContract + numBatch)
      batchY[from - numContract] = to;
  }
  auto [y, boundY] = pickShape(permuted);
  bool swap = random.chance(30);
  Value dot = swap ? p.make<DotGeneralOp>(y, x, batchY, batch, contractY, contract)
                   : p.make<DotGeneralOp>(x, y, batch, batchY, contract, contractY);
  keep(dot, boundX * boundY * double(sum));
}

void Generator::addReduce() {
  auto [x, bound] = pickValue();
  SmallVector<int64_t> dims;
  double count = 1;
  for (auto [d, n] : llvm::enumerate(shapeOf(x)))
    if (random.chance(40)) {
      dims.push_back(d);
      count *= double(n);
    }
  switch (random.below(8)) {
  case 0:
    return keep(p.reduce(ReduceKind::Max, x, dims), bound);
  case 1:
    return keep(p.reduce(ReduceKind::Min, x, dims), bound);
  case 2:
    return keep(p.reduce(ReduceKind::Prod, p.tanh(x), dims), 1);
  default:
    return keep(p.reduce(ReduceKind::Sum, x, dims), bound * count);
  }
}

void Generator::addTranspose() {
  auto [x, bound] = pickValue();
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(x)));
  random.shuffle(perm);
  keep(p.make<TransposeOp>(x, ArrayRef<int64_t>(perm)), bound);
}

void Generator::addReshape() {
  auto [x, bound] = pickValue();
  Shape shape = shapeOf(x);
  int kind = random.below(4);
  if (kind == 0 && shape.size() >= 2) { // merge two neighbours
    int64_t d = random.below(shape.size() - 1);
    shape[d] *= shape[d + 1];
    shape.erase(shape.begin() + d + 1);
  } else if (kind == 1 && !shape.empty() && shape.size() < kMaxRank) { // split one
    int64_t d = random.below(shape.size());
    SmallVector<int64_t> divisors;
    for (int64_t k = 1; k <= shape[d]; ++k)
      if (shape[d] % k == 0)
        divisors.push_back(k);
    int64_t major = random.pick<int64_t>(divisors);
    shape.insert(shape.begin() + d, major);
    shape[d + 1] /= major;
  } else if (kind == 2 && shape.size() < kMaxRank) {
    shape.insert(shape.begin() + random.below(shape.size() + 1), 1);
  } else { // anything with as many elements
    int64_t rest = sizeOf(x);
    shape.clear();
    while (rest > 1 && shape.size() < 3) {
      SmallVector<int64_t> divisors;
      for (int64_t k = 2; k <= rest; ++k)
        if (rest % k == 0)
          divisors.push_back(k);
      shape.push_back(random.pick<int64_t>(divisors));
      rest /= shape.back();
    }
    if (rest > 1)
      shape.push_back(rest);
    random.shuffle(shape);
  }
  keep(p.make<ReshapeOp>(x, ArrayRef<int64_t>(shape)), bound);
}

void Generator::addBroadcast() {
  auto [x, bound] = pickValue();
  Shape shape = shapeOf(x);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  for (auto [d, n] : llvm::enumerate(shape))
    if (n == 1 && random.chance(50) && sizeOf(x) * 4 <= kMaxElements)
      shape[d] = random.between(2, 4);
  if (shape.size() < kMaxRank) {
    int64_t n = dimSize(), at = random.below(shape.size() + 1);
    if (sizeOf(x) * n * 4 <= kMaxElements) {
      shape.insert(shape.begin() + at, n);
      for (int64_t &d : dims)
        d += d >= at;
    }
  }
  keep(p.broadcast(x, shape, dims), bound);
}

void Generator::addSlice() {
  auto [x, bound] = pickValue();
  SmallVector<int64_t> starts, limits, strides;
  for (int64_t n : shapeOf(x)) {
    bool part = n > 1 && random.chance(40);
    int64_t start = part ? random.below(n) : 0;
    starts.push_back(start);
    limits.push_back(part ? random.between(start + 1, n) : n);
    strides.push_back(part && random.chance(25) ? 2 : 1);
  }
  keep(p.make<SliceOp>(x, starts, limits, strides), bound);
}

void Generator::addPad() {
  auto [x, bound] = pickValue();
  if (sizeOf(x) > kMaxElements / 4)
    return;
  SmallVector<int64_t> low, high;
  for (unsigned d = 0; d < rankOf(x); ++d) {
    low.push_back(random.chance(30) ? random.below(3) : 0);
    high.push_back(random.chance(30) ? random.below(3) : 0);
  }
  Value fill = p.splat({}, floatType(), random.chance(70) ? 0.0 : 0.5);
  keep(p.make<PadOp>(x, fill, low, high, ArrayRef<int64_t>{}), std::max(bound, 0.5));
}

void Generator::addConcatenate() {
  auto [x, bound] = pickValue();
  if (rankOf(x) == 0 || sizeOf(x) > kMaxElements / 2)
    return;
  int64_t dim = random.below(rankOf(x));
  Shape shape = shapeOf(x);
  shape[dim] = random.chance(50) ? shape[dim] : random.between(1, 4);
  auto [y, boundY] = pickShape(shape);
  keep(p.make<ConcatenateOp>(ValueRange{x, y}, dim), std::max(bound, boundY));
}

/// A selection by position, whose predicate no rounding can change.
void Generator::addSelect() {
  auto [x, boundX] = pickValue();
  Shape shape = shapeOf(x);
  if (shape.empty())
    return;
  auto [y, boundY] = random.chance(30) ? Known{p.splatLike(x, 0.0), 0} : pickShape(shape);
  int64_t dim = random.below(shape.size());
  Value position = p.iota(shape, b.getI64Type(), dim);
  Value predicate = p.compare(random.chance(50) ? CompareDirection::LT : CompareDirection::GE,
                              position, double(random.below(shape[dim] + 1)));
  keep(random.chance(50) ? p.select(predicate, x, y) : p.select(predicate, y, x),
       std::max(boundX, boundY));
}

void Generator::addIota() {
  auto [x, bound] = pickValue();
  Shape shape = shapeOf(x);
  if (shape.empty())
    return;
  Value position = p.iota(shape, b.getI64Type(), random.below(shape.size()));
  keep(p.add(x, p.convert(position, floatType())), bound + 12);
}

void Generator::addConvert() {
  auto [x, bound] = pickValue();
  Type between = random.chance(50) ? Type(b.getF64Type()) : Type(b.getF32Type());
  keep(p.convert(p.multiply(p.convert(x, between), p.convert(x, between)), floatType()),
       bound * bound);
}

void Generator::addOp(int64_t index) {
  random = RandomSource(options.seed).fork(1000 + index);
  switch (random.below(27)) {
  case 0:
  case 1:
    addUnary();
    break;
  case 2:
  case 3:
  case 4:
    addBinary();
    break;
  case 5:
  case 6:
  case 7:
    addDot();
    break;
  case 8:
  case 9:
    addReduce();
    break;
  case 10:
    addTranspose();
    break;
  case 11:
  case 12:
    addReshape();
    break;
  case 13:
    addBroadcast();
    break;
  case 14:
    random.chance(50) ? addSlice() : addPad();
    break;
  case 15:
    addConcatenate();
    break;
  case 16:
    random.chance(70) ? addSelect() : addIota();
    break;
  case 17:
    random.chance(70) ? addSoftmax() : addConvert();
    break;
  case 18:
    addNorm();
    break;
  case 19:
    addEmbedding();
    break;
  case 20:
    addLoss();
    break;
  case 21:
    addAttentionBlock();
    break;
  case 22:
    addMlpBlock();
    break;
  case 23:
    addIndexing();
    break;
  case 24:
  case 25:
    random.chance(65) ? addIntegers() : random.chance(50) ? addRandomNumbers() : addDropout();
    break;
  default:
    addSumOfProducts();
  }
  addHints();
}

int64_t fuzz::numOpsOf(uint64_t seed) { return RandomSource(seed).fork(1).between(1, 14); }

OwningOpRef<ModuleOp> Generator::run() {
  random = RandomSource(options.seed).fork(2);
  OwningOpRef<ModuleOp> module = ModuleOp::create(p.loc);
  b.setInsertionPointToEnd(module->getBody());
  mesh = randomMesh(random);
  MeshOp::create(b, p.loc, "mesh", MeshAttr::get(b.getContext(), mesh));
  meshSym = FlatSymbolRefAttr::get(b.getContext(), "mesh");
  function = func::FuncOp::create(b, p.loc, "main", b.getFunctionType({}, {}));
  body = function.addEntryBlock();
  b.setInsertionPointToEnd(body);

  // Some programs are made of repeated blocks, by which gathers of arguments are fetched ahead.
  bool hasBlocks = random.chance(30);
  int64_t numOps = options.numOps >= 0 ? options.numOps : numOpsOf(options.seed);
  argument(randomShape(random.between(2, 3)));
  for (int64_t i = 0; i < numOps; ++i) {
    Operation *last = body->empty() ? nullptr : &body->back();
    addOp(i);
    if (!hasBlocks || i % 4 == 0)
      continue;
    for (Operation &op :
         llvm::make_range(last ? std::next(Block::iterator(last)) : body->begin(), body->end())) {
      op.setDiscardableAttr(CleaveDialect::kBlockAttr, b.getStringAttr("block"));
      op.setDiscardableAttr(CleaveDialect::kInstanceAttr, b.getI64IntegerAttr(i / 2));
    }
  }

  // What nothing uses is returned, and now and then a value that is used too.
  random = RandomSource(options.seed).fork(3);
  SmallVector<Value> results;
  for (const Known &known : values)
    if ((known.value.use_empty() && !isa<BlockArgument>(known.value)) || random.chance(5))
      results.push_back(known.value);
  for (Value value : integers)
    if (value.use_empty() || random.chance(10))
      results.push_back(value);
  if (results.empty())
    results.push_back(values.back().value);
  if (options.isTraining)
    results = {addTrainingLoss(results)};
  func::ReturnOp::create(b, p.loc, results);
  function.setFunctionType(
      b.getFunctionType(body->getArgumentTypes(), TypeRange(ValueRange(results))));
  setArgumentShardings(function, argumentShardings);
  if (options.isTraining) {
    makeParameters();
    return module;
  }
  for (auto [i, result] : llvm::enumerate(results))
    if (random.chance(5) && !options.isEntry)
      setResultSharding(function, i, partialSharding(rankOf(result)));
    else if (random.chance(40))
      setResultSharding(function, i, randomSharding(random, meshSym, mesh, rankOf(result), true));
  if (options.isEntry)
    makeEntry(results);
  return module;
}

/// Some float arguments become states. A result of the same type may be the new value.
void Generator::makeEntry(ArrayRef<Value> results) {
  random = RandomSource(options.seed).fork(4);
  function->setAttr(CleaveDialect::kEntryAttr, b.getUnitAttr());
  llvm::SmallBitVector taken(results.size());
  for (BlockArgument argument : body->getArguments()) {
    unsigned index = argument.getArgNumber();
    auto type = cast<RankedTensorType>(argument.getType());
    if (!isa<FloatType>(type.getElementType()) || !random.chance(30))
      continue;
    std::string name = "state" + std::to_string(index);
    b.setInsertionPoint(function);
    StateOp::create(b, p.loc, name, type, {}, {}, {}, {}, {});
    auto symbol = FlatSymbolRefAttr::get(b.getContext(), name);
    function.setArgAttr(index, CleaveDialect::kStateAttr, symbol);
    for (auto [i, result] : llvm::enumerate(results)) {
      if (taken[i] || result.getType() != type || !random.chance(50))
        continue;
      taken.set(i);
      function.setResultAttr(i, CleaveDialect::kStateAttr, symbol);
      break;
    }
  }
}

OwningOpRef<ModuleOp> fuzz::randomProgram(MLIRContext *context, const ProgramOptions &options) {
  return Generator(context, options).run();
}
