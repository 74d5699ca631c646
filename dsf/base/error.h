#pragma once

// Typed errors. Thrown where a fault is found, caught once, in main(), which maps them to exit
// codes:
//   wrong use or wrong input (UsageError, ConfigError, DataError)  -> 2
//   failed while working (everything else)                         -> 1
// A message says what was wrong, where (file, line, key) and what would be right.

#include <stdexcept>
#include <string>

namespace dsf {

/// What every error of dsf derives from.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  /// The exit code of a program that ends because of this error.
  virtual int exit_code() const { return 1; }
};

/// The caller asked for something that cannot be: a flag, a path, a run directory that exists.
class UsageError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 2; }
};

/// A configuration file or key that is unknown, of the wrong type or out of range.
class ConfigError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 2; }
};

/// A corpus, tokenizer or model to import: missing, empty, no such file, or not what was asked for.
class DataError : public Error {
 public:
  using Error::Error;
  int exit_code() const override { return 2; }
};

/// A checkpoint that is missing, damaged, or of another model.
class CheckpointError : public Error {
 public:
  using Error::Error;
};

/// Training left the finite numbers.
class DivergenceError : public Error {
 public:
  using Error::Error;
};

/// A signal asked to stop before there was anything to save.
class InterruptedError : public Error {
 public:
  using Error::Error;
};

/// The operating system refused: open, write, sync, rename.
class IoError : public Error {
 public:
  using Error::Error;
};

}  // namespace dsf
