#include "tests/support/watch_fixture.h"

#include <signal.h>

#include <chrono>
#include <string_view>
#include <thread>

namespace dsf {

WatchTest::WatchTest() : ProgramTest(80) { make_run("one", {"--steps", "6"}); }

WatchTest::~WatchTest() {
  if (process_ > 0) stop();
}

void WatchTest::make_run(const std::string& name, const Words& more) const {
  const Words every_step = {"--eval-every", "2", "--set", "train.log_every=1", "--quiet"};
  run_ok(train("runs/" + name, joined(every_step, more)));
}

void WatchTest::start(const Words& before) {
  process_ = start_program(joined(before, {dsf_program(), "watch", path("runs"), "--port", "0"}),
                           path("log"));
  constexpr std::string_view kBefore = "http://127.0.0.1:";
  for (int i = 0; i < 600 && port_ == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::string said = slurp(path("log.out"));
    const std::size_t at = said.find(kBefore);
    if (said.ends_with('\n') && at != std::string::npos) {
      port_ = std::stoi(said.substr(at + kBefore.size()));
      const std::size_t slash = said.find('/', at + kBefore.size());
      prefix_ = said.substr(slash, said.find('/', slash + 1) - slash);
    }
  }
  ASSERT_GT(port_, 0) << slurp(path("log.err"));
}

int WatchTest::stop() {
  kill(process_, SIGINT);
  const int code = wait_for(process_);
  process_ = 0;
  return code;
}

HttpAnswer WatchTest::get(const std::string& target, const std::string& headers) const {
  return http(port_, "GET", prefix_ + target, headers);
}

nlohmann::json WatchTest::get_json(const std::string& target) const {
  const HttpAnswer answer = get(target);
  EXPECT_EQ(answer.status, 200) << answer.body;
  return nlohmann::json::parse(answer.body);
}

std::vector<std::string> WatchTest::listed() const {
  std::vector<std::string> names;
  const nlohmann::json answer = get_json("/api/runs");
  for (const nlohmann::json& run : answer["runs"]) names.push_back(run["name"]);
  return names;
}

}  // namespace dsf
