// Parameter layout and gate order against PyTorch's documentation of torch.nn.RNN, GRU and LSTM.
//
// The expected numbers were computed outside this project from the documented equations, with
// weight_ih_l0 = (W_ir|W_iz|W_in) and (W_ii|W_if|W_ig|W_io), two inputs, two hidden units. The k-th
// number of weight_ih, weight_hh, bias_ih, bias_hh, counted through all four, is ((7k+3) mod 11 -
// 5) / 10.

#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <vector>

#include "dsf/base/error.h"
#include "dsf/cells/cell.h"

namespace dsf {
namespace {

struct Example {
  const char* name;
  CellKind kind;
  GruReset reset;
  std::vector<float> initial;
  std::vector<float> expected;  ///< three steps
};

const std::vector<Example>& examples() {
  static const std::vector<Example> all = {
      {"rnn",
       CellKind::rnn,
       GruReset::after,
       {0.1F, -0.2F},
       {-0.430084211F, -0.421899005F, -0.242128263F, -0.522328115F, 0.818794490F, -0.892655642F}},
      {"gru_reset_after",
       CellKind::gru,
       GruReset::after,
       {0.1F, -0.2F},
       {0.128014744F, 0.280836741F, -0.008329969F, 0.464012088F, -0.334343424F, 0.244670267F}},
      {"gru_reset_before",
       CellKind::gru,
       GruReset::before,
       {0.1F, -0.2F},
       {0.210143356F, 0.309824581F, 0.105199796F, 0.498489637F, -0.271599137F, 0.293169444F}},
      {"lstm",
       CellKind::lstm,
       GruReset::after,
       {0.1F, -0.2F, 0.3F, 0.4F},
       {0.089521614F, 0.130220574F, 0.168140375F, 0.612116891F, -0.186782237F, 0.140197489F,
        -0.270824032F, 0.649942827F, -0.358919343F, 0.297448335F, -0.873513158F, 0.581428571F}},
  };
  return all;
}

class GateOrder : public ::testing::TestWithParam<Example> {};
INSTANTIATE_TEST_SUITE_P(Cells, GateOrder, ::testing::ValuesIn(examples()),
                         [](const auto& suite) { return std::string(suite.param.name); });

TEST_P(GateOrder, IsPyTorchs) {
  const auto cell = make_cell(GetParam().kind, GetParam().reset, 2, 2);
  const dim_t KD = 2 * cell->shape().gates;
  std::vector<float> numbers(static_cast<std::size_t>(6 * KD));
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    numbers[k] = static_cast<float>(static_cast<int>((7 * k + 3) % 11) - 5) / 10.0F;
  }
  const float* at = numbers.data();
  cell->prepare({{at, KD, 2}, {at + 2 * KD, KD, 2}, at + 4 * KD, at + 5 * KD}, Precision::f32, {});

  const std::array<float, 6> x = {0.5F, -1.0F, 1.5F, 0.25F, -0.75F, 2.0F};
  const dim_t S = cell->shape().state;
  std::vector<float> state = GetParam().initial;
  std::vector<float> y(static_cast<std::size_t>(3 * S));
  const PackedLayout layout = PackedLayout::uniform(3, 1);
  Matrix states;
  CellWork work;
  cell->forward(layout, {x.data(), 3, 2}, {state.data(), 1, S},
                CellTape::in(states, work.gates, cell->shape(), layout), work, {y.data(), 3, S});
  // Values below one, nine digits: three steps of float rounding.
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], GetParam().expected[i], 1e-6) << i;
}

TEST(CellNames, UnknownOnesAreRefusedWithTheKnown) {
  EXPECT_EQ(parse_choice<CellKind>("model.mixer", "lstm"), CellKind::lstm);
  EXPECT_EQ(parse_choice<GruReset>("model.reset", "before"), GruReset::before);
  try {
    parse_choice<CellKind>("model.mixer", "qrnn");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_TRUE(std::string_view(error.what())
                    .starts_with("model.mixer = \"qrnn\" is unknown; known: rnn, gru, lstm"))
        << error.what();
  }
  EXPECT_THROW(parse_choice<GruReset>("model.reset", ""), ConfigError);
}

}  // namespace
}  // namespace dsf
