#include "dsf/train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsf/base/error.h"
#include "dsf/base/file.h"
#include "dsf/base/hash.h"
#include "dsf/base/log.h"
#include "dsf/base/loss_units.h"
#include "dsf/base/timer.h"
#include "dsf/kernels/parallel.h"
#include "dsf/run/config_file.h"
#include "dsf/run/finite.h"
#include "dsf/train/shared_state.h"
#include "dsf/train/training_batches.h"
#include "dsf/train/training_step.h"
#include "dsf/use/evaluation.h"

namespace dsf {
namespace {

// Skipping more than this helps no run: its weights are finite, but nothing else is.
constexpr dim_t kMostSkippedInARow = 20;

bool same_shapes(const ModelState& a, const ModelState& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Matrix& x, const Matrix& y) {
    return x.rows() == y.rows() && x.cols() == y.cols();
  });
}

}  // namespace

Trainer::Trainer(const RunConfig& config, const Dataset& data, LanguageModel& model, RunPaths paths,
                 Communicator& ranks)
    : config_(config),
      data_(data),
      model_(model),
      paths_(std::move(paths)),
      identity_{fixed_part_hash(config), data_hash(data)},
      ranks_(ranks),
      sync_(ranks, model.table().flat_size(),
            {.shard_optimizer = config.train.shard_optimizer,
             .compress = config.train.compress_gradients}),
      batcher_(training_batches(config, data.train, data.tokenizer->bos())),
      schedule_(config.train, batcher_.batches_per_epoch()) {
  state_.adam.m.resize(sync_.optimizer_size());
  state_.adam.v.resize(sync_.optimizer_size());
  if (batcher_.carries_state()) {
    state_.carried = model.zero_state(share_of(ranks).rows_of(batcher_.batch_size()));
  }
}

void Trainer::load(const std::filesystem::path& checkpoint) {
  TrainingState loaded;
  const RunIdentity saved = load_checkpoint(checkpoint, loaded, model_);
  if (saved.data_hash != kUnknownText && saved.data_hash != identity_.data_hash) {
    throw UsageError(fmt::format(
        "data.corpus = \"{}\": its text is not the one that {} was trained on; give the "
        "original with --data, or start a new run",
        config_.data.corpus, checkpoint.string()));
  }
  if (saved.config_hash != identity_.config_hash) {
    log_warning(
        fmt::format("{} has changed since {} was written: the run will not be the one it "
                    "would have been",
                    paths_.config().string(), checkpoint.string()));
  }
  const ModelState expected =
      batcher_.carries_state() ? model_.zero_state(batcher_.batch_size()) : ModelState();
  if (!same_shapes(loaded.carried, expected)) {
    throw CheckpointError(
        fmt::format("{}: its carried states do not fit the model", checkpoint.string()));
  }
  state_ = std::move(loaded);
}

// Rank 0 reads, and tells the others.
void Trainer::restore() {
  restored_ = true;
  // Whole, as a checkpoint has them: what each rank keeps of it is cut out below.
  state_.adam.m.resize(model_.table().flat_size());
  state_.adam.v.resize(model_.table().flat_size());
  if (batcher_.carries_state()) state_.carried = model_.zero_state(batcher_.batch_size());
  if (ranks_.leads()) load_newest();
  broadcast_state(ranks_, state_, model_, saved_step_);
  state_.adam = sync_.own_moments(std::move(state_.adam));
  state_.carried = own_rows(ranks_, state_.carried);
  if (state_.step > schedule_.total_steps()) {
    throw UsageError(fmt::format(
        "{}: the run is at step {} already, but train.steps or train.epochs ask for {} only",
        paths_.root.string(), state_.step, schedule_.total_steps()));
  }
}

void Trainer::load_newest() {
  const std::vector<std::filesystem::path> checkpoints = list_checkpoints(paths_.checkpoints());
  if (checkpoints.empty()) {
    const std::string ended = last_event(paths_.log());
    if (ended == "done" || ended == "interrupted") {
      throw CheckpointError(
          fmt::format("{}: no checkpoint is there, but the run's log says that it was saved; is "
                      "this the right disk?",
                      paths_.checkpoints().string()));
    }
    log_warning(
        fmt::format("{}: no checkpoint yet, starting from the beginning", paths_.root.string()));
    return;
  }
  std::string first_error;
  for (const std::filesystem::path& checkpoint : checkpoints) {
    try {
      load(checkpoint);
      saved_step_ = state_.step;
      return;
    } catch (const CheckpointError& error) {
      log_warning(fmt::format("{}; trying the checkpoint before", error.what()));
      if (first_error.empty()) first_error = error.what();
    }
  }
  throw CheckpointError(
      fmt::format("{}: no whole checkpoint is left ({})", paths_.root.string(), first_error));
}

