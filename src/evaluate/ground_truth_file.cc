#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <type_traits>

#include "base/checksum.h"
#include "base/error.h"
#include "bdnn/ground_truth.h"
#include "data/element.h"
#include "data/format.h"

namespace bdnn {
namespace {

namespace fs = std::filesystem;

// One row of a file as ids; `row` is only for messages.
template <class T>
void to_ids(const std::byte* from, std::size_t k, std::size_t database_size, const std::string& path, std::size_t row,
            std::int32_t* out) {
  for (std::size_t i = 0; i < k; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    // Every integer up to 2^53 is a double, and a larger one remains too large.
    const auto id = static_cast<double>(value);
    const bool good = id >= 0 && id < static_cast<double>(database_size);
    if (!good || static_cast<double>(static_cast<std::int32_t>(id)) != id) {
      failure("{}: query {} has neighbour {} in column {}; ids of a database of {} vectors are 0 to {}", path, row, id,
              i, database_size, database_size - 1);
    }
    out[i] = static_cast<std::int32_t>(id);
  }
}

std::uint64_t checksum_of(const GroundTruth& truth) {
  return checksum(bytes_of(std::span<const std::int32_t>(truth.ids)));
}

void add(Checksum& sum, const Vectors& x) {
  const std::array<std::uint64_t, 3> shape = {x.dimension(), x.size(), static_cast<std::uint64_t>(x.shape().element)};
  sum.add(std::as_bytes(std::span(shape)));
  sum.add({x.data(), x.size() * x.shape().bytes_per_vector()});
}

// Everything that determines the neighbours; the number of threads, for example, does not.
std::uint64_t key_of(const Vectors& database, const Vectors& queries, const GroundTruthOptions& options) {
  Checksum sum;
  add(sum, database);
  add(sum, queries);
  const std::array<std::uint64_t, 3> numbers = {options.k, static_cast<std::uint64_t>(options.metric),
                                                options.self.size()};
  sum.add(std::as_bytes(std::span(numbers)));
  sum.add(std::as_bytes(std::span(options.self)));
  return sum.value();
}

}  // namespace

void save_ground_truth(const GroundTruth& truth, const std::string& path) {
  const Format& format = format_for_writing(path);
  if (std::find(format.stores.begin(), format.stores.end(), Element::i32) == format.stores.end()) {
    misuse("{}: {} files cannot hold ids of neighbours; use .ivecs", path, format.name);
  }
  const auto writer = format.create({path, {truth.k, truth.queries(), Element::i32}, "neighbors"});
  writer->write(truth.queries(), reinterpret_cast<const std::byte*>(truth.ids.data()));
  writer->finish();
}

GroundTruth load_ground_truth(const std::string& path, std::size_t database_size, std::size_t queries, std::size_t k) {
  const auto reader = open_vectors(path);
  const Shape& shape = reader->shape();
  if (shape.count != queries) {
    failure("{}: holds the neighbours of {} queries, not of {}; give the file for these queries", path, shape.count,
            queries);
  }
  if (k > shape.dimension) {
    failure("{}: holds {} neighbours of each query, but {} are needed; ask for fewer, or compute more", path,
            shape.dimension, k);
  }
  GroundTruth truth{k == 0 ? shape.dimension : k, {}};
  truth.ids.resize(truth.k * queries);
  std::vector<std::byte> raw(shape.bytes_per_vector());
  std::vector<std::int32_t> sorted(truth.k);
  for (std::size_t row = 0; row < queries; ++row) {
    reader->read(1, raw.data());
    std::int32_t* ids = truth.ids.data() + row * truth.k;
    visit_element(shape.element, [&](auto type) {
      to_ids<typename decltype(type)::type>(raw.data(), truth.k, database_size, path, row, ids);
    });
    std::copy_n(ids, truth.k, sorted.begin());
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) failure("{}: query {} has neighbour {} more than once", path, row, *twice);
  }
  return truth;
}

GroundTruth cached_neighbours(const Vectors& database, const Vectors& queries, const GroundTruthOptions& options,
                              const std::string& folder, Progress& progress) {
  if (folder.empty()) return exact_neighbours(database, queries, options, progress);
  // The name ends with a checksum of the ids, so that damage that leaves valid ids is detected too.
  const std::string start = fmt::format("neighbours-{:016x}-", key_of(database, queries, options));
  const auto name_of_content = [&](const GroundTruth& truth) {
    return fmt::format("{}{:016x}.ivecs", start, checksum_of(truth));
  };
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) failure("{}: cannot make this folder for neighbours: {}", folder, error.message());
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(start) || !name.ends_with(".ivecs")) continue;
    try {
      GroundTruth truth = load_ground_truth(entry.path(), database.size(), queries.size(), 0);
      if (truth.k == options.k && name == name_of_content(truth)) return truth;
    } catch (const Error&) {  // damaged: computed again
    }
  }
  GroundTruth truth = exact_neighbours(database, queries, options, progress);
  const fs::path path = fs::path(folder) / name_of_content(truth);
  fs::remove(path, error);  // a damaged file; if it is a link, its target is not ours
  save_ground_truth(truth, path.string());
  return truth;
}

}  // namespace bdnn
