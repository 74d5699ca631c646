#pragma once

// The server behind `dsf watch`: one page and its JSON, to this machine only.
//
// Every path has the token of the address in front, which is drawn anew for each server:
//
//   GET  /                                          the page; its files beside it
//   GET  /api/runs                                  RunBoard::runs
//   GET  /api/points?run=&generation=&training=&evaluations=   RunBoard::points
//   GET  /api/configs                               RunBoard::configs
//   POST /api/generate                              a TextRequest; answered by lines of JSON,
//                                                   {"text"}..., then {"done"} or {"error"}
//
// It listens on 127.0.0.1, where every user of the machine can ask: without the token nothing is
// told (403). A request must name this machine (127.0.0.1, localhost, any port) as its Host, so that
// no name on the web can be made to point here, and may not come from a page of another origin.

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace dsf {

class WatchServer {
 public:
  /// Binds `port`; 0: any that is free. Throws UsageError if `directory` is not a directory or the port is
  /// taken.
  WatchServer(const std::filesystem::path& directory, int port);
  ~WatchServer();
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;

  int port() const;
  /// With the token: "http://127.0.0.1:8420/0123.../".
  std::string address() const;

  /// Serves until `stop`, asked ten times a second, gives something else than 0.
  void serve(const std::function<int()>& stop);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dsf
