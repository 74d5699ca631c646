// A safetensors file of any bytes.

#include <vector>

#include "dsf/base/error.h"
#include "dsf/model/safetensors.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dsf;
  const SecondLimit limit;
  try {
    const SafetensorsFile file(std::string(as_text(data, size)), "input");
    for (const auto& [name, tensor] : file.tensors()) {
      require(tensor.begin <= tensor.end && tensor.end <= size, "tensors lie inside the file");
      if (tensor.dtype != "F32") continue;
      std::vector<float> values((tensor.end - tensor.begin) / sizeof(float));
      file.copy_to(name, values);
      file.require(name, tensor.shape);
    }
  } catch (const CheckpointError&) {
    return 0;
  }
  return 0;
}