bool Trainer::is_done() const {
  return restored_ && schedule_.finished(state_.step) && last_event(paths_.log()) == "done";
}

RunSummary Trainer::run(TrainObserver& observer, const StopRequest& stop) {
  observer_ = &observer;
  if (is_done()) return summary();
  start();
  int signal = 0;
  while (!schedule_.finished(state_.step) && !asks_to_stop(signal)) {
    step();
    if (schedule_.log_due(state_.step)) log_training();
    if (schedule_.evaluation_due(state_.step)) evaluate();
    signal = agree_on_signal(ranks_, stop());
    if (signal != 0 || schedule_.checkpoint_due(state_.step)) save();
  }
  RunSummary result = summary();
  if (schedule_.finished(state_.step)) {
    log_->write_done(result);
  } else {
    result.interrupted = true;
    log_->write_interrupted(state_.step, signal);
  }
  return result;
}

// The checkpoints that there will be at most at one time: the newest (as many as are kept, and as
// the schedule still has), the best, the one being written. Those that are there already have their
// place.
void Trainer::require_space() {
  if (!ranks_.leads()) return;
  std::filesystem::path place = std::filesystem::absolute(paths_.root);
  while (!std::filesystem::exists(place)) place = place.parent_path();
  const std::uint64_t size = checkpoint_bytes(model_, state_);
  const auto most = static_cast<std::uint64_t>(config_.train.keep) + 2;
  const auto to_come =
      static_cast<std::uint64_t>(schedule_.most_checkpoints_after(state_.step)) + 1;
  const std::uint64_t there = list_checkpoints(paths_.checkpoints()).size();
  const std::uint64_t needed = size * std::min(most > there ? most - there : 1, to_come);
  const std::uint64_t free = free_bytes(place);
  if (free >= needed) return;
  constexpr std::uint64_t kMegabyte = 1'000'000;
  throw IoError(fmt::format(
      "{}: {} MB are free, but {} MB are needed for checkpoints of {} MB each; make room, lower "
      "train.keep, or choose another disk with --out",
      place.string(), free / kMegabyte, needed / kMegabyte + 1, size / kMegabyte + 1));
}

// A process may have died between saving a checkpoint, naming it and removing older ones.
void Trainer::tidy_checkpoints() const {
  if (saved_step_ < 0 || !ranks_.leads()) return;
  set_aside_after(paths_.checkpoints(), state_.step);
  link_checkpoint(paths_.checkpoints(), state_.step, "last");
  if (state_.best_loss && state_.best_step == state_.step) {
    link_checkpoint(paths_.checkpoints(), state_.step, "best");
  }
  prune_checkpoints(paths_.checkpoints(), config_.train.keep);
}

void Trainer::start() {
  if (!ranks_.leads()) {
    log_ = RunLog::silent();
  } else {
    log_ = restored_ ? RunLog::reopen(paths_, state_.step) : RunLog::create(paths_);
    if (config_.train.tensorboard) log_->also_write_events(paths_, state_.step);
  }
  tidy_checkpoints();
  batcher_.seek(state_.position);
  model_.set_precision(precision_of(config_.train));
  const StartReport report{.resumed = restored_,
                           .step = state_.step,
                           .total_steps = schedule_.total_steps(),
                           .steps_per_epoch = batcher_.batches_per_epoch(),
                           .parameters = model_.table().parameter_count(),
                           .vocab = model_.vocab(),
                           .threads = thread_count(),
                           .ranks = ranks_.size(),
                           .precision = std::string(name_of(config_.train.precision)),
                           .feedback = config_.feedback.method};
  log_->write(report);
  observer_->on_start(report);
  ranks_.watch(config_.train.watchdog_seconds);
  clock_.restart();
}

