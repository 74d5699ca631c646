#pragma once

// The server behind `dsf watch`: one page and its JSON, to this machine only.
//
//   GET  /                                          the page; its files beside it
//   GET  /api/runs                                  RunBoard::runs
//   GET  /api/points?run=&generation=&training=&evaluations=   RunBoard::points
//   GET  /api/configs                               RunBoard::configs
//   POST /api/generate                              a TextRequest; answered by lines of JSON,
//                                                   {"text"}..., then {"done"} or {"error"}
//
// It listens on 127.0.0.1. A request must name that address (or localhost) as its Host, so that no
// name on the web can be made to point here, and may not come from a page of another origin.

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>

namespace dsf {

class WatchServer {
 public:
  /// Binds `port`; 0: any that is free. Throws UsageError where `directory` is none or the port is
  /// taken.
  WatchServer(const std::filesystem::path& directory, int port);
  ~WatchServer();
  WatchServer(const WatchServer&) = delete;
  WatchServer& operator=(const WatchServer&) = delete;

  int port() const;

  /// Serves until `stop`, asked ten times a second, gives something else than 0.
  void serve(const std::function<int()>& stop);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace dsf
