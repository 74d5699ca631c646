#include "dsf/base/max_isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "dsf/base/error.h"
#include "tests/support/environment_variable.h"
#include "tests/support/message_of.h"

namespace dsf {
namespace {

// DSF_MAX_ISA while it lives.
struct MaxIsaVariable : testing::EnvironmentVariable {
  explicit MaxIsaVariable(std::string_view value)
      : EnvironmentVariable("DSF_MAX_ISA", std::string(value)) {}
};

constexpr Isa kAll[] = {Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx};

TEST(MaxIsa, KnowsItsNames) {
  for (const Isa isa : kAll) {
    const MaxIsaVariable variable(name_of(isa));
    EXPECT_EQ(max_isa(), isa);
  }
  const MaxIsaVariable empty("");
  EXPECT_FALSE(max_isa().has_value());
}

TEST(MaxIsa, AllowsNothingBeyondIt) {
  for (const Isa limit : kAll) {
    const MaxIsaVariable variable(name_of(limit));
    for (const Isa isa : kAll) {
      if (isa > limit) {
        EXPECT_FALSE(may_use(isa)) << name_of(isa);
      }
    }
    EXPECT_TRUE(may_use(Isa::avx2));  // the tests themselves need it
  }
}

TEST(MaxIsa, LeavesWhatTheCpuHas) {
  bool has[4];
  {
    const MaxIsaVariable unlimited("");
    for (const Isa isa : kAll) has[static_cast<int>(isa)] = may_use(isa);
  }
  const MaxIsaVariable variable("amx");
  for (const Isa isa : kAll) EXPECT_EQ(may_use(isa), has[static_cast<int>(isa)]) << name_of(isa);
}

TEST(MaxIsa, RefusesAnotherName) {
  const MaxIsaVariable variable("sse4");
  EXPECT_THAT(message_of<UsageError>([] { max_isa(); }), ::testing::HasSubstr("DSF_MAX_ISA=sse4"));
}

}  // namespace
}  // namespace dsf
