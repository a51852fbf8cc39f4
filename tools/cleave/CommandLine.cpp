// Copyright 2026 The Cleave Authors.
// SPDX-License-Identifier: Apache-2.0

#include "CommandLine.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <iostream>
#include <memory>

using namespace cleave::tool;

namespace {

constexpr const char *kCompileExamples = R"(Examples:
  cleave compile ./llama -o llama.cleave --mesh dp=2,tp=4 --batch 8 --seq 256
  cleave compile ./llama -o llama.cleave --mesh fsdp=8 --batch 8 --seq 256 --dtype bf16
  cleave compile ./llama -o step.cleave --entry train_step --mesh dp=4,tp=2 --zero 1 --batch 8 --seq 256
  cleave compile ./llama -o step.cleave --entry train_step --mesh dp=8 --zero 1 --batch 8 --seq 256 \
      --optimizer sgd --momentum 0.9 --lr 1e-2 --no-decay '*embed*'
  cleave compile ./llama --mesh tp=8 --batch 1 --seq 128 --stop-after partition --emit mlir
  cleave compile program.mlir -o program.cleave --mesh tp=2

The numbers of a training step (--lr and what follows it) are inputs of the compiled step: the
options set their defaults, which the file keeps; what runs the step may give others.
Axis names carry roles: dp shards the batch; fsdp shards the batch and the parameters, which are
gathered before use; tp shards attention heads, the MLP and the vocabulary.
Phases, in order: import, differentiate, plan, propagate, reshard, partition, merge, overlap, lower, verify, write.)";

constexpr const char *kRunExamples = R"(Examples:
  cleave run llama.cleave --weights ./llama --inputs in.safetensors --outputs out.safetensors
  cleave run llama.cleave --weights ./llama --outputs out.safetensors --threads 2

The inputs file names the entry's inputs (input_ids and labels, I64 [batch, seq]; labels at the
positions of input_ids, -100 ignored). Without --inputs they are drawn from --seed.)";

constexpr const char *kTrainExamples = R"(Examples:
  cleave compile ./llama --entry train_step --mesh dp=2,tp=4 --batch 8 --seq 256 -o step.cleave
  cleave train step.cleave --init 1 --data book.txt --steps 200
  cleave train step.cleave --weights ./llama --data tokens.bin --steps 1000 --lr 1e-4 \
      --schedule cosine --warmup 100 --eval-fraction 0.05 --eval-every 100 \
      --log metrics.jsonl --checkpoint-dir run --checkpoint-every 100
  cleave train other-mesh.cleave --resume --checkpoint-dir run --data tokens.bin --steps 2000

Data: FILE.bin holds little-endian unsigned integers (--token-bytes), FILE.npy a 1-D array of
integers; the bytes of any other file are its tokens. It is cut into windows of the sequence length,
which every epoch uses once in an order drawn from --seed.
A checkpoint (DIR/step-000100) is written under another name, then renamed, then named by DIR/latest.
Its model.safetensors loads as the model's weights; --resume continues it under any mesh and ZeRO
stage. A log that is continued may hold a step twice: the later object counts.
MFU is model FLOPs a second over --peak-gflops. Model FLOPs of a step are three times those of the
forward pass's matrix products and attention, each counted once and causal attention in full.)";

constexpr const char *kVerifyExamples = R"(Examples:
  cleave verify llama.cleave --weights ./llama
  cleave verify llama.cleave --weights ./llama --reference reference.safetensors
  cleave verify llama.cleave --interleavings 100

A program that is too large for the float64 oracle is compared with its unsharded self as compiled, and
the oracle checks a twin of it: a smaller model that is sharded alike, with the same collectives.

Exit status: 0 the program computes what the unsharded one does, 1 it does not, 2 bad input.)";

constexpr const char *kInspectExamples = R"(Examples:
  cleave inspect llama.cleave
  cleave inspect llama.cleave --json)";

constexpr const char *kExplainExamples = R"(Examples:
  cleave explain llama.cleave
  cleave explain llama.cleave --json)";

constexpr const char *kFooter = R"(Examples:
  cleave compile ./llama -o llama.cleave --mesh dp=2,tp=4 --batch 8 --seq 256
  cleave run llama.cleave --weights ./llama --outputs out.safetensors
  cleave train step.cleave --weights ./llama --data tokens.bin --checkpoint-dir run
  cleave verify llama.cleave --weights ./llama
  cleave inspect llama.cleave
  cleave explain llama.cleave

