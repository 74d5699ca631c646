#include "apps/dsf/watch/watch_server.h"

#include <fmt/format.h>
#include <httplib.h>

#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "apps/dsf/watch/access.h"
#include "apps/dsf/watch/assets.h"
#include "apps/dsf/watch/growing_pool.h"
#include "apps/dsf/watch/run_board.h"
#include "apps/dsf/watch/text_maker.h"
#include "dsf/base/error.h"
#include "dsf/base/error_text.h"
#include "dsf/base/json_text.h"

namespace dsf {
namespace {

using httplib::Request;
using httplib::Response;
using nlohmann::ordered_json;

constexpr const char* kAddress = "127.0.0.1";
constexpr const char* kJson = "application/json";
constexpr std::size_t kMostThreads = 256;  // one for each connection, also for slow ones
constexpr std::size_t kLargestBody = 64 * 1024;
constexpr std::chrono::seconds kPatience(5);  // with a client that sends or reads nothing
constexpr int kBadRequest = 400;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kUnsupportedType = 415;
constexpr int kFailed = 500;

void answer(const ordered_json& json, Response& response) {
  response.set_content(json_text(json), kJson);
}

void refuse(int status, const std::string& message, Response& response) {
  response.status = status;
  answer({{"error", message}}, response);
}

void refuse(const std::exception& error, Response& response) {
  const auto* ours = dynamic_cast<const Error*>(&error);
  refuse(ours != nullptr && ours->exit_code() == 2 ? kBadRequest : kFailed, error_text(error),
         response);
}

std::string type_of(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  return "text/javascript; charset=utf-8";
}

/// A parameter of the query; 0 if it is missing.
dim_t count_in(const Request& request, const char* key) {
  const std::string text = request.get_param_value(key);
  dim_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && value >= 0;
  if (!text.empty() && !whole) {
    throw UsageError(fmt::format("{}={}: must be a whole number", key, text));
  }
  return value;
}

/// Everything the page needs comes from here, and nothing else may come.
const httplib::Headers kHeaders = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cache-Control", "no-store"},
};

/// Hands the text out as it is made, one line of JSON per piece.
bool send_next(TextJob& job, const std::function<int()>& stop, httplib::DataSink& sink) {
  const auto send = [&sink](const ordered_json& json) {
    const std::string line = json_text(json) + "\n";
    return sink.write(line.data(), line.size());
  };
  ordered_json last = {{"done", true}};
  try {
    const std::optional<std::string> piece =
        stop() == 0 ? job.next() : std::optional<std::string>();
    if (piece) return piece->empty() || send({{"text", *piece}});
  } catch (const std::exception& error) {
    last = {{"error", error_text(error)}};
  }
  const bool sent = send(last);
  sink.done();
  return sent;
}

}  // namespace

struct WatchServer::Parts {
  explicit Parts(const std::filesystem::path& directory) : board(directory) {}

  RunBoard board;
  TextMaker maker;
  httplib::Server server;
  int port = 0;
  std::string token = make_token();
  std::function<int()> stop;

  void set_limits();
  void set_guards();
  /// Where the page has `path`: behind the token.
  std::string at(const std::string& path) const { return "/" + token + path; }
  void add_page();
  void add_api();
  void generate(const Request& request, Response& response);
  httplib::Server::HandlerResponse check(const Request& request, Response& response) const;
};

void WatchServer::Parts::set_limits() {
  server.new_task_queue = [] { return new GrowingPool(kMostThreads); };  // the server owns it
  server.set_payload_max_length(kLargestBody);
  server.set_read_timeout(kPatience);
  server.set_write_timeout(kPatience);
  server.set_keep_alive_timeout(1);  // seconds; the end of the server waits for it
  server.set_tcp_nodelay(true);
  server.set_default_headers(kHeaders);
}

httplib::Server::HandlerResponse WatchServer::Parts::check(const Request& request,
                                                           Response& response) const {
  const std::string host = request.get_header_value("Host");
  const std::string origin = request.get_header_value("Origin");
  const bool named = request.get_header_value_count("Host") == 1 && is_this_machine(host);
  const bool from_here = origin.empty() || origin == "http://" + host;
  if (named && from_here && has_token(request.path, token)) {
    return httplib::Server::HandlerResponse::Unhandled;
  }
  refuse(kForbidden, "this server answers to the address that dsf watch has printed only",
         response);
  return httplib::Server::HandlerResponse::Handled;
}

