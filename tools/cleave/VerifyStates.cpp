// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "VerifyStates.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

using namespace cleave::tool;

namespace {

double largestOf(llvm::ArrayRef<double> values) {
  double largest = 0;
  for (double value : values)
    if (std::isfinite(value))
      largest = std::max(largest, std::abs(value));
  return largest;
}

double worstDifference(llvm::ArrayRef<double> actual, llvm::ArrayRef<double> wanted) {
  double worst = 0;
  for (auto [a, b] : llvm::zip_equal(actual, wanted)) {
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double difference = std::abs(a - b);
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  return worst;
}

double rootMeanSquare(llvm::ArrayRef<double> values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return std::sqrt(sum / std::max<double>(1, values.size()));
}

std::vector<double> differences(llvm::ArrayRef<double> actual, llvm::ArrayRef<double> wanted) {
  std::vector<double> result;
  for (auto [a, b] : llvm::zip_equal(actual, wanted))
    result.push_back(a == b || (std::isnan(a) && std::isnan(b)) ? 0 : a - b);
  return result;
}

class StateComparison {
public:
  StateComparison(const UpdatedStates &states, const Oracle &oracle)
      : states_(states), oracle_(oracle) {
    for (llvm::ArrayRef<HostTensor> list : {states.before, states.inputs})
      for (const HostTensor &tensor : list)
        before_[tensor.name] = &tensor;
    for (const HostTensor &tensor : states.actual)
      after_[tensor.name] = &tensor;
    for (AdamWUpdate &update : oracle.adamwUpdates())
      updates_[update.parameter] = std::move(update);
  }

  std::vector<OutputReport> run() {
    // The tensors of a group, and the largest number in any of them.
    llvm::MapVector<llvm::StringRef, std::pair<std::vector<size_t>, double>> groups;
    for (size_t i = 0; i < states_.actual.size(); ++i) {
      auto &[members, largest] = groups[groupOf(states_.actual[i].name)];
      members.push_back(i);
      largest = std::max(largest, sizeOf(wanted(i)));
    }
    std::vector<OutputReport> reports;
    for (auto &[name, group] : groups) {
      OutputReport worst;
      double most = -1;
      for (size_t i : group.first) {
        OutputReport report = compare(i, group.second);
        double share = report.absolute == 0 ? 0 : report.absolute / report.limit;
        if (!(share > most))
          continue;
        most = share;
        worst = std::move(report);
        if (!worst.note.empty())
          worst.note += "; ";
        worst.note += "worst of " + std::to_string(group.first.size()) +
                      " states: " + states_.actual[i].name +
                      (updates_.count(states_.actual[i].name) ? ", of its own moments"
                       : states_.isNarrow                     ? ", root mean square"
                                                              : "");
      }
      worst.name = name;
      reports.push_back(std::move(worst));
    }
    return reports;
  }

private:
  /// `exp_avg` of `model.norm.weight.exp_avg`.
  llvm::StringRef groupOf(llvm::StringRef name) const {
    if (oracle_.isWeight(name))
      return "parameters";
    for (size_t dot = name.rfind('.'); dot != llvm::StringRef::npos; dot = name.rfind('.', dot))
      if (oracle_.isWeight(name.take_front(dot)))
        return name.drop_front(dot + 1);
    return name;
  }

  std::vector<double> wanted(size_t i) const {
    return states_.expected.empty() ? states_.unsharded[i].numbers() : states_.expected[i];
  }

  std::optional<double> number(llvm::StringRef name) const {
    const HostTensor *tensor = before_.lookup(name);
    if (!tensor || tensor->elements() != 1)
      return std::nullopt;
    return tensor->numbers().front();
  }

  /// In 16 bits an activation near a kink lies now on this side and now on that one, and carries
  /// its part of some gradients along: what counts there is the whole tensor, in float32 every
  /// element.
  double sizeOf(llvm::ArrayRef<double> values) const {
    return states_.isNarrow ? rootMeanSquare(values) : largestOf(values);
  }
  double distance(llvm::ArrayRef<double> actual, llvm::ArrayRef<double> wanted) const {
    if (!states_.isNarrow)
      return worstDifference(actual, wanted);
    double distance = rootMeanSquare(differences(actual, wanted));
    return std::isnan(distance) ? INFINITY : distance;
  }

  bool isNarrow(const HostTensor &tensor) const {
    return tensor.dtype == CLEAVE_BF16 || tensor.dtype == CLEAVE_F16;
  }

  OutputReport compare(size_t i, double groupLargest) const {
    const HostTensor &actual = states_.actual[i];
    std::vector<double> values = actual.numbers();
    OutputReport report;
    if (auto found = updates_.find(actual.name);
        found != updates_.end() && compareAdamW(actual, values, found->second, report))
      return report;
    std::vector<double> expected = wanted(i);
    double largest = sizeOf(expected);
    report.absolute = distance(values, expected);
    bool narrow = states_.isNarrow || isNarrow(actual);
    // Gradients of small decoders were measured to differ by up to 4e-6 of a tensor's largest, mean
    // squares by twice as much. A tensor whose true values are 0, as gradients of biases that
    // cancel, holds what rounding the larger numbers of its kind leaves.
    double floor = narrow ? std::max(0x1p-5 * largest, 0x1p-8 * groupLargest)
                          : std::max(0x1p-17 * largest, 0x1p-20 * groupLargest);
    if (actual.dtype > CLEAVE_F16) {
      report.limit = 0; // Counts.
    } else if (states_.expected.empty()) {
      report.limit = 4 * floor; // Both are rounded.
    } else {
      report.limit = floor;
      if (!states_.unsharded.empty()) {
        report.unsharded = distance(states_.unsharded[i].numbers(), expected);
        report.limit = std::max(4 * report.unsharded, floor);
        if (!narrow && report.unsharded > 0x1p9 * floor)
          report.note = kFarFromFloat64.str();
      }
    }
    report.relative = report.absolute / std::max(largest, 1e-300);
    return report;
  }

  /// Compares with the update of the program's own moments. False if they are not known.
  bool compareAdamW(const HostTensor &actual, llvm::ArrayRef<double> values,
                    const AdamWUpdate &update, OutputReport &report) const {
    const HostTensor *old = before_.lookup(update.parameter),
                     *oldStep = before_.lookup(update.step), *step = after_.lookup(update.step),
                     *first = after_.lookup(update.firstMoment),
                     *second = after_.lookup(update.secondMoment);
    auto rate = number(update.learningRate), beta1 = number(update.beta1),
         beta2 = number(update.beta2), epsilon = number(update.epsilon);
    auto decay = update.weightDecay.empty() ? std::optional<double>(0) : number(update.weightDecay);
    if (!old || !step || !oldStep || !first || !second || !rate || !beta1 || !beta2 || !epsilon ||
        !decay)
      return false;
    double t = step->numbers().front();
    bool isSkipped = t == oldStep->numbers().front();
    double correction1 = 1 - std::pow(*beta1, t), correction2 = 1 - std::pow(*beta2, t);
    std::vector<double> p = old->numbers(), m = first->numbers(), v = second->numbers();
    double largest = largestOf(p), largestChange = 0;
    for (size_t i = 0; i < p.size() && !isSkipped; ++i) {
      double change = *rate * (m[i] / correction1) / (std::sqrt(v[i] / correction2) + *epsilon);
      if (std::isfinite(change))
        largestChange = std::max(largestChange, std::abs(change));
      p[i] = p[i] * (1 - *rate * *decay) - change;
    }
    report.absolute = worstDifference(values, p);
    report.relative = report.absolute / std::max(largest, 1e-300);
    // The powers of the betas lose digits where they are near 1.
    double lost = 0x1p-20 + 0x1p-22 / correction1 + 0x1p-22 / correction2;
    report.limit = isSkipped ? 0
                             : (isNarrow(actual) ? 0x1p-8 : 0x1p-20) * (largest + largestChange) +
                                   lost * largestChange;
    return true;
  }

  const UpdatedStates &states_;
  const Oracle &oracle_;
  llvm::StringMap<const HostTensor *> before_, after_;
  llvm::StringMap<AdamWUpdate> updates_;
};

} // namespace

std::vector<OutputReport> cleave::tool::compareStates(const UpdatedStates &states,
                                                      const Oracle &oracle) {
  return StateComparison(states, oracle).run();
}