void Trainer::step() {
  const Timer whole;
  if (batcher_.carries_state() && batcher_.at_epoch_start()) {
    for (Matrix& carried : state_.carried) carried.zero();
  }
  batcher_.next(batch_, share_of(ranks_));
  const StepResult result = training_step(
      model_,
      {batch_, batcher_.last_batch_tokens(), batcher_.carries_state() ? &state_.carried : nullptr},
      {.adam = adam_config_of(config_.train),
       .learning_rate = schedule_.learning_rate(state_.step),
       .clip = config_.train.clip},
      ranks_, sync_, state_.adam,
      {.on_gradients = {}, .before_update = [this](LossSum& sum) {
         observer_->before_update({state_.step + 1, sum, model_, state_});
       }});
  gradient_norm_ = result.gradient_norm;
  if (result.updated) {
    watch_loss(result.sum);
  } else {
    pass_over(result.sum);
  }
  const LossSum sum = result.updated ? result.sum : LossSum();

  state_.step += 1;
  state_.tokens += sum.tokens;
  state_.position = batcher_.position();
  state_.since_log += sum;
  state_.since_eval += sum;
  const double step_seconds = whole.seconds();
  for (Pace* pace : {&since_log_, &since_eval_, &since_start_}) {
    pace->add(sum.tokens, step_seconds, result.update_seconds, model_.phase_times());
  }
  if (result.updated) observer_->on_step(report(sum, since_log_));
}

void Trainer::watch_loss(const LossSum& sum) {
  skipped_in_a_row_ = 0;
  if (state_.trend.is_spike(sum.mean())) {
    log_->write_spike(state_.step + 1, sum.mean(), state_.trend.mean);
    log_warning(fmt::format("step {}: the loss is {:.3f}, usual was {:.3f}", state_.step + 1,
                            sum.mean(), state_.trend.mean));
  }
  state_.trend.add(sum.mean());
}

// A batch whose loss or gradient is not finite changes no weight. It stops the run, or is left out;
// that cannot help if the weights themselves, or what the feedback has learned, are not finite.
void Trainer::pass_over(const LossSum& sum) {
  std::string culprit = first_not_finite_gradient(model_);
  const std::string what = fmt::format(
      "step {}: the loss is {} and the norm of the gradient {}{}", state_.step + 1, sum.mean(),
      gradient_norm_, culprit.empty() ? "" : fmt::format(" (first not finite: {})", culprit));
  if (config_.train.on_nan == OnNan::stop) {
    diverge(
        fmt::format("{}; the weights were left as they were. A lower train.lr or train.clip "
                    "helps, and --on-nan skip leaves such batches out",
                    what));
  }
  for (Matrix& carried : state_.carried) {
    if (!all_finite(carried.span())) carried.zero();
  }
  culprit = first_not_finite(model_, state_);
  if (!culprit.empty()) {
    diverge(fmt::format("{}; {} is not finite, so that skipping the batch does not help", what,
                        culprit));
  }
  if (++skipped_in_a_row_ > kMostSkippedInARow) {
    diverge(fmt::format("{}; {} batches in a row were skipped before. A lower train.lr helps", what,
                        kMostSkippedInARow));
  }
  log_->write_skipped(state_.step + 1, what);
  log_warning(what + "; the batch is skipped");
}

void Trainer::diverge(const std::string& message) {
  const std::string saved = saved_step_ < 0
                                ? "there is no checkpoint yet"
                                : fmt::format("the last checkpoint is of step {}", saved_step_);
  log_->write_diverged(state_.step, message);
  throw DivergenceError(fmt::format("{}; {}", message, saved));
}

void Trainer::log_training() {
  // If every batch was skipped there is nothing to tell.
  if (state_.since_log.tokens > 0) log_->write(report(state_.since_log, since_log_));
  since_log_ = {};
  // A run that stops off schedule and goes on later must average as if it had not stopped.
  if (schedule_.log_on_schedule(state_.step)) state_.since_log = {};
}

