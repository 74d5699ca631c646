// NaNs that appear from nowhere: none may get into a file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <span>

#include "dsf/base/error.h"
#include "dsf/model/model_tensors.h"
#include "dsf/model/safetensors.h"
#include "dsf/run/finite.h"
#include "tests/reliability/lives.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Numbers that are not finite in all checkpoints of a run.
dim_t not_finite_on_disk(const fs::path& run) {
  dim_t found = 0;
  for (const fs::path& checkpoint : list_checkpoints(run / "checkpoints")) {
    for (const fs::directory_entry& entry : fs::directory_iterator(checkpoint)) {
      if (entry.path().extension() != ".safetensors") continue;
      const SafetensorsFile file = SafetensorsFile::read(entry.path());
      for (const auto& [name, tensor] : file.tensors()) {
        std::vector<float> values((tensor.end - tensor.begin) / sizeof(float));
        file.copy_to(name, values);
        found += std::ranges::count_if(values, [](float v) { return !std::isfinite(v); });
      }
    }
    const std::string state = slurp(checkpoint / "state.json");
    // What JSON makes of a NaN; before the first evaluation there is no best loss.
    if (state.find("\"loss\": null") != std::string::npos) ++found;
  }
  return found;
}

//   kind      name
//   loss      -  (with index 0)
//   gradient, weight, m, v   a parameter
//   buffer    one of the model's buffers
//   carried   the number of a block
struct Place {
  dim_t step = 0;
  std::string kind;
  std::string name;
  dim_t index = 0;
  std::string text() const { return fmt::format("{}:{}:{}:{}", step, kind, name, index); }
};

// Puts a NaN into a place of a run, behind the backward pass of its step.
class NanInjector : public TrainObserver {
 public:
  explicit NanInjector(Place place) : place_(std::move(place)) {}

