#include "lab/report/table.h"

#include <gtest/gtest.h>

namespace dsf {
namespace {

Table small_table() {
  Table table({"method", "ppl"});
  table.add_row({"BPTT", "6.04"});
  table.add_row({"FT-BPTT", "16.45"});
  return table;
}

TEST(Table, TextAlignsNamesLeftAndNumbersRight) {
  EXPECT_EQ(small_table().to_text(),
            "  method      ppl\n"
            "  -------   -----\n"
            "  BPTT       6.04\n"
            "  FT-BPTT   16.45\n");
}

TEST(Table, MarkdownIsAPipeTable) {
  EXPECT_EQ(small_table().to_markdown(),
            "| method  |   ppl |\n"
            "| ------- | ----: |\n"
            "| BPTT    |  6.04 |\n"
            "| FT-BPTT | 16.45 |\n");
}

}  // namespace
}  // namespace dsf
