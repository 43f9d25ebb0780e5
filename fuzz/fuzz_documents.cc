// Whatever a file other than vectors, codes, models and indexes holds, reading it ends in its content or in
// bdnn::Error. The first byte of the input chooses the reader. Formats with checksums are tried as they are and with
// these mended.
#include <cmath>

#include "bdnn/error.h"
#include "bdnn/ground_truth.h"
#include "bdnn/protocol.h"
#include "bdnn/vectors.h"
#include "data/png_reader.h"
#include "data/text_lines.h"
#include "datasets/catalog.h"
#include "datasets/cifar10_pngs.h"
#include "datasets/content.h"
#include "datasets/tar.h"
#include "experiment/experiment_plan.h"
#include "experiment/results_file.h"
#include "features/image_source.h"
#include "fuzz.h"
#include "mend.h"
#include "methods/binary_network/checkpoint.h"
#include "report/html.h"
#include "report/report_data.h"
#include "report/section_plots.h"
#include "report/text_reports.h"

namespace {

using bdnn::fuzz::ScratchFile;

// Bytes in memory as a stream.
class Memory final : public bdnn::ByteStream {
 public:
  explicit Memory(std::string_view bytes) : ByteStream("fuzz"), bytes_(bytes) {}
  std::size_t read_some(std::span<std::byte> out) override {
    const std::size_t n = std::min(out.size(), bytes_.size());
    std::copy_n(reinterpret_cast<const std::byte*>(bytes_.data()), n, out.begin());
    bytes_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view bytes_;
};

void read_protocol(const std::string& bytes) {
  static const ScratchFile file("x.toml");
  file.put(bytes);
  bdnn::load_protocol(file.path());
}

void read_experiment(const std::string& bytes) {
  const bdnn::ExperimentPlan plan = bdnn::parse_experiment(bytes, "x.toml");
  bdnn::quick_version(plan);
}

void read_catalogue(const std::string& bytes) {
  for (const auto& entry : bdnn::parse_datasets(bytes, "x.toml")) {
    for (const auto& source : entry.sources) source.archive_name();
  }
}

// With the report, which is made from these files and nothing else.
void read_results(const std::string& bytes) {
  static const ScratchFile file("results.json");
  file.put(bytes);
  const bdnn::ReportData report = bdnn::report_data(bdnn::ResultsFile(file.path()));
  for (const auto& section : report.sections) {
    for (const auto& table : section.tables) bdnn::standalone_svg(bdnn::plot_of(section, table));
    for (const auto& curves : section.curves) bdnn::standalone_svg(bdnn::plot_of(section, curves));
  }
  bdnn::markdown_of(report);
  bdnn::csv_of(report);
  bdnn::json_of(report);
  bdnn::html_of(report);
}

void read_checkpoint(const std::string& bytes) {
  static const ScratchFile file("x.checkpoint");
  file.put(bytes);
  bdnn::load_checkpoint({.path = file.path(), .identity = "fuzz", .resume = true}, 6, 12, 5);
}

void describe(const bdnn::Image& image) {
  const std::vector<float> square = bdnn::resized_square(bdnn::grey_plane(image), image.width, image.height, 8);
  for (const float value : square) {
    if (!std::isfinite(value)) std::abort();
  }
}

void read_images(const std::string& path) {
  bdnn::ImageSource source({path});
  source.extent();
  for (bdnn::ImageSource::Batch batch : source.batches()) {
    source.read(batch);
    for (std::size_t i = 0; i < batch.count; ++i) describe(source.image(batch, i));
  }
}

void read_picture(const std::string& bytes) {
  static const ScratchFile file("x.pgm");
  file.put(bytes);
  read_images(file.path());
}

void read_file_of_images(const std::string& bytes) {
  static const ScratchFile file("x.idx3");
  file.put(bytes);
  read_images(file.path());
}

void read_png(bdnn::ByteStream& stream) {
  bdnn::PngReader reader(stream, "x.png");
  for (std::size_t row = 0; row < reader.height(); ++row) reader.next_row();
}

void read_png_in_memory(const std::string& bytes) {
  Memory stream(bytes);
  read_png(stream);
}

void read_archive(const std::string& bytes) {
  Memory stream(bytes);
  bdnn::Cifar10Labels labels;
  bdnn::read_tar(stream, "x.tar", [&](const std::string& name, bdnn::ByteStream& content) {
    if (name.ends_with(".json")) {
      std::string text(4096, '\0');
      text.resize(content.read_some(std::as_writable_bytes(std::span(text))));
      labels.train = bdnn::parse_cifar10_labels(text, name);
    } else if (name.ends_with(".bin")) {
      const auto batch = bdnn::open_cifar10_png(content, "data_batch_1.bin", labels);
      std::vector<std::byte> record(3073);
      while (batch->read_some(record) > 0) continue;
    } else {
      read_png(content);
    }
    return true;
  });
}

// A dataset's file, compared and packed again.
void read_content(const std::string& bytes) {
  static const ScratchFile file("x");
  static const ScratchFile out("y");
  file.put(bytes);
  bdnn::Progress silent;
  for (const char* name : {"x.gz", "x.bvecs", "x.fvecs"}) {
    const bdnn::DatasetFile expected{name, 1 << 16, ""};
    bdnn::check_size(file.path(), expected);
    bdnn::check_content(file.path(), name, expected, silent);
    try {
      Memory content(bytes);
      bdnn::write_content(content, {name, bytes.size(), ""}, out.path(), silent);
    } catch (const bdnn::Error&) {
    }
  }
}

void read_keys(const std::string& bytes) {
  static const ScratchFile file("x.txt");
  file.put(bytes);
  for (const auto read : {+[](const std::string& path) { bdnn::load_names(path); },
                          +[](const std::string& path) { bdnn::load_ids(path); },
                          +[](const std::string& path) { bdnn::load_integers(path); }}) {
    try {
      read(file.path());
    } catch (const bdnn::Error&) {
    }
  }
}

void read_neighbours(const std::string& bytes) {
  static const ScratchFile file("x.ivecs");
  file.put(bytes);
  for (const std::size_t k : {0, 3}) bdnn::load_ground_truth(file.path(), 100, 4, k);
}

struct Reader {
  void (*read)(const std::string& bytes);
  void (*mend)(std::string& bytes) = nullptr;
};

// New ones at the end: the first byte of the files in the corpus counts them.
constexpr Reader kReaders[] = {{read_protocol},
                               {read_experiment},
                               {read_catalogue},
                               {read_results},
                               {read_checkpoint, bdnn::fuzz::mend_tensor_file},
                               {read_picture},
                               {read_file_of_images},
                               {read_png_in_memory, bdnn::fuzz::mend_png},
                               {read_archive, bdnn::fuzz::mend_tar},
                               {read_content},
                               {read_keys},
                               {read_neighbours}};

void attempt(const Reader& reader, const std::string& bytes) {
  try {
    reader.read(bytes);
  } catch (const bdnn::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Reader& reader = kReaders[data[0] % std::size(kReaders)];
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (bytes.find("\x89HDF\r\n\x1a\n") != std::string::npos) return 0;  // its library is not ours to mend
  attempt(reader, bytes);
  if (reader.mend == nullptr) return 0;
  reader.mend(bytes);
  attempt(reader, bytes);
  return 0;
}
