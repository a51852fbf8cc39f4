// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "Commands.h"
#include "Diagnostics.h"
#include "Findings.h"
#include "Oracle.h"
#include "TrainReport.h"
#include "TrainingProgram.h"

#include "cleave/Training/Schedule.h"
#include "cleave/Training/TokenData.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <charconv>
#include <chrono>
#include <cmath>
#include <set>

using namespace cleave;
using namespace cleave::tool;
using namespace cleave::training;
namespace json = llvm::json;

namespace {

llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// As `%g` writes it, but with all digits that the number needs.
std::string shortest(double value) {
  if (std::isnan(value))
    return "nan"; // Whatever its sign.
  char buffer[32];
  return std::string(
      buffer, std::to_chars(buffer, std::end(buffer), value, std::chars_format::general).ptr);
}

/// The setting of --steps where they decide nothing but the end of the run.
const std::string kAnySteps = "any";

/// One run of `cleave train`.
class Run {
public:
  explicit Run(const TrainArgs &args)
      : args_(args), showProgress_(llvm::sys::Process::StandardErrIsDisplayed()) {}

  llvm::Error execute() {
    for (auto phase : {&Run::open, &Run::start, &Run::openLog, &Run::train, &Run::finish})
      if (llvm::Error error = (this->*phase)()) {
        clearProgress();
        return error;
      }
    return llvm::Error::success();
  }

private:
  // Phases, in their order.
  llvm::Error open();
  llvm::Error start();
  llvm::Error openLog();
  llvm::Error train();
  llvm::Error finish();

  bool hasStart() const {
    return args_.init || !args_.weights.empty() || !args_.resumeFrom.empty();
  }
  llvm::Error resume(const std::string &folder);
  llvm::Error loadFirstStates();
  /// The inputs of the next step.
  Hyperparameters prepareStep();
  llvm::Expected<StepResult> doStep();
  llvm::Error countModelFlops();
  llvm::Error saveCheckpoint();
  llvm::Expected<double> evaluate();
  /// The error that ends a run whose numbers overflow.
  llvm::Error notFinite(const llvm::Twine &what);
  /// Does the run again up to the failed step, and says which instruction of it, or of the step
  /// before, first gave an infinity or NaN.
  llvm::Expected<std::string> findOverflow(uint64_t failedStep);
  /// The next step, looking at what every instruction gives.
  llvm::Expected<Findings> checkedStep();
  void advance();
  llvm::Error restart();
  Schedule schedule() const;
  std::map<std::string, std::string> settings() const;
  llvm::Error readNumbers();
  double number(llvm::StringRef name) const;
  void printProgress(const StepResult &result, double rate, double seconds);
  void clearProgress();

