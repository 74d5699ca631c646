// A text of one line that is cut into splits inside it; the input's first byte says where it may be
// cut and its second how much is cut off.

#include <algorithm>

#include "dsf/base/utf8.h"
#include "dsf/data/text_cut.h"
#include "dsf/data/words.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  const SecondLimit limit;
  if (size < 2) return 0;
  constexpr CutAt kUnits[] = {CutAt::byte, CutAt::character, CutAt::word};
  const CutAt unit = kUnits[data[0] % 3];
  const std::string_view text = as_text(data + 2, size - 2);
  const std::size_t tail = text.size() * data[1] / 128;
  const std::size_t cut = cut_inside_line(text, tail, unit);
  require(cut < std::max<std::size_t>(text.size(), 1), "something stays behind the cut");
  if (cut == 0) return 0;
  const bool whole = find_malformed_utf8(text) == std::string_view::npos;
  if (unit != CutAt::byte && whole) {
    require(find_malformed_utf8(text.substr(0, cut)) == std::string_view::npos &&
                find_malformed_utf8(text.substr(cut)) == std::string_view::npos,
            "no character is cut");
  }
  if (unit == CutAt::byte && !text.ends_with('\n') && tail > 0 && tail < text.size()) {
    require(text.size() - cut == tail, "bytes are cut exactly");
  }
  return 0;
}