`cleave COMMAND --help` describes a command.)";

CLI::Validator numberThat(bool (*isGood)(double), const char *what, const char *name) {
  return CLI::Validator(
      [=](std::string &text) {
        double value;
        bool good = CLI::detail::lexical_cast(text, value) && isGood(value);
        return good ? std::string() : text + " is not a " + what;
      },
      name);
}

CLI::Validator nonNegative() {
  return numberThat([](double x) { return x >= 0 && x < 1e300; }, "finite number of at least 0",
                    ">= 0");
}

CLI::Validator belowOne() {
  return numberThat([](double x) { return x >= 0 && x < 1; }, "number of at least 0 and below 1",
                    "[0, 1)");
}

/// A number that is too large would be taken as the largest.
CLI::Validator wholeNumber() {
  return CLI::Validator(
      [](std::string &text) {
        int64_t value;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool good = error == std::errc() && end == text.data() + text.size();
        return good ? std::string() : text + " is not a whole number of at most 64 bits";
      },
      "INT");
}

/// The numbers of a step. `defaults`: what they are without the option, one text each.
void addNumbers(CLI::App *c, StepNumbers &n, const std::string &learningRate,
                const std::vector<std::string> &defaults) {
  auto text = [&](const char *what, size_t i) { return what + ("; default: " + defaults[i]); };
  c->add_option("--lr", n.learningRate, learningRate + "; default: " + defaults[0])
      ->check(nonNegative());
  c->add_option("--beta1", n.beta1, text("AdamW: decay of the first moment", 1))->check(belowOne());
  c->add_option("--beta2", n.beta2, text("AdamW: decay of the second moment", 2))
      ->check(belowOne());
  c->add_option("--eps", n.eps, text("AdamW: added to the root of the second moment", 3))
      ->check(nonNegative());
  c->add_option("--momentum", n.momentum, text("SGD: decay of the velocity", 4))->check(belowOne());
  c->add_option("--weight-decay", n.weightDecay, text("Decay of the parameters that decay", 5))
      ->check(nonNegative());
  c->add_option("--clip", n.clip, text("Largest global norm of the gradients; 0: no clipping", 6))
      ->check(nonNegative());
}

