#pragma once

#include <string_view>

namespace dsf {

/// Throws DataError if a SentencePiece model holds what SentencePiece itself takes on trust and
/// ends the process over: a piece without text or with a NUL in it, another kind of model than BPE,
/// or rules of normalisation (dsf's have none).
void check_bpe_model(std::string_view model);

}  // namespace dsf
