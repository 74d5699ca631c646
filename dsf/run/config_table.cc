// The list itself; what is done with it is in config_fields.cc.

#include <limits>
#include <optional>

#include "dsf/feedback/feedback_method.h"
#include "dsf/feedback/feedback_registry.h"
#include "dsf/kernels/parallel.h"
#include "dsf/run/config_fields.h"

namespace dsf {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr FieldRange kAny = {-kInfinity, kInfinity};
constexpr FieldRange kFromZero = {0.0, kInfinity};
constexpr FieldRange kFromOne = {1.0, kInfinity};
constexpr FieldRange kAboveZero = {0.0, kInfinity, true};
constexpr FieldRange kUnit = {0.0, 1.0};
constexpr FieldRange kBelowOne = {0.0, 1.0, false, true};
constexpr FieldRange kAboveZeroToOne = {0.0, 1.0, true};
// A number beyond these is a slip of the finger. The weights of the largest model still count less
// than 2^63, and so do the largest batch's tokens and the steps of the most epochs.
constexpr FieldRange kSize = {1.0, 1e9};
constexpr FieldRange kSizeOrNone = {0.0, 1e9};
constexpr FieldRange kWidth = {1.0, 1048576.0};
constexpr FieldRange kDepth = {1.0, 65536.0};
constexpr FieldRange kSteps = {0.0, 1e15};
// Smaller ones are zero in f32.
constexpr FieldRange kNormal = {1.2e-38, kInfinity};

// The library's and those that the program has registered.
std::vector<std::string> all_feedbacks() {
  std::vector<std::string> names = feedback_methods();
  for (std::string& name : registered_feedbacks()) names.push_back(std::move(name));
  return names;
}

// The place of a member, for instance DSF_AT(data.corpus).
#define DSF_AT(member) (+[](RunConfig & config) -> auto& { return config.member; })

// The place and the names of a member that is an enum.
#define DSF_CHOICE(member)                                                                   \
  ChoicePlace{                                                                               \
      [](const RunConfig& config) { return name_of(config.member); },                        \
      [](std::string_view name, RunConfig& config) { return choose(name, config.member); }}, \
      kAny, choice_names<decltype(RunConfig().member)>()

template <Choice Enum>
bool choose(std::string_view name, Enum& value) {
  const std::optional<Enum> chosen = choice_named<Enum>(name);
  if (chosen) value = *chosen;
  return chosen.has_value();
}

std::vector<Field> make_fields() {
  using enum OnResume;
  // clang-format off
  return {
      {"data", "corpus", DSF_AT(data.corpus), kAny, {}, checked,
       "PTB or WikiText directory, text file(s) separated by commas, or synthetic:recall"},
      {"data", "tokenizer", DSF_CHOICE(data.tokenizer), fixed,
       "what a token is"},
      {"data", "vocab", DSF_AT(data.vocab), kSizeOrNone, {}, fixed,
       "size of the vocabulary, specials included; 0: as many as the text has (bpe: up to 16000)"},
      {"data", "min_count", DSF_AT(data.min_count), kFromOne, {}, fixed,
       "tokens seen less often become <unk>"},
      {"data", "batching", DSF_CHOICE(data.batching), fixed,
       "lines shuffled, cut at the context; blocks of text shuffled; or text in order, the state "
       "carried on"},
      {"data", "context", DSF_AT(data.context), kSize, {}, fixed,
       "longest sequence, in tokens"},
      {"data", "valid", DSF_AT(data.valid), kAny, {}, checked,
       "validation file, for a corpus that is a file"},
      {"data", "test", DSF_AT(data.test), kAny, {}, checked,
       "test file, for a corpus that is a file"},
      {"data", "valid_fraction", DSF_AT(data.valid_fraction), kUnit, {}, fixed,
       "part of the corpus to validate on, if no file is given"},
      {"data", "test_fraction", DSF_AT(data.test_fraction), kUnit, {}, fixed,
       "part of the corpus to test on, if no file is given"},

      {"model", "mixer", DSF_CHOICE(model.mixer), fixed,
       "what looks along time"},
      {"model", "hidden", DSF_AT(model.hidden), kWidth, {}, fixed,
       "width of the model"},
      {"model", "layers", DSF_AT(model.layers), kDepth, {}, fixed,
       "number of blocks"},
      {"model", "block", DSF_CHOICE(model.block), fixed,
       "plain: x + Mixer(x); transformer: x + Proj(Mixer(LN(x))), then x + MLP(LN(x))"},
      {"model", "skip", DSF_AT(model.skip), kAny, {}, fixed,
       "skip connections around the mixers"},
      {"model", "reset", DSF_CHOICE(model.reset), fixed,
       "gru: reset gate after or before the recurrent product"},
      {"model", "recompute", DSF_AT(model.recompute), kAny, {}, free,
       "keep only the recurrent layers' states for the backward pass and rebuild their gates there"},

      {"feedback", "method", DSF_AT(feedback.method), kAny, all_feedbacks(), fixed,
       "how gradients go back in time"},
      {"feedback", "init", DSF_CHOICE(feedback.init), fixed,
       "dsf, gated:dsf: how the diagonal is chosen at the start"},
      {"feedback", "range", DSF_AT(feedback.range), kUnit, {}, fixed,
       "dsf, gated:dsf, lowrank, orthogonal: [low, high] of the numbers drawn"},
      {"feedback", "scan", DSF_CHOICE(feedback.scan), fixed,
       "dsf, adaptive: form of the reverse scan"},
      {"feedback", "calibration", DSF_AT(feedback.calibration), kFromOne, {}, free,
       "adaptive: first batches that go back exactly"},
      {"feedback", "refit_every", DSF_AT(feedback.refit_every), kFromZero, {}, free,
       "adaptive: batches from one exact one to the next; 0: never again"},

      {"train", "epochs", DSF_AT(train.epochs), kSize, {}, free,
       "passes through the corpus; do not count if steps are given beside them"},
      {"train", "steps", DSF_AT(train.steps), kSteps, {}, free,
       "updates; count before epochs given beside them; 0: as many as the epochs have"},
      {"train", "batch", DSF_AT(train.batch), kSize, {}, fixed,
       "sequences in a batch"},
      {"train", "lr", DSF_AT(train.lr), kAboveZero, {}, free,
       "learning rate, at its peak"},
      {"train", "optimizer", DSF_CHOICE(train.optimizer), fixed,
       "adam: L2 inside the gradient; adamw: decoupled weight decay"},
      {"train", "weight_decay", DSF_AT(train.adam.weight_decay), kFromZero, {}, free,
       "pull of the weights towards zero"},
      {"train", "beta1", DSF_AT(train.adam.beta1), kBelowOne, {}, free,
       "memory of the mean gradient"},
      {"train", "beta2", DSF_AT(train.adam.beta2), kBelowOne, {}, free,
       "memory of its square"},
      {"train", "epsilon", DSF_AT(train.adam.epsilon), kNormal, {}, free,
       "added to the root of the mean square"},
      {"train", "schedule", DSF_CHOICE(train.schedule.kind), free,
       "course of the learning rate"},
      {"train", "milestones", DSF_AT(train.schedule.milestones), kFromZero, {}, free,
       "step: epochs at which the rate is multiplied by gamma"},
      {"train", "gamma", DSF_AT(train.schedule.gamma), kAboveZeroToOne, {}, free,
       "step: factor"},
      {"train", "warmup", DSF_AT(train.schedule.warmup), kUnit, {}, free,
       "cosine: part of all steps in which the rate rises from 0"},
      {"train", "floor", DSF_AT(train.schedule.floor), kUnit, {}, free,
       "cosine: rate of the last step, as a part of the peak"},
      {"train", "clip", DSF_AT(train.clip), kFromZero, {}, free,
       "largest norm of the whole gradient; 0: no clipping"},
      {"train", "eval_every", DSF_AT(train.eval_every), kFromZero, {}, free,
       "steps between evaluations; 0: at the end of each epoch"},
      {"train", "checkpoint_every", DSF_AT(train.checkpoint_every), kFromZero, {}, free,
       "steps between checkpoints, besides the one after each evaluation; 0: none"},
      {"train", "keep", DSF_AT(train.keep), kSize, {}, free,
       "newest checkpoints that stay, besides the best"},
      {"train", "on_nan", DSF_CHOICE(train.on_nan), free,
       "a loss or gradient that is not finite: stop before the update, or skip the batch"},
      {"train", "log_every", DSF_AT(train.log_every), kFromOne, {}, free,
       "steps between lines of log.jsonl"},
      {"train", "tensorboard", DSF_AT(train.tensorboard), kAny, {}, free,
       "also write TensorBoard event files, into RUN/tensorboard"},
      {"train", "seed", DSF_AT(train.seed), kFromZero, {}, fixed,
       "of initial weights, shuffling and diagonals"},
      {"train", "threads", DSF_AT(train.threads), {0.0, kMostThreads}, {}, free,
       "of each rank; 0: the CPUs it may run on, shared among the ranks of the machine"},
      {"train", "precision", DSF_CHOICE(train.precision), fixed,
       "of matrix products; auto: bf16 if the CPU is faster with it"},
      {"train", "shard_optimizer", DSF_AT(train.shard_optimizer), kAny, {}, free,
       "several ranks: each keeps the optimiser's moments of its part of the weights only"},
      {"train", "compress_gradients", DSF_AT(train.compress_gradients), kAny, {}, free,
       "several ranks: gradients travel as bf16, with error feedback"},
      {"train", "watchdog_seconds", DSF_AT(train.watchdog_seconds), kAboveZero, {}, free,
       "several ranks: a rank that keeps the others waiting this long ends the run"},
  };
  // clang-format on
}

#undef DSF_AT
#undef DSF_CHOICE

}  // namespace

std::span<const Field> config_fields() {
  static const std::vector<Field> fields = make_fields();
  return fields;
}

}  // namespace dsf