void addCompile(CLI::App &app, CompileArgs &a) {
  CLI::App *c = app.add_subcommand("compile", "Shard a model over a mesh and write an executable");
  c->add_option(
       "model", a.model,
       "A Hugging Face folder, its config.json alone, or a .mlir file of the graph dialect")
      ->required();
  c->add_option("-o,--output", a.output, "The executable to write (.cleave)");
  c->add_option("--mesh", a.mesh,
                "Device mesh: axis=size, comma separated, e.g. dp=2,tp=4; needed unless a "
                ".mlir file has one of its own");
  c->add_option("--batch", a.batch, "Global batch size, in rows")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24))
      ->capture_default_str();
  c->add_option("--seq", a.sequence, "Sequence length, in tokens")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 24))
      ->capture_default_str();
  c->add_option(
       "--entry", a.entry,
       "What to compile: forward, or train_step (loss, gradients, optimizer; with forward)")
      ->check(CLI::IsMember({"forward", "train_step"}))
      ->capture_default_str();
  c->add_option("--microbatches", a.microbatches,
                "Microbatches of a training step, whose gradients are added; divides the batch")
      ->check(CLI::Range(int64_t(1), int64_t(4096)))
      ->capture_default_str();
  CLI::Validator rate = belowOne();
  CLI::Validator dropout(
      [rate](std::string &text) {
        return text == "config" || rate(text).empty()
                   ? std::string()
                   : text + " is neither config nor a number of at least 0 and below 1";
      },
      "config|[0, 1)");
  c->add_option(
       "--dropout", a.dropout,
       "Of a training step, where transformers has dropout in the model: a rate, or config "
       "for the rates of config.json; default: 0, with a warning where config.json has some")
      ->check(dropout);
  c->add_option("--optimizer", a.optimizer, "Of a training step: adamw or sgd")
      ->check(CLI::IsMember({"adamw", "sgd"}))
      ->capture_default_str();
  c->add_option("--decay", a.decay,
                "Parameters that decay whatever their rank, as name patterns like *.bias; without "
                "it those with two or more dimensions in the checkpoint")
      ->allow_extra_args(false);
  c->add_option("--no-decay", a.noDecay,
                "Parameters that do not decay, as name patterns; goes before --decay")
      ->allow_extra_args(false);
  addNumbers(c, a.numbers, "Of a training step, the default of its learning rate",
             {"3e-4", "0.9", "0.95", "1e-8", "0, without a velocity", "0.1", "1"});
  c->add_option(
       "--dtype", a.dtype,
       "Type of weights and activations: f32, bf16 or f16; a training step computes in it and "
       "stores weights in f32")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->capture_default_str();
  c->add_option("--reduce-dtype", a.reduceDtype,
                "Type in which the gradients of weights are summed over devices: f32, or bf16 with "
                "--dtype bf16")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  c->add_option(
       "--loss-scale", a.lossScale,
       "With --dtype f16: first factor of the loss, halved when gradients overflow; default: "
       "65536")
      ->check(CLI::Range(1.0, 0x1p126));
  c->add_option(
       "--loss-scale-interval", a.lossScaleInterval,
       "With --dtype f16: updates in a row without overflow after which the factor doubles; "
       "default: 2000")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40));
  c->add_flag("--sequence-parallel", a.sequenceParallel,
              "Shard the regions between tensor-parallel blocks over the sequence");
  c->add_option("--zero", a.zero,
                "ZeRO stage over dp: 1 and 2 shard optimizer states, 3 parameters too")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  c->add_flag("--reshard-after-forward,!--keep-gathered", a.reshardAfterForward,
              "Training step with ZeRO 3 or fsdp: gather parameters again for the backward half "
              "(default), or keep what the forward half gathered");
  c->add_flag("--whole-gradients", a.wholeGradients,
              "Training step with --microbatches and ZeRO 2, 3 or fsdp: add up gradients whole and "
              "scatter the sums once, which sends less and takes more memory");
  c->add_flag("--regather-activations", a.regatherActivations,
              "Training step with --sequence-parallel: save activations sharded and gather them "
              "again for the backward half");
  c->add_option("--strategy", a.strategyFile,
                "JSON file that overrides the tables from logical axes to mesh axes");
  c->add_option("--cpu", a.cpu,
                "Kernels for: baseline (x86-64-v3, and x86-64-v4 chosen at load) or native")
      ->check(CLI::IsMember({"baseline", "native"}))
      ->capture_default_str();
  c->add_option("--prefetch-bytes", a.prefetchBytes,
                "Bytes of parameters on a device that may be gathered ahead of their use")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  c->add_flag("--no-overlap", a.noOverlap, "Keep every collective where its result is needed");
  c->add_option("--stop-after", a.stopAfter, "Stop after this phase");
  c->add_option("--emit", a.emit, "With --stop-after: print the program there, as mlir")
      ->check(CLI::IsMember({"mlir"}));
  c->add_flag("--timing", a.timing, "Print the time of every pass to stderr");
  // For tests of what finds wrong programs.
  c->add_flag("--wrong-reduction", a.wrongReduction)->group("");
  c->parse_complete_callback([c, &a] {
    for (const char *name : {"--seq", "--batch"})
      if (c->count(name))
        a.sizeFlag = name;
  });
  c->footer(kCompileExamples);
}

void addRun(CLI::App &app, RunArgs &a) {
  CLI::App *c = app.add_subcommand("run", "Run an executable on logical devices of this machine");
  c->add_option("executable", a.executable, "The .cleave file")->required();
  c->add_option("--weights", a.weights,
                "Folder with model.safetensors (or an index and its files); needed where the "
                "executable has weights");
  c->add_option("--inputs", a.inputs, "Safetensors file with the entry's inputs by name");
  c->add_option("--outputs", a.outputs, "Safetensors file to write the outputs to");
  c->add_option("--entry", a.entry, "Entry point; default: the only one");
  c->add_option("--threads", a.threads, "Worker threads; 0: one a core")
      ->check(CLI::Range(int64_t(0), int64_t(4096)))
      ->capture_default_str();
  c->add_option("--seed", a.seed, "Seed of the inputs when --inputs is not given")
      ->check(wholeNumber())
      ->capture_default_str();
  c->add_option("--interleave", a.interleave,
                "Execute one legal interleaving of all streams, drawn from this seed; 0: off")
      ->check(CLI::Range(int64_t(0), INT64_MAX))
      ->capture_default_str();
  c->add_option("--repeat", a.repeat, "Run this many times and report the best time")
      ->check(CLI::Range(int64_t(1), int64_t(1000000)))
      ->capture_default_str();
  c->add_flag("--poison", a.poison, "Fill padding and unwritten memory with NaN before the run");
  c->add_flag("--profile", a.profile,
              "Report where the time of the last run went; with --json also by instruction");
  c->add_flag("--json", a.json, "Print the report as JSON");
  c->footer(kRunExamples);
}