void Trainer::evaluate() {
  const Timer timer;
  const LossSum sum = sum_over_ranks(
      ranks_, evaluate_split(data_.valid, config_, data_.tokenizer->bos(), model_, share_of(ranks_),
                             [this](double part) { observer_->on_evaluating(state_.step, part); }));
  evaluation_seconds_ = timer.seconds();
  const EvaluationReport result = report_of(sum, data_.valid);
  const bool best =
      std::isfinite(result.loss) && (!state_.best_loss || result.loss < *state_.best_loss);
  if (best) {
    state_.best_loss = result.loss;
    state_.best_step = state_.step;
    best_is_new_ = true;
  }
  const EvalReport event{.step = state_.step,
                         .epoch = schedule_.epochs_done(state_.step),
                         .split = "valid",
                         .loss = result.loss,
                         .perplexity = result.perplexity,
                         .accuracy = result.accuracy,
                         .tokens = sum.tokens,
                         .train_loss = state_.since_eval.mean(),
                         .learning_rate = schedule_.learning_rate(state_.step - 1),
                         .tokens_per_second = since_eval_.tokens_per_second(),
                         .seconds = seconds(),
                         .eval_seconds = evaluation_seconds_,
                         .best = best};
  log_->write(event);
  observer_->on_eval(event);
  since_eval_ = {};
  if (schedule_.evaluation_on_schedule(state_.step)) state_.since_eval = {};
}

void Trainer::save() {
  if (saved_step_ == state_.step) return;
  const std::vector<std::string> links =
      best_is_new_ ? std::vector<std::string>{"last", "best"} : std::vector<std::string>{"last"};
  // A checkpoint never knows of steps that the log does not.
  if (ranks_.leads()) log_->sync();
  if (ranks_.size() > 1) require_same(ranks_, model_hash(model_), "the weights");
  const Excused writing(ranks_);  // the others go on and wait in their next step
  try {
    with_whole_state(ranks_, sync_, batcher_.batch_size(), state_, [&] {
      save_checkpoint(paths_.checkpoints(), identity_, state_, model_, links, config_.train.keep);
    });
  } catch (const DivergenceError& error) {
    diverge(error.what());
  }
  best_is_new_ = false;
  saved_step_ = state_.step;
}

double Trainer::seconds() const {
  const double before = log_ ? log_->seconds_before() : 0.0;  // none was opened: no step was taken
  return before + clock_.seconds();
}

TrainReport Trainer::report(const LossSum& window, const Pace& pace) const {
  return {.step = state_.step,
          .total_steps = schedule_.total_steps(),
          .epoch = schedule_.epochs_done(state_.step),
          .loss = window.mean(),
          .learning_rate = schedule_.learning_rate(state_.step - 1),
          .gradient_norm = gradient_norm_,
          .tokens = state_.tokens,
          .tokens_per_second = pace.tokens_per_second(),
          .seconds = seconds(),
          .step_seconds = pace.per_step(pace.seconds),
          .phases = pace.mean_phases(),
          .update_seconds = pace.per_step(pace.update_seconds),
          .seconds_left = seconds_left(pace)};
}

// The steps and evaluations still to come, the one that is due at this step included. Before the first evaluation its time is guessed from that
// of a forward pass over as many tokens.
double Trainer::seconds_left(const Pace& pace) const {
  const dim_t steps = schedule_.total_steps() - state_.step;
  double evaluation = evaluation_seconds_;
  if (evaluation == 0.0 && pace.tokens > 0) {
    const double a_token =
        (pace.phases.forward + pace.phases.head) / static_cast<double>(pace.tokens);
    evaluation = a_token * static_cast<double>(data_.valid.tokens.size());
  }
  return static_cast<double>(steps) * pace.per_step(pace.seconds) +
         static_cast<double>(schedule_.evaluations_after(state_.step - 1)) * evaluation;
}

RunSummary Trainer::summary() const {
  RunSummary summary;
  summary.steps = state_.step;
  summary.total_steps = schedule_.total_steps();
  summary.epoch = schedule_.epochs_done(state_.step);
  summary.parameters = model_.table().parameter_count();
  summary.tokens = state_.tokens;
  summary.best_loss = state_.best_loss;
  if (state_.best_loss) summary.best_perplexity = perplexity_of(*state_.best_loss);
  summary.best_step = state_.best_step;
  summary.seconds = seconds();
  summary.tokens_per_second = since_start_.tokens_per_second();
  summary.phases = since_start_.mean_phases();
  if (!data_.valid.tokens.empty()) {
    summary.unknown_rate =
        static_cast<double>(data_.valid.unknown) / static_cast<double>(data_.valid.tokens.size());
  }
  return summary;
}

}  // namespace dsf
