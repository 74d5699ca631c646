// `dsf demo`, the program's first impression.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/support/program_fixture.h"

namespace dsf {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Demo : public ProgramTest {
 protected:
  Words demo(const std::string& out) const {
    return joined({"demo", "--text", path("text.txt"), "--out", path(out)},
                  sets({"train.steps=20", "train.eval_every=10", "train.batch=4", "data.context=8",
                        "model.hidden=8", "train.threads=1"}));
  }
};

TEST_F(Demo, TrainsByThreeMethodsAndShowsThemSideBySide) {
  const std::string printed = run_ok(demo("demo"));
  for (const std::string method : {"bptt", "ft", "dsf"}) {
    const nlohmann::json done = log_of("demo/" + method).back();
    ASSERT_EQ(done["event"], "done");
    EXPECT_THAT(printed, HasSubstr(fmt::format("{:.2f}", done["best_perplexity"].get<double>())));
    run_ok({"eval", path("demo/" + method)});
  }
  for (const char* title : {"BPTT", "FT-BPTT", "DSF", "tokens/s", "backward"}) {
    EXPECT_THAT(printed, HasSubstr(title));
  }
  EXPECT_THAT(printed, HasSubstr(path("demo/comparison") + ".svg"));
  EXPECT_TRUE(fs::exists(path("demo/comparison.svg")));
}

TEST_F(Demo, LeavesADirectoryThatIsInUseAlone) {
  run_ok(demo("demo"));
  const auto before = snapshot(path("demo"));
  const ProgramResult again = run_dsf(demo("demo"));
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr(path("demo")));
  EXPECT_EQ(snapshot(path("demo")), before);
}

}  // namespace
}  // namespace dsf
