// Exact neighbours beside the bare product that they need: the same queries times the same database, in float, by the
// same kernel on as many threads.
//
//     build/bench/bench/ground_truth_bench [DATABASE QUERIES [K [THREADS [ROUNDS [euclidean|cosine]]]]]
#include <fmt/format.h>

#include <fstream>
#include <string>

#include "base/blocks.h"
#include "bdnn/bdnn.h"
#include "bdnn/ground_truth.h"
#include "linalg/product.h"
#include "timing.h"

namespace {

// The most memory that this program has had so far.
std::string peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return line.substr(line.find_first_not_of(" \t", 6));
  }
  return "unknown";
}

std::vector<float> as_floats(const bdnn::Vectors& x) {
  std::vector<float> values(x.size() * x.dimension());
  bdnn::to_float(x.shape().element, x.data(), values.size(), values.data());
  return values;
}

// All products, a tile at a time that is overwritten by the next: in blocks that suit the kernel.
void bare_product(const std::vector<float>& database, const std::vector<float>& queries, std::size_t dimension,
                  int thread_count) {
  bdnn::Threads threads(thread_count);
  const std::size_t block = std::clamp<std::size_t>((std::size_t{1} << 18) / dimension, 32, 384) / 32 * 32;
  const std::size_t count = queries.size() / dimension;
  const std::size_t vectors = database.size() / dimension;
  constexpr std::size_t kTile = 224;
  threads.for_each((count + block - 1) / block, [&](std::size_t b, int) {
    const std::size_t rows = std::min(block, count - b * block);
    const auto left =
        bdnn::PackedMatrix<float>::from_rows(queries.data() + b * block * dimension, rows, dimension, dimension);
    std::vector<float> out(block * kTile);
    for (std::size_t i = 0; i < vectors; i += kTile) {
      bdnn::multiply(left, database.data() + i * dimension, std::min(kTile, vectors - i), dimension, out.data(), block);
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = "/usr/share/datasets/fashion-mnist/";
  const auto database = bdnn::load_vectors(argc > 1 ? argv[1] : folder + "train-images-idx3-ubyte.gz");
  const auto queries = bdnn::load_vectors(argc > 2 ? argv[2] : folder + "t10k-images-idx3-ubyte.gz");
  bdnn::GroundTruthOptions options;
  options.k = argc > 3 ? std::stoul(argv[3]) : 50;
  options.threads = argc > 4 ? std::stoi(argv[4]) : 2;
  const int rounds = argc > 5 ? std::stoi(argv[5]) : 3;
  if (argc > 6 && std::string(argv[6]) == "cosine") options.metric = bdnn::Metric::cosine;
  bdnn::Progress progress;

  const auto ours = [&] { bdnn::exact_neighbours(database, queries, options, progress); };
  ours();
  const std::string memory = peak_memory();  // before there are floats of it all
  const auto database_floats = as_floats(database);
  const auto query_floats = as_floats(queries);
  const auto times = bdnn::bench::best_times(
      rounds, {[&] { bare_product(database_floats, query_floats, database.dimension(), options.threads); }, ours});
  fmt::print("{}\n", bdnn::bench::machine());
  fmt::print("{} queries, {} x {} {}, k = {}, {} threads\n", queries.size(), database.size(), database.dimension(),
             bdnn::name_of(database.shape().element), options.k, options.threads);
  fmt::print("bare product     {:8.2f} s\n", times[0]);
  fmt::print("exact neighbours {:8.2f} s  {:.2f} times the bare product; {} at most\n", times[1], times[1] / times[0],
             memory);
}
