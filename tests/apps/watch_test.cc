// dsf watch, asked over HTTP as a page and as nobody should. tests/browser has the page itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/watch_fixture.h"

namespace dsf {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class Watch : public WatchTest {
 protected:
  Watch() {
    directory_.write("secret.txt", "not for you");
    start();
  }

  HttpAnswer generate(const std::string& body,
                      const std::string& headers = "Content-Type: application/json\r\n") const {
    return http(port_, "POST", prefix_ + "/api/generate", headers, body);
  }
};

TEST_F(Watch, TellsRunsPointsAndConfigurations) {
  const json runs = get_json("/api/runs");
  ASSERT_EQ(runs["runs"].size(), 1U);
  const json& run = runs["runs"][0];
  EXPECT_EQ(run["name"], "one");
  EXPECT_EQ(run["state"], "done");
  EXPECT_EQ(run["training"], 6);
  EXPECT_EQ(run["evaluations"], 3);
  EXPECT_EQ(run["can_generate"], true);

  const json all = get_json("/api/points?run=one");
  EXPECT_EQ(all["training"]["step"], json({1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(all["evaluations"]["perplexity"].size(), 3U);
  const std::string known = "/api/points?run=one&generation=" + run["generation"].dump();
  const json rest = get_json(known + "&training=4&evaluations=3");
  EXPECT_EQ(rest["training"]["from"], 4);
  EXPECT_EQ(rest["training"]["step"], json({5, 6}));
  EXPECT_EQ(rest["evaluations"]["step"], json::array());

  const json configs = get_json("/api/configs");
  const auto key = std::find(configs["keys"].begin(), configs["keys"].end(), "model.hidden");
  ASSERT_NE(key, configs["keys"].end());
  EXPECT_EQ(configs["runs"]["one"][static_cast<std::size_t>(key - configs["keys"].begin())], "8");
}

TEST_F(Watch, SeesNewRunsAndRunsThatGoOn) {
  const json before = get_json("/api/runs")["runs"][0];
  make_run("one", {"--resume", "--steps", "8"});
  make_run("deeper/two", {"--steps", "2", "--feedback", "ft"});
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // it looks for runs every 2 s
  const json after = get_json("/api/runs")["runs"];
  ASSERT_EQ(after.size(), 2U);
  EXPECT_EQ(after[0]["name"], "deeper/two");
  EXPECT_EQ(after[0]["method"], "FT-BPTT");
  EXPECT_EQ(after[1]["training"], 8);
  EXPECT_GT(after[1]["generation"], before["generation"]);
  // What was known of the log before it was rewritten does not count.
  const json points = get_json("/api/points?run=one&generation=1&training=6");
  EXPECT_EQ(points["training"]["from"], 0);
}

TEST_F(Watch, GeneratesWhatTheCommandGenerates) {
  const HttpAnswer answer = generate(R"({"run":"one","prompt":"w1","tokens":12,"seed":3})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::string text;
  bool done = false;
  std::istringstream lines(answer.body);
  for (std::string line; std::getline(lines, line);) {
    const json piece = json::parse(line);
    text += piece.value("text", "");
    done = piece.value("done", false);
  }
  EXPECT_TRUE(done);
  const ProgramResult command = run_dsf(
      {"generate", path("runs/one"), "--prompt", "w1", "--tokens", "12", "--seed", "3", "--json"});
  EXPECT_EQ(text, json::parse(command.out).value("text", ""));
}

TEST_F(Watch, RefusesWrongRequestsForTextWithASentence) {
  for (const char* body :
       {"", "[]", "{\"run\":", R"({"run":"none"})", R"({"run":"../one"})", R"({"run":1})",
        R"({"run":"one","tokens":0})", R"({"run":"one","tokens":1e3})",
        R"({"run":"one","tokens":99999999999999999999})", R"({"run":"one","tokens":6000})",
        R"({"run":"one","temperature":-1})", R"({"run":"one","top_p":"x"})",
        R"({"run":"one","checkpoint":"../last"})", R"({"run":"one","extra":1})"}) {
    const HttpAnswer answer = generate(body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_FALSE(json::parse(answer.body)["error"].get<std::string>().empty()) << body;
  }
  // As a form of another page could send it, without asking first.
  EXPECT_EQ(generate(R"({"run":"one"})", "Content-Type: text/plain\r\n").status, 415);
  EXPECT_EQ(generate(std::string(100'000, ' '), "Content-Type: application/json\r\n").status, 413);
  EXPECT_EQ(generate(R"({"run":"one","tokens":2})").status, 200);
}

TEST_F(Watch, LeavesNoWayOutOfTheDirectory) {
  for (const char* target :
       {"/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//secret.txt",
        "/one/config.toml", "/api/points?run=..%2Fsecret.txt", "/api/points?run=../runs/one",
        "/api/points?run=/etc/passwd", "/api/points?run=one%2F..%2Fone",
        "/api/points?run=", "/api/points?run=one%00"}) {
    const HttpAnswer answer = get(target);
    EXPECT_THAT(answer.status, testing::AnyOf(400, 404)) << target;
    EXPECT_THAT(answer.body, Not(HasSubstr("not for you"))) << target;
  }
}

TEST_F(Watch, AnswersToItsOwnNameOnly) {
  const std::string port = std::to_string(port_);
  EXPECT_EQ(get("/", "Host: 127.0.0.1:" + port + "\r\n").status, 200);
  EXPECT_EQ(get("/", "Host: localhost:" + port + "\r\n").status, 200);
  for (const std::string& host :
       {std::string("evil.example"), "evil.example:" + port, "127.0.0.1.evil.example:" + port,
        std::string("127.0.0.1:"), std::string("127.0.0.1:80x"),
        "localhost:" + port + "\r\nHost: evil.example"}) {
    EXPECT_EQ(get("/api/runs", "Host: " + host + "\r\n").status, 403) << host;
  }
  EXPECT_EQ(get("/api/runs", "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(get("/api/runs", "Origin: null\r\n").status, 403);
  EXPECT_EQ(get("/api/runs", "Origin: http://127.0.0.1:" + port + "\r\n").status, 200);
}

TEST_F(Watch, TellsNothingWithoutTheToken) {
  ASSERT_GE(prefix_.size(), 33U);
  std::string wrong = prefix_;
  wrong.back() = wrong.back() == 'a' ? 'b' : 'a';
  for (const std::string& before : {std::string(), std::string("/"), wrong, prefix_.substr(0, 20),
                                    std::string("/.."), "/x" + prefix_}) {
    for (const char* target :
         {"/", "/watch.js", "/api/runs", "/api/configs", "/api/points?run=one"}) {
      const HttpAnswer answer = http(port_, "GET", before + target);
      EXPECT_EQ(answer.status, 403) << before << target;
      EXPECT_THAT(answer.body, Not(HasSubstr("one"))) << before << target;
      EXPECT_THAT(answer.body, Not(HasSubstr(prefix_.substr(1)))) << before << target;
    }
    EXPECT_EQ(http(port_, "POST", before + "/api/generate", "Content-Type: application/json\r\n",
                   R"({"run":"one"})")
                  .status,
              403);
  }
  EXPECT_EQ(http(port_, "GET", "/api/runs?token=" + prefix_.substr(1)).status, 403);
}

TEST_F(Watch, AnswersThroughATunnelAndOnPort80) {
  EXPECT_EQ(get("/api/runs", "Host: localhost:9999\r\nOrigin: http://localhost:9999\r\n").status,
            200);
  EXPECT_EQ(get("/api/runs", "Host: 127.0.0.1\r\n").status, 200);
  EXPECT_EQ(get("/api/runs", "Host: localhost:9999\r\nOrigin: http://localhost:1\r\n").status, 403);
}

TEST_F(Watch, AnswersWhileSlowConnectionsAreOpen) {
  std::vector<std::thread> slow;
  for (int i = 0; i < 50; ++i) {
    slow.emplace_back([this] { send_raw(port_, "GET / HT", 4.0); });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(get("/api/runs").status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
  for (std::thread& each : slow) each.join();
}

TEST_F(Watch, ServesAPageThatMayLoadNothingFromElsewhere) {
  const HttpAnswer page = get("/");
  ASSERT_EQ(page.status, 200);
  EXPECT_THAT(page.head, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(page.body, Not(HasSubstr("https://")));
  for (const char* file : {"/watch.js", "/chart.js", "/configs.js", "/generate.js", "/watch.css"}) {
    EXPECT_EQ(get(file).status, 200) << file;
  }
  EXPECT_EQ(get("/watchXjs").status, 404);
  EXPECT_EQ(http(port_, "DELETE", prefix_ + "/").status, 404);
}

TEST_F(Watch, SurvivesWhatIsNoHttp) {
  const std::string host = "Host: 127.0.0.1:" + std::to_string(port_) + "\r\n";
  const std::vector<std::string> nonsense = {
      "\r\n\r\n",
      std::string(5000, '\0'),
      "GET\r\n\r\n",
      "GET / HTTP/9.9\r\n" + host + "\r\n",
      "GET " + std::string(100'000, 'a') + " HTTP/1.1\r\n" + host + "\r\n",
      "GET / HTTP/1.1\r\nX: " + std::string(200'000, 'x') + "\r\n\r\n",
      "GET / HTTP/1.1\r\nno colon here\r\n\r\n",
      "POST /api/generate HTTP/1.1\r\n" + host + "Content-Length: -5\r\n\r\n",
      "POST /api/generate HTTP/1.1\r\n" + host + "Content-Length: 99999999999999999999\r\n\r\n{}",
      "POST /api/generate HTTP/1.1\r\n" + host +
          "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
      "GET /api/points?run=%zz&training=-1 HTTP/1.1\r\n" + host + "\r\n",
      "GET /api/runs HTTP/1.1\r\n" + host + "Range: bytes=9-1,x\r\n\r\n",
  };
  for (const std::string& bytes : nonsense) {
    send_raw(port_, bytes, 0.3);
    EXPECT_EQ(get("/api/runs").status, 200) << bytes.substr(0, 60);
  }
}

TEST_F(Watch, DoesNotShareItsPort) {
  const std::vector<std::string> second = {"timeout",    "-s",          "INT",
                                           "10",         dsf_program(), "watch",
                                           path("runs"), "--port",      std::to_string(port_)};
  const ProgramResult result = run_program(second);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--port chooses another"));
}

TEST_F(Watch, EndsCleanlyEvenWithAClientConnected) {
  EXPECT_EQ(get("/api/points?run=one&training=x").status, 400);
  EXPECT_EQ(stop(), 0) << slurp(path("log.err"));
}

TEST(WatchCommand, RefusesADirectoryThatIsNotThere) {
  const ProgramResult result = run_dsf({"watch", "/nonexistent/runs", "--port", "0"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("is not a directory"));
}

}  // namespace
}  // namespace dsf