void addTrain(CLI::App &app, TrainArgs &a) {
  CLI::App *c = app.add_subcommand("train", "Train a model with a compiled train_step");
  auto count = CLI::Range(int64_t(0), int64_t(1) << 40);
  c->add_option("executable", a.executable, "The .cleave file, compiled with --entry train_step")
      ->required();
  auto *weights =
      c->add_option("--weights", a.weights, "Start from the safetensors in this folder (or file)");
  auto *init =
      c->add_option("--init", a.init,
                    "Start from random weights drawn from this seed: N(0, 0.02), norm weights 1, "
                    "biases 0; the same under every mesh")
          ->excludes(weights);
  c->add_option("--data", a.data, "File of tokens")->required();
  c->add_option("--token-bytes", a.tokenBytes, "Bytes of a token in a .bin file: 2 or 4")
      ->check(CLI::IsMember({2, 4}))
      ->capture_default_str();
  c->add_option("--steps", a.steps, "Steps in all, those before a resume included")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->capture_default_str();
  c->add_option("--seed", a.seed,
                "Seed of the order of the data and of dropout; default: 0, or the checkpoint's")
      ->check(wholeNumber());
  addNumbers(c, a.numbers, "Learning rate: the peak of the schedule",
             std::vector<std::string>(7, "the executable's"));
  c->add_option("--schedule", a.schedule, "constant, or after the warmup cosine or linear decay")
      ->check(CLI::IsMember({"constant", "cosine", "linear"}))
      ->capture_default_str();
  c->add_option("--warmup", a.warmup, "Steps over which the learning rate rises to its peak")
      ->check(count)
      ->capture_default_str();
  c->add_option("--min-lr", a.minimumRate, "Learning rate at which a decay ends")
      ->check(nonNegative())
      ->capture_default_str();
  c->add_option("--eval-fraction", a.evalFraction, "Part of the data, its end, kept for evaluation")
      ->check(belowOne())
      ->capture_default_str();
  c->add_option("--eval-every", a.evalEvery, "Evaluate every so many steps; 0: after the last one")
      ->check(count)
      ->capture_default_str();
  c->add_option("--eval-batches", a.evalBatches, "Batches of one evaluation; 0: all")
      ->check(count)
      ->capture_default_str();
  c->add_option("--log", a.log, "File for metrics: one JSON object a line, one line a step");
  auto *folder = c->add_option("--checkpoint-dir", a.checkpointDir, "Folder for checkpoints");
  c->add_option("--checkpoint-every", a.checkpointEvery,
                "Write a checkpoint every so many steps; 0: after the last one")
      ->check(count)
      ->needs(folder)
      ->capture_default_str();
  c->add_option("--keep", a.keep, "How many checkpoints stay")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 40))
      ->needs(folder)
      ->capture_default_str();
  c->add_flag("--resume", a.resume,
              "Go on from the latest checkpoint; where there is none yet, start as the other "
              "options say")
      ->needs(folder);
  c->add_option("--resume-from", a.resumeFrom,
                "Go on from the latest checkpoint of another run's folder, which stays as it is")
      ->excludes(weights)
      ->excludes(init);
  c->add_option("--peak-gflops", a.peakGflops,
                "What all devices together could reach at best, for the MFU; 0: no MFU")
      ->check(nonNegative())
      ->capture_default_str();
  c->add_option("--threads", a.threads, "Worker threads; 0: one a core")
      ->check(CLI::Range(int64_t(0), int64_t(4096)))
      ->capture_default_str();
  c->add_flag("--json", a.json, "Print the report as JSON");
  // For tests of what an end at any moment leaves.
  c->add_option("--kill-at-file-operation", a.killAtOperation)->group("");
  c->footer(kTrainExamples);
}

