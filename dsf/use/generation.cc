#include "dsf/use/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "dsf/data/batcher.h"

namespace dsf {
namespace {

constexpr std::size_t kStepsAtOnce = 64;  // of a prompt: bounds the memory of [steps, V]

// 0 for a model that carries its state.
dim_t window_of(const LanguageModel& model, const DataConfig& data) {
  const ModelState state = model.zero_state(1);
  const bool carries =
      std::any_of(state.begin(), state.end(), [](const Matrix& block) { return block.cols() > 0; });
  return carries ? 0 : std::min(model.config().context, data.context);
}

}  // namespace

token_t first_token(const Tokenizer& tokenizer, const DataConfig& data) {
  return data.batching == Batching::sentences ? tokenizer.bos() : tokenizer.eos();
}

std::vector<token_t> encode_lines(const Tokenizer& tokenizer, std::string_view text) {
  std::vector<token_t> tokens;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    tokenizer.encode(text.substr(0, end), tokens);
    tokens.push_back(tokenizer.eos());
    text.remove_prefix(end + 1);
  }
  tokenizer.encode(text, tokens);
  return tokens;
}

Rng generation_rng(std::uint64_t seed, dim_t number) {
  return {seed, fmt::format("generate/{}", number)};
}

GenerationSession::GenerationSession(LanguageModel& model, const Tokenizer& tokenizer,
                                     const DataConfig& data, AtSentenceEnd at_end)
    : model_(model),
      tokenizer_(tokenizer),
      sentences_(data.batching == Batching::sentences),
      first_(first_token(tokenizer, data)),
      at_end_(at_end),
      window_(window_of(model, data)) {
  restart();
}

void GenerationSession::restart() {
  state_ = model_.zero_state(1);
  recent_.clear();
  begin_sequence();
}

void GenerationSession::begin_sequence() { advance({&first_, 1}); }

std::vector<token_t> GenerationSession::read(std::string_view text) {
  std::vector<token_t> tokens = encode_lines(tokenizer_, text);
  read_tokens(tokens);
  return tokens;
}

token_t GenerationSession::next(Sampler& sampler, Rng& rng) {
  const token_t token = sampler.draw(logits_, rng);
  read(token);
  return token;
}

void GenerationSession::read_tokens(std::span<const token_t> tokens) {
  while (!tokens.empty()) {
    const auto end =
        sentences_ ? std::find(tokens.begin(), tokens.end(), tokenizer_.eos()) : tokens.end();
    const auto before = static_cast<std::size_t>(end - tokens.begin());
    advance(tokens.first(before));
    if (end == tokens.end()) return;
    if (at_end_ == AtSentenceEnd::forget) {
      restart();
    } else {
      advance(tokens.subspan(before, 1));
      begin_sequence();
    }
    tokens = tokens.subspan(before + 1);
  }
}

void GenerationSession::advance(std::span<const token_t> tokens) {
  if (tokens.empty()) return;
  if (window_ > 0) {
    recent_.insert(recent_.end(), tokens.begin(), tokens.end());
    const auto window = static_cast<std::size_t>(window_);
    if (recent_.size() > window) recent_.erase(recent_.begin(), recent_.end() - window_);
    tokens = recent_;
  }
  const std::size_t most = window_ > 0 ? tokens.size() : kStepsAtOnce;
  while (!tokens.empty()) {
    const std::size_t count = std::min(tokens.size(), most);
    batch_.layout = PackedLayout::uniform(static_cast<dim_t>(count), 1);
    batch_.inputs.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
    batch_.targets = batch_.inputs;  // not looked at
    model_.logits(batch_, &state_, rows_.reshape(static_cast<dim_t>(count), model_.vocab()));
    tokens = tokens.subspan(count);
  }
  keep_last_row();
}

void GenerationSession::keep_last_row() {
  const float* last = rows_.view().row(rows_.rows() - 1);
  logits_.assign(last, last + rows_.cols());
  logits_[static_cast<std::size_t>(tokenizer_.bos())] = -HUGE_VALF;
}

}  // namespace dsf