  void before_update(const PendingUpdate& update) override {
    if (update.step != place_.step) return;
    if (place_.kind == "loss") {
      update.sum.loss = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    const std::span<float> values = numbers_of(update);
    ASSERT_LT(place_.index, static_cast<dim_t>(values.size())) << place_.text();
    values[static_cast<std::size_t>(place_.index)] = std::numeric_limits<float>::quiet_NaN();
  }

 private:
  std::span<float> numbers_of(const PendingUpdate& update) const {
    for (const ParameterInfo& parameter : update.model.table().entries()) {
      if (parameter.name != place_.name) continue;
      if (place_.kind == "gradient") return values_of(parameter, update.model.gradients());
      if (place_.kind == "weight") return values_of(parameter, update.model.mutable_weights());
      if (place_.kind == "m") return values_of(parameter, update.state.adam.m.span());
      if (place_.kind == "v") return values_of(parameter, update.state.adam.v.span());
    }
    for (const NamedBuffer& buffer : update.model.buffers()) {
      if (place_.kind == "buffer" && buffer.name == place_.name) return buffer.values;
    }
    for (std::size_t i = 0; i < update.state.carried.size(); ++i) {
      if (place_.kind == "carried" && std::to_string(i) == place_.name) {
        return update.state.carried[i].span();
      }
    }
    return {};
  }

  Place place_;
};

// A new run with a NaN: the message it ended with, "" if it came to its end.
std::string error_of_run(const Lives& lives, const fs::path& run, const Place& place,
                         const std::string& on_nan) {
  std::vector<std::string> settings = lives.settings();
  settings.push_back("train.on_nan=" + on_nan);
  NanInjector injector(place);
  try {
    run_training({run, parse_assignments(settings), false, false}, injector);
  } catch (const DivergenceError& error) {
    return error.what();
  }
  return "";
}

// All tensors that a NaN can be put into, with their sizes.
std::vector<std::pair<Place, dim_t>> all_places(const fs::path& run) {
  StoredModel stored = open_stored_model(run, "last", 1);
  std::vector<std::pair<Place, dim_t>> places = {{{0, "loss", "-", 0}, 1}};
  for (const ModelTensor& tensor : model_tensors(*stored.model)) {
    const auto size = static_cast<dim_t>(tensor.values.size());
    if (!tensor.trained) {
      places.push_back({{0, "buffer", tensor.name, 0}, size});
      continue;
    }
    for (const char* kind : {"gradient", "weight", "m", "v"}) {
      places.push_back({{0, kind, tensor.name, 0}, size});
    }
  }
  const ModelState carried = stored.model->zero_state(stored.config.train.batch);
  places.push_back({{0, "carried", "0", 0}, carried[0].rows() * carried[0].cols()});
  return places;
}

void inject(int times) {
  Lives lives("stream");
  const fs::path model = lives.fresh();
  ASSERT_EQ(lives.live(model).exit_code, 0);
  const auto places = all_places(model);
  std::map<std::string, int> ends;
  dim_t saved = 0;
  for (int i = 0; i < times; ++i) {
    const auto& [tensor, size] =
        places[static_cast<std::size_t>(lives.rng().below(static_cast<dim_t>(places.size())))];
    Place place = tensor;
    place.step = 1 + lives.rng().below(Lives::kSteps);
    place.index = lives.rng().below(size);
    const std::string mode = i % 2 == 0 ? "stop" : "skip";
    SCOPED_TRACE(place.text() + " " + mode);
    const fs::path run = lives.fresh();
    const std::string error = error_of_run(lives, run, place, mode);
    ++ends[fmt::format("{} {}", mode, error.empty() ? "done" : "ended")];
    saved += not_finite_on_disk(run);

    // What is wrong with the batch alone can be skipped; a NaN in a carried state goes with the
    // epoch's end. All else ends the run.
    const bool batch_only = place.kind == "loss" || place.kind == "gradient";
    if (batch_only) {
      EXPECT_EQ(!error.empty(), mode == "stop") << error;
    } else if (place.kind != "carried") {
      EXPECT_NE(error, "");
    }
    if (!error.empty()) {
      EXPECT_THAT(error, StartsWith("step "));
      EXPECT_THAT(error, HasSubstr(place.kind == "gradient" ? place.name
                                   : place.kind == "loss"   ? "the loss is nan"
                                                            : "not finite"));
      // The last good checkpoint is as good as ever.
      const ProgramResult after = lives.live(run);
      ASSERT_EQ(after.exit_code, 0) << after.err;
      const RunResult end = result_of(run);
      EXPECT_TRUE(mode == "skip" || end == lives.undisturbed());
    }
    Lives::discard(run);
  }
  report_figure(
      fmt::format("NaN at {} random (step, tensor, number)", times),
      fmt::format("{} in saved files; stop: {} ended, {} done; skip: {} done, {} ended", saved,
                  ends["stop ended"], ends["stop done"], ends["skip done"], ends["skip ended"]));
  EXPECT_EQ(saved, 0);
}

TEST(NanInjection, NeverReachesAFile) { inject(10); }
TEST(NanInjectionLong, NeverReachesAFile) { inject(200); }

TEST(NanInjection, SkippedBatchIsToldInTheLogAndLeavesTheWeightsAlone) {
  Lives lives("stream");
  const fs::path run = lives.fresh();
  ASSERT_EQ(error_of_run(lives, run, {5, "gradient", "head.weight", 3}, "skip"), "");
  const std::string log = slurp(run / "log.jsonl");
  EXPECT_THAT(log, HasSubstr(R"({"event":"skipped","step":5,)"));
  EXPECT_THAT(log, HasSubstr("the gradient of head.weight"));
  StoredModel stored = open_stored_model(run, "last", 1);
  TrainingState state;
  load_checkpoint(run / "checkpoints" / "last", state, *stored.model);
  EXPECT_EQ(state.step, Lives::kSteps);
  EXPECT_EQ(state.adam.updates, Lives::kSteps - 1);
}

}  // namespace
}  // namespace dsf
