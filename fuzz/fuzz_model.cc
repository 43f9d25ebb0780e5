// Whatever a model file holds, loading it ends in a model or in bdnn::Error. Each input is tried as it is and with its
// checksum mended, else no mutation would get beyond the checksum.
#include "bdnn/encode.h"
#include "bdnn/error.h"
#include "fuzz.h"
#include "mend.h"
#include "model/model_file.h"

namespace {

void load(const std::string& bytes) {
  try {
    const auto model = bdnn::parse_model(bytes, "fuzz");
    // What was accepted can be used, and writes itself back.
    bdnn::encode(model, bdnn::Vectors(model.dimension(), 1, std::vector<float>(model.dimension())), 1);
    bdnn::parse_model(bdnn::serialize_model(model), "fuzz");
  } catch (const bdnn::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  load(bytes);
  bdnn::fuzz::mend_tensor_file(bytes);
  load(bytes);
  return 0;
}
