#pragma once

// Reverse-mode differentiation of scalar double code, so that a reference is written once, as the
// forward equation, and its gradient cannot contain a mistake of its own.
//
//   Var x = Var::leaf(2.0);  Var y = x * exp(x);  Var::gradients(y)[x.node()]

#include <cmath>
#include <cstddef>
#include <vector>

namespace dsf::reference {

class Var {
 public:
  Var(double value = 0.0) : value_(value) {}  // NOLINT: a number is a constant

  /// A variable to differentiate by.
  static Var leaf(double value) { return record(value, {kNone, 0.0}, {kNone, 0.0}); }

  double value() const { return value_; }
  std::size_t node() const { return node_; }

  /// d(output)/d(node) for all nodes recorded so far on this thread.
  static std::vector<double> gradients(const Var& output) {
    std::vector<double> adjoint(nodes().size(), 0.0);
    if (output.node_ == kNone) return adjoint;
    adjoint[output.node_] = 1.0;
    for (std::size_t i = nodes().size(); i-- > 0;) {
      for (const Edge& edge : {nodes()[i].left, nodes()[i].right}) {
        if (edge.node != kNone) adjoint[edge.node] += adjoint[i] * edge.slope;
      }
    }
    return adjoint;
  }

  /// Forgets all nodes; variables made before must not be used any more.
  static void forget() { nodes().clear(); }

  friend Var operator+(const Var& a, const Var& b) {
    return record(a.value_ + b.value_, {a.node_, 1.0}, {b.node_, 1.0});
  }
  friend Var operator-(const Var& a, const Var& b) {
    return record(a.value_ - b.value_, {a.node_, 1.0}, {b.node_, -1.0});
  }
  friend Var operator*(const Var& a, const Var& b) {
    return record(a.value_ * b.value_, {a.node_, b.value_}, {b.node_, a.value_});
  }
  friend Var operator/(const Var& a, const Var& b) {
    const double quotient = a.value_ / b.value_;
    return record(quotient, {a.node_, 1.0 / b.value_}, {b.node_, -quotient / b.value_});
  }
  Var& operator+=(const Var& other) { return *this = *this + other; }

  friend Var exp(const Var& a) {
    const double e = std::exp(a.value_);
    return record(e, {a.node_, e}, {kNone, 0.0});
  }
  friend Var log(const Var& a) {
    return record(std::log(a.value_), {a.node_, 1.0 / a.value_}, {kNone, 0.0});
  }
  friend Var sqrt(const Var& a) {
    const double root = std::sqrt(a.value_);
    return record(root, {a.node_, 0.5 / root}, {kNone, 0.0});
  }
  friend Var tanh(const Var& a) {
    const double t = std::tanh(a.value_);
    return record(t, {a.node_, 1.0 - t * t}, {kNone, 0.0});
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Edge {
    std::size_t node;
    double slope;
  };
  struct Node {
    Edge left;
    Edge right;
  };

  static std::vector<Node>& nodes() {
    thread_local std::vector<Node> all;
    return all;
  }
  static Var record(double value, Edge left, Edge right) {
    Var result(value);
    result.node_ = nodes().size();
    nodes().push_back({left, right});
    return result;
  }

  double value_;
  std::size_t node_ = kNone;
};

}  // namespace dsf::reference
