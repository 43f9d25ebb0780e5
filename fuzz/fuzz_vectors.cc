// Whatever a file of vectors holds, loading it ends in vectors or in bdnn::Error. The first byte of the input chooses
// the name, and with it the format where the content does not tell. HDF5 is left out: its library is not ours to mend
// (docs/formats.md).
#include "bdnn/error.h"
#include "bdnn/vectors.h"
#include "fuzz.h"

namespace {

template <class Work>
void attempt(const Work& work) {
  try {
    work();
  } catch (const bdnn::Error&) {
  }
}

// Columns by number and by name.
void load_columns(const std::string& path) {
  for (const char* column : {"2", "a"}) {
    const bdnn::VectorsFile columns(path, {.drop = {column}, .label = "1"});
    attempt([&] { bdnn::load_vectors(columns); });
    attempt([&] { bdnn::load_labels(columns); });
    attempt([&] { bdnn::load_column(path, column); });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bdnn::fuzz::ScratchFile files[] = {
      bdnn::fuzz::ScratchFile("x.npy"), bdnn::fuzz::ScratchFile("x.fvecs"), bdnn::fuzz::ScratchFile("x.bvecs"),
      bdnn::fuzz::ScratchFile("x.idx"), bdnn::fuzz::ScratchFile("x.mat"),   bdnn::fuzz::ScratchFile("x.csv"),
      bdnn::fuzz::ScratchFile("x.bin")};
  if (size == 0) return 0;
  constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1a\n";
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (content.find(kHdf5) != std::string_view::npos) return 0;
  const auto& file = files[data[0] % std::size(files)];
  file.put(content);
  attempt([&] { bdnn::load_vectors(file.path()); });
  attempt([&] { bdnn::load_labels(file.path()); });
  if (file.path().ends_with(".csv")) load_columns(file.path());  // no other format has columns
  return 0;
}