  const TrainArgs &args_;
  const bool showProgress_;
  std::optional<Executable> executable_;
  std::optional<TrainingProgram> program_;
  std::optional<TokenData> data_;
  std::optional<BatchOrder> order_;
  std::optional<CheckpointFolder> folder_;
  std::unique_ptr<llvm::raw_fd_ostream> log_;
  std::vector<std::string> companions_;
  Progress progress_, startedAt_;
  std::vector<int64_t> tokens_; ///< of the step
  Hyperparameters numbers_;     ///< that the step takes; the learning rate is the schedule's peak
  std::string resumedFrom_;
  double modelFlops_ = 0; ///< of a step; 0: not counted
  uint64_t savedStep_ = 0, stepsDone_ = 0, skippedSteps_ = 0;
  double seconds_ = 0; ///< of all steps, without evaluation and checkpoints
  StepResult last_;
  std::optional<double> evaluationLoss_;
};

Schedule Run::schedule() const {
  Schedule schedule;
  (void)parseScheduleKind(args_.schedule,
                          schedule.kind); // One of the names: the parser checked it.
  schedule.peak = number("learning_rate");
  schedule.minimum = args_.minimumRate;
  schedule.warmup = uint64_t(args_.warmup);
  schedule.steps = uint64_t(args_.steps);
  return schedule;
}

std::map<std::string, std::string> Run::settings() const {
  std::map<std::string, std::string> result = {
      {"schedule", args_.schedule},
      // Without a decay, the number of steps is only where the run ends.
      {"steps", args_.schedule == "constant" ? kAnySteps : std::to_string(args_.steps)},
      {"warmup", std::to_string(args_.warmup)},
      {"min-lr", shortest(args_.minimumRate)}};
  for (const auto &[name, value] : numbers_) {
    // Under the names of the options.
    if (name == "max_grad_norm")
      result["clip"] = shortest(value == maxGradNorm(0) ? 0 : value);
    else
      result[name == "learning_rate"  ? "lr"
             : name == "weight_decay" ? "weight-decay"
                                      : name] = shortest(value);
  }
  return result;
}

double Run::number(llvm::StringRef name) const {
  auto found = llvm::find_if(numbers_, [&](const auto &number) { return number.first == name; });
  return found == numbers_.end() ? 0 : found->second;
}

llvm::Error Run::readNumbers() {
  const StepNumbers &n = args_.numbers;
  const std::pair<const char *, std::optional<double>> options[] = {
      {"learning_rate", n.learningRate},
      {"beta1", n.beta1},
      {"beta2", n.beta2},
      {"eps", n.eps},
      {"momentum", n.momentum},
      {"weight_decay", n.weightDecay},
      {"max_grad_norm", n.clip ? std::optional(maxGradNorm(*n.clip)) : std::nullopt}};
  Hyperparameters given;
  for (auto [name, value] : options)
    if (value)
      given.push_back({name, *value});
  llvm::Expected<Hyperparameters> numbers = program_->numbers(given);
  if (!numbers)
    return makeError(args_.executable + ": " + llvm::toString(numbers.takeError()));
  numbers_ = std::move(*numbers);
  if (args_.minimumRate > number("learning_rate"))
    return makeError("--min-lr is above --lr, " + shortest(number("learning_rate")));
  return llvm::Error::success();
}

llvm::Error Run::open() {
  if (args_.evalEvery > 0 && args_.evalFraction == 0)
    return makeError("--eval-every needs --eval-fraction, the part of the data to evaluate on");
  if (!args_.resume && !hasStart())
    return makeError("nothing to start from: give --weights, --init, --resume or --resume-from");

  llvm::Expected<Executable> executable = Executable::load(args_.executable);
  if (!executable)
    return executable.takeError();
  executable_.emplace(std::move(*executable));
  SessionOptions options;
  options.threads = args_.threads;
  llvm::Expected<TrainingProgram> program = TrainingProgram::create(*executable_, options);
  if (!program)
    return makeError(args_.executable + ": " + llvm::toString(program.takeError()));
  program_.emplace(std::move(*program));
  if (llvm::Error error = readNumbers())
    return error;
  if (args_.evalFraction > 0 && program_->evaluationBatch() == 0)
    return makeError(args_.executable + ": has no entry forward with the inputs and the loss of "
                                        "train_step, so there is no evaluation: leave out "
                                        "--eval-fraction");

  llvm::Expected<TokenData> data = TokenData::open(args_.data, unsigned(args_.tokenBytes));
  if (!data)
    return data.takeError();
  data_.emplace(std::move(*data));
  if (llvm::Error error = data_->checkTokens(cleave_executable_token_limit(executable_->get())))
    return error;
  return countModelFlops();
}

llvm::Error Run::countModelFlops() {
  if (args_.peakGflops == 0)
    return llvm::Error::success();
  auto oracle = Oracle::create(*executable_, "forward");
  if (!oracle)
    return makeError("--peak-gflops: model FLOPs can not be counted: " +
                     llvm::toString(oracle.takeError()));
  // Every product of the forward pass has two in the backward pass, each as large.
  modelFlops_ = 3 * (*oracle)->operations();
  return llvm::Error::success();
}

llvm::Error Run::start() {
  progress_.seed = uint64_t(args_.seed.value_or(0));
  progress_.sequence = program_->sequence();
  progress_.dataTokens = data_->size();
  progress_.evaluationFraction = args_.evalFraction;
  std::string latest;
  if (!args_.checkpointDir.empty()) {
    CheckpointFolder::Options options;
    options.keep = uint64_t(args_.keep);
    options.killAtOperation = uint64_t(args_.killAtOperation);
    llvm::Expected<CheckpointFolder> folder = CheckpointFolder::open(args_.checkpointDir, options);
    if (!folder)
      return folder.takeError();
    folder_.emplace(std::move(*folder));
    llvm::Expected<std::string> found = folder_->latest();
    if (!found)
      return found.takeError();
    latest = std::move(*found);
  }
  if (latest.empty() && !hasStart())
    return makeError(args_.checkpointDir + ": there is no checkpoint to resume");
  if (!args_.resume && !latest.empty())
    return makeError(args_.checkpointDir + ": there are checkpoints of an earlier run: --resume "
                                           "continues it, another folder starts anew");
  if (latest.empty() && !args_.resumeFrom.empty()) {
    llvm::Expected<std::string> other = latestCheckpoint(args_.resumeFrom);
    if (!other)
      return other.takeError();
    if (other->empty())
      return makeError(args_.resumeFrom + ": there is no checkpoint to resume");
    resumedFrom_ = std::move(*other);
  } else {
    resumedFrom_ = latest;
  }
  if (resumedFrom_.empty()) {
    if (llvm::Error error = loadFirstStates())
      return error;
    if (!args_.weights.empty())
      companions_ = companionFiles(args_.weights);
  } else {
    if (llvm::Error error = resume(resumedFrom_))
      return error;
    companions_ = companionFiles(resumedFrom_);
  }
  if (!latest.empty())
    savedStep_ = progress_.step;
  startedAt_ = progress_;
  progress_.settings = settings();
  program_->setDropoutSeed(progress_.seed);

  llvm::Expected<BatchOrder> order = BatchOrder::create(
      *data_, program_->batch(), program_->sequence(), args_.evalFraction, progress_.seed);
  if (!order)
    return order.takeError();
  order_.emplace(std::move(*order));
  return llvm::Error::success();
}

llvm::Error Run::resume(const std::string &folder) {
  llvm::Expected<LoadedCheckpoint> checkpoint =
      LoadedCheckpoint::open(folder, program_->contents());
  if (!checkpoint)
    return checkpoint.takeError();
  const Progress &saved = checkpoint->progress();
  // The position in the data means the same only if all of these are the same.
  auto differs = [&](const llvm::Twine &what) {
    return makeError(folder + ": " + what + ", so that the order of the data would not go on");
  };
  if (saved.sequence != progress_.sequence)
    return differs("written with sequence length " + llvm::Twine(saved.sequence) +
                   ", the executable has " + llvm::Twine(progress_.sequence));
  if (saved.dataTokens != progress_.dataTokens)
    return differs("written with data of " + llvm::Twine(saved.dataTokens) + " tokens, " +
                   args_.data + " has " + llvm::Twine(progress_.dataTokens));
  if (saved.evaluationFraction != progress_.evaluationFraction)
    return differs("written with --eval-fraction " + shortest(saved.evaluationFraction) +
                   ", now it is " + shortest(progress_.evaluationFraction));
  if (args_.seed && saved.seed != progress_.seed)
    return differs("written with --seed " + llvm::Twine(saved.seed) + ", now it is " +
                   llvm::Twine(progress_.seed));
  for (const auto &[name, now] : settings())
    if (auto it = saved.settings.find(name); it != saved.settings.end() && it->second != now &&
                                             it->second != kAnySteps && now != kAnySteps)
      reportWarning("train",
                    folder + ": written with --" + name + " " + it->second + ", now it is " + now);
  if (llvm::Error error = program_->restore(*checkpoint))
    return error;
  progress_ = saved;
  return llvm::Error::success();
}

llvm::Error Run::loadFirstStates() {
  return args_.init ? program_->initialize(uint64_t(*args_.init))
                    : program_->loadWeights(args_.weights);
}

llvm::Error Run::openLog() {
  if (args_.log.empty())
    return llvm::Error::success();
  std::error_code code;
  auto flags = resumedFrom_.empty() ? llvm::sys::fs::OF_None : llvm::sys::fs::OF_Append;
  log_ = std::make_unique<llvm::raw_fd_ostream>(args_.log, code, flags);
  if (code)
    return makeError(args_.log + ": " + code.message());
  return llvm::Error::success();
}

Hyperparameters Run::prepareStep() {
  order_->trainingBatch(progress_.dataPosition, tokens_);
  Hyperparameters values = numbers_;
  for (auto &[name, value] : values)
    if (name == "learning_rate")
      value = schedule().learningRate(progress_.step);
  return values;
}

llvm::Expected<StepResult> Run::doStep() {
  Hyperparameters values = prepareStep();
  llvm::Expected<StepResult> result = program_->step(tokens_, values);
  if (!result)
    return result;
  advance();
  return result;
}

void Run::advance() {
  ++progress_.step;
  progress_.dataPosition += program_->batch();
  progress_.tokensSeen += program_->batch() * program_->sequence();
}

llvm::Error Run::train() {
  const uint64_t steps = uint64_t(args_.steps);
  const double tokensPerStep = double(program_->batch() * program_->sequence());
  while (progress_.step < steps) {
    Clock::time_point begin = Clock::now();
    const double rate = schedule().learningRate(progress_.step);
    llvm::Expected<StepResult> result = doStep();
    if (!result)
      return result.takeError();
    double seconds = secondsSince(begin);
    seconds_ += seconds;
    ++stepsDone_;
    last_ = *result;
    const bool isSkipped = result->isSkipped();
    skippedSteps_ += isSkipped;
    const bool good =
        isSkipped || (std::isfinite(result->loss) && std::isfinite(result->gradientNorm));

    const bool isLast = progress_.step == steps;
    auto isDue = [&](int64_t every) { return isLast || (every && progress_.step % every == 0); };
    std::optional<double> evaluation;
    if (good && args_.evalFraction > 0 && isDue(args_.evalEvery)) {
      llvm::Expected<double> loss = evaluate();
      if (!loss)
        return loss.takeError();
      evaluation = evaluationLoss_ = *loss;
    }
    printProgress(*result, rate, seconds);
    if (log_) {
      json::Object line{{"step", progress_.step},
                        {"loss", numberOrNull(result->loss)},
                        {"grad_norm", numberOrNull(result->gradientNorm)},
                        {"learning_rate", rate},
                        {"tokens", progress_.tokensSeen},
                        {"seconds", seconds},
                        {"tokens_per_second", tokensPerStep / seconds},
                        {"bytes_per_device", program_->memory().total}};
      if (result->lossScale) {
        line["loss_scale"] = *result->lossScale;
        line["skipped"] = isSkipped;
      }
      if (modelFlops_ > 0)
        line["mfu"] = modelFlops_ / seconds / (1e9 * args_.peakGflops);
      if (evaluation)
        line["eval_loss"] = numberOrNull(*evaluation);
      *log_ << json::Value(std::move(line)) << "\n";
      log_->flush();
      if (log_->has_error()) {
        std::error_code code = log_->error();
        log_->clear_error();
        return makeError(args_.log + ": " + code.message());
      }
    }
    if (!std::isfinite(result->loss))
      return notFinite("the loss is " + shortest(result->loss));
    if (!good)
      return notFinite("the gradient norm is " + shortest(result->gradientNorm) +
                       ", while the loss is " + shortest(result->loss));
    if (evaluation && !std::isfinite(*evaluation))
      return notFinite("the evaluation loss is " + shortest(*evaluation));
    if (folder_ && !isLast && isDue(args_.checkpointEvery))
      if (llvm::Error error = saveCheckpoint())
        return error;
  }
  if (folder_ && savedStep_ != progress_.step)
    return saveCheckpoint();
  return llvm::Error::success();
}

llvm::Error Run::notFinite(const llvm::Twine &what) {
  std::string kept = savedStep_ > 0
                         ? "the checkpoint of step " + std::to_string(savedStep_) + " is kept"
                         : std::string("there is no earlier checkpoint");
  uint64_t step = progress_.step;
  std::string text = ("step " + llvm::Twine(step) + ": " + what + "; ").str();
  llvm::Expected<std::string> origin = findOverflow(step);
  text += origin ? *origin : "where from is not known: " + llvm::toString(origin.takeError());
  return makeError(text + "; training stops, " + kept + ": lower --lr, or set --clip");
}

llvm::Error Run::restart() {
  std::string folder = resumedFrom_;
  if (folder_ && savedStep_ > 0) {
    llvm::Expected<std::string> latest = folder_->latest();
    if (!latest)
      return latest.takeError();
    folder = std::move(*latest);
  }
  if (folder.empty()) {
    progress_ = startedAt_;
    return loadFirstStates();
  }
  llvm::Expected<LoadedCheckpoint> checkpoint =
      LoadedCheckpoint::open(folder, program_->contents());
  if (!checkpoint)
    return checkpoint.takeError();
  progress_ = checkpoint->progress();
  return program_->restore(*checkpoint);
}

llvm::Expected<Findings> Run::checkedStep() {
  Hyperparameters values = prepareStep();
  llvm::Expected<json::Value> report = program_->checkedStep(tokens_, values);
  if (!report)
    return report.takeError();
  advance();
  return readFindings(*report);
}

llvm::Expected<std::string> Run::findOverflow(uint64_t failedStep) {
  constexpr double kMostSeconds = 300;
  if (seconds_ > kMostSeconds)
    return makeError("doing the steps again would take too long");
  if (llvm::Error error = restart())
    return error;
  auto isBroken = [&]() -> llvm::Expected<bool> {
    llvm::Expected<std::vector<HostTensor>> states = program_->states();
    if (!states)
      return states.takeError();
    return llvm::any_of(*states,
                        [](const HostTensor &t) { return t.firstNotFinite().has_value(); });
  };
  llvm::Expected<bool> broken = isBroken();
  if (!broken)
    return broken.takeError();
  if (*broken)
    return std::string("the states that the run began with are not finite");
  // The step may have failed on states that the update of the one before made infinite. What gives
  // infinities in a good step too, in padding or for a mask, is no fault.
  while (progress_.step + 3 < failedStep)
    if (llvm::Expected<StepResult> result = doStep(); !result)
      return result.takeError();
  std::set<int64_t> good; // instructions
  while (progress_.step < failedStep) {
    llvm::Expected<Findings> findings = checkedStep();
    if (!findings)
      return findings.takeError();
    // A step before the failed one is good if the states are.
    broken = isBroken();
    if (!broken)
      return broken.takeError();
    bool isGood = !*broken && progress_.step < failedStep;
    for (bool needsFinite : {true, false})
      for (const Finding &finding : *findings)
        if (!isGood && !good.count(finding.instruction) && (!needsFinite || finding.fromFinite))
          return "the first to give a value that is not finite, in step " +
                 std::to_string(progress_.step) + ", is " + describe(finding);
    good.clear();
    for (const Finding &finding : *findings)
      good.insert(finding.instruction);
  }
  return makeError("the steps done again stay finite");
}

llvm::Expected<double> Run::evaluate() {
  uint64_t batches = order_->evaluationWindows() / program_->evaluationBatch();
  if (args_.evalBatches > 0)
    batches = std::min<uint64_t>(batches, args_.evalBatches);
  double sum = 0;
  std::vector<int64_t> tokens;
  for (uint64_t i = 0; i < batches; ++i) {
    order_->evaluationBatch(i, program_->evaluationBatch(), tokens);
    llvm::Expected<double> loss = program_->evaluate(tokens);
    if (!loss)
      return loss.takeError();
    sum += *loss;
  }
  return sum / double(batches);
}

llvm::Error Run::saveCheckpoint() {
  auto source = [&](CheckpointPart part, size_t index, std::vector<char> &bytes) -> llvm::Error {
    llvm::Expected<HostTensor> tensor = program_->state(part, index);
    if (!tensor)
      return tensor.takeError();
    // What has overflowed in the last update is found in the next step, too late for this.
    if (std::optional<size_t> element = tensor->firstNotFinite())
      return notFinite("state " + tensor->name + " is not finite: element " +
                       llvm::Twine(*element) + " is " + shortest(tensor->numbers()[*element]));
    bytes = std::move(tensor->bytes);
    return llvm::Error::success();
  };
  if (llvm::Error error = folder_->save(progress_, program_->contents(), source, companions_))
    return error;
  savedStep_ = progress_.step;
  return llvm::Error::success();
}

void Run::printProgress(const StepResult &result, double rate, double seconds) {
  if (!showProgress_)
    return;
  double tokens = double(program_->batch() * program_->sequence());
  llvm::errs() << llvm::formatv("\r\x1b[Kstep {0}/{1}  loss {2:f4}  lr {3:e2}  {4:f0} tokens/s",
                                progress_.step, args_.steps, result.loss, rate, tokens / seconds);
  if (modelFlops_ > 0)
    llvm::errs() << llvm::formatv("  MFU {0:f1}%",
                                  100 * modelFlops_ / seconds / (1e9 * args_.peakGflops));
  if (evaluationLoss_)
    llvm::errs() << llvm::formatv("  eval loss {0:f4}", *evaluationLoss_);
}

void Run::clearProgress() {
  if (showProgress_ && stepsDone_ > 0)
    llvm::errs() << "\r\x1b[K";
}

llvm::Error Run::finish() {
  llvm::Expected<std::vector<uint64_t>> allocated = program_->allocatedBytes();
  if (!allocated)
    return allocated.takeError();
  if (llvm::Error error = program_->close())
    return error;
  clearProgress();
  TrainReport report;
  report.devices = cleave_executable_num_devices(executable_->get());
  report.progress = progress_;
  report.stepsRun = stepsDone_;
  report.skippedSteps = skippedSteps_;
  report.seconds = seconds_;
  if (seconds_ > 0) {
    double tokens = double(program_->batch() * program_->sequence());
    report.tokensPerSecond = double(stepsDone_) * tokens / seconds_;
    if (modelFlops_ > 0)
      report.mfu = modelFlops_ * double(stepsDone_) / seconds_ / (1e9 * args_.peakGflops);
  }
  report.memory = program_->memory();
  report.allocatedBytes = std::move(*allocated);
  report.last = last_;
  report.evaluationLoss = evaluationLoss_;
  report.resumedFrom = resumedFrom_;
  if (folder_ && savedStep_)
    report.checkpoint = llvm::cantFail(folder_->latest());
  args_.json ? report.printJson() : report.print();
  return llvm::Error::success();
}

} // namespace

int cleave::tool::trainCommand(const TrainArgs &args) {
  if (llvm::Error error = Run(args).execute())
    return reportError("train", llvm::toString(std::move(error)));
  return kSuccess;
}