void addVerify(CLI::App &app, VerifyArgs &a) {
  CLI::App *c = app.add_subcommand(
      "verify", "Check that an executable computes what the unsharded program does");
  c->add_option("executable", a.executable, "The .cleave file")->required();
  c->add_option("--weights", a.weights,
                "Folder with model.safetensors (or an index and its files); without it weights are "
                "drawn from --seed");
  c->add_option("--reference", a.reference,
                "Safetensors file with inputs and expected outputs to compare with");
  c->add_option("--entry", a.entry, "Entry point; default: the only one");
  c->add_option("--threads", a.threads, "Worker threads; 0: one a core")
      ->check(CLI::Range(int64_t(0), int64_t(4096)))
      ->capture_default_str();
  c->add_option("--seed", a.seed, "Seed of inputs and weights that are not given")
      ->check(wholeNumber())
      ->capture_default_str();
  c->add_option("--interleavings", a.interleavings,
                "Random legal interleavings that must give the same bits")
      ->check(CLI::Range(int64_t(0), int64_t(100000)))
      ->capture_default_str();
  c->add_option(
       "--oracle-limit", a.oracleLimit,
       "Largest estimate, in operations, for which the float64 oracle is run; above it a smaller "
       "twin of the program is what the oracle checks")
      ->check(numberThat([](double x) { return x >= 0; }, "number of at least 0", ">= 0"))
      ->capture_default_str();
  c->add_flag("--json", a.json, "Print the report as JSON");
  c->footer(kVerifyExamples);
}

void addInspect(CLI::App &app, const char *name, const char *description, const char *footer,
                InspectArgs &a) {
  CLI::App *c = app.add_subcommand(name, description);
  c->add_option("executable", a.executable, "The .cleave file")->required();
  c->add_option("--entry", a.entry, "Entry point; default: all");
  c->add_flag("--json", a.json, "Print as JSON");
  c->footer(footer);
}

} // namespace

bool cleave::tool::parseCommandLine(int argc, const char *const *argv, CommandLine &result,
                                    int &exitCode) {
  CLI::App app("Cleave shards transformer graphs over device meshes and runs them.", "cleave");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("cleave ") + CLEAVE_VERSION);
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  addCompile(app, result.compile);
  addRun(app, result.run);
  addTrain(app, result.train);
  addVerify(app, result.verify);
  addInspect(app, "inspect", "Show mesh, signature, memory, collectives and kernels",
             kInspectExamples, result.inspect);
  addInspect(app, "explain", "Say for every collective what caused it", kExplainExamples,
             result.inspect);

  for (int i = 2; i < argc; ++i)
    result.compile.arguments.push_back(argv[i]);
  for (int i = 0; i < argc; ++i)
    result.text += (i ? " " : "") + std::string(i ? argv[i] : "cleave");
  exitCode = kSuccess;
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &request) { // --help, --version
    app.exit(request, std::cout, std::cerr);
    return false;
  } catch (const CLI::ParseError &error) {
    std::string message = error.what();
    for (char &c : message)
      if (c == '\n')
        c = ' ';
    std::string command = app.get_subcommands().empty()
                              ? std::string()
                              : " " + app.get_subcommands().front()->get_name();
    if (command.empty() && argc > 1 && argv[1][0] != '-')
      message = "there is no command '" + std::string(argv[1]) +
                "'; the commands are compile, run, train, verify, inspect and explain";
    std::cerr << "cleave" << command << ": error: " << message << " (see cleave" << command
              << " --help)\n";
    exitCode = kBadInput;
    return false;
  }
  std::string name = app.get_subcommands().front()->get_name();
  using Command = CommandLine::Command;
  result.command = name == "compile"   ? Command::Compile
                   : name == "run"     ? Command::Run
                   : name == "train"   ? Command::Train
                   : name == "verify"  ? Command::Verify
                   : name == "inspect" ? Command::Inspect
                                       : Command::Explain;
  return true;
}

std::optional<CompileArgs>
cleave::tool::parseCompileArguments(const std::vector<std::string> &arguments) {
  CLI::App app("", "cleave");
  CompileArgs args;
  addCompile(app, args);
  std::vector<const char *> argv = {"cleave", "compile"};
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  try {
    app.parse(int(argv.size()), argv.data());
  } catch (const CLI::Error &) {
    return std::nullopt;
  }
  args.arguments = arguments;
  return args;
}