void WatchServer::Parts::set_guards() {
  server.set_pre_routing_handler(
      [this](const Request& request, Response& response) { return check(request, response); });
  server.set_exception_handler([](const Request&, Response& response, std::exception_ptr thrown) {
    try {
      std::rethrow_exception(std::move(thrown));
    } catch (const std::exception& error) {
      refuse(error, response);
    }
  });
  server.set_error_handler([](const Request& request, Response& response) {
    if (!response.body.empty()) return;
    const bool missing = response.status == kNotFound;
    refuse(response.status, missing ? fmt::format("there is no {}", request.path) : "bad request",
           response);
  });
}

void WatchServer::Parts::add_page() {
  for (const Asset& asset : watch_assets()) {
    const auto serve = [asset](const Request&, Response& response) {
      response.set_content(asset.contents.data(), asset.contents.size(), type_of(asset.name));
    };
    if (asset.name == "index.html") {
      server.Get(at("/"), serve);
    } else {
      std::string pattern = at(fmt::format("/{}", asset.name));
      pattern.replace(pattern.find('.'), 1, "\\.");  // it is a regular expression
      server.Get(pattern, serve);
    }
  }
}

void WatchServer::Parts::add_api() {
  server.Get(at("/api/runs"),
             [this](const Request&, Response& response) { answer(board.runs(), response); });
  server.Get(at("/api/configs"),
             [this](const Request&, Response& response) { answer(board.configs(), response); });
  server.Get(at("/api/points"), [this](const Request& request, Response& response) {
    const PointsKnown known{count_in(request, "generation"), count_in(request, "training"),
                            count_in(request, "evaluations")};
    answer(board.points(request.get_param_value("run"), known), response);
  });
  server.Post(at("/api/generate"),
              [this](const Request& request, Response& response) { generate(request, response); });
}

void WatchServer::Parts::generate(const Request& request, Response& response) {
  // A page of another origin can send a form, but not this type.
  if (!request.get_header_value("Content-Type").starts_with(kJson)) {
    refuse(kUnsupportedType, "the body must be application/json", response);
    return;
  }
  const TextRequest wanted = parse_text_request(request.body);
  const std::shared_ptr<TextJob> job = maker.start(board.root_of(wanted.run), wanted);
  response.set_chunked_content_provider(
      "application/x-ndjson", [this, job](std::size_t /*offset*/, httplib::DataSink& sink) {
        return send_next(*job, stop, sink);
      });
}

WatchServer::WatchServer(const std::filesystem::path& directory, int port)
    : parts_(std::make_unique<Parts>(directory)) {
  parts_->set_limits();
  parts_->set_guards();
  parts_->add_page();
  parts_->add_api();
  // httplib would share a port with whoever has it (SO_REUSEPORT), and the two would answer in
  // turns.
  parts_->server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  });
  if (port == 0) {
    parts_->port = parts_->server.bind_to_any_port(kAddress);
  } else {
    parts_->port = parts_->server.bind_to_port(kAddress, port) ? port : -1;
  }
  if (parts_->port < 0) {
    throw UsageError(
        fmt::format("cannot listen on {}:{}: taken by another program? --port chooses another",
                    kAddress, port));
  }
}

WatchServer::~WatchServer() = default;

int WatchServer::port() const { return parts_->port; }

std::string WatchServer::address() const {
  return fmt::format("http://{}:{}/{}/", kAddress, parts_->port, parts_->token);
}

void WatchServer::serve(const std::function<int()>& stop) {
  constexpr std::chrono::milliseconds kPause(100);
  parts_->stop = stop;
  std::atomic<bool> ended = false;
  std::thread listening([this, &ended] {
    parts_->server.listen_after_bind();
    ended = true;
  });
  while (stop() == 0 && !ended) std::this_thread::sleep_for(kPause);
  // A server that is told to stop before it runs would not hear it.
  while (!parts_->server.is_running() && !ended) std::this_thread::sleep_for(kPause);
  parts_->server.stop();
  listening.join();
}

}  // namespace dsf
