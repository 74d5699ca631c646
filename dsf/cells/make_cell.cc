#include "dsf/cells/cell.h"
#include "dsf/cells/gru.h"
#include "dsf/cells/lstm.h"
#include "dsf/cells/rnn.h"

namespace dsf {

std::unique_ptr<Cell> make_cell(CellKind kind, GruReset reset, dim_t input, dim_t hidden) {
  switch (kind) {
    case CellKind::rnn:
      return std::make_unique<RnnCell>(input, hidden);
    case CellKind::lstm:
      return std::make_unique<LstmCell>(input, hidden);
    case CellKind::gru:
      break;
  }
  if (reset == GruReset::before) return std::make_unique<GruResetBeforeCell>(input, hidden);
  return std::make_unique<GruResetAfterCell>(input, hidden);
}

}  // namespace dsf
