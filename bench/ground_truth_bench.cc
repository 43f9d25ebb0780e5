// Exact neighbours beside the bare product that they need: the same queries times the same database, in float, by the
// same kernel on as many threads. For each SIMD target that is named, or for the best; with the first also
// beside Faiss's flat index, whose distances are floats.
//
//     ground_truth_bench [--target AVX2]... [DATABASE QUERIES [K [THREADS [ROUNDS [euclidean|cosine]]]]]
#include <faiss/IndexFlat.h>
#include <fmt/format.h>

#include <fstream>
#include <string>

#include "base/blocks.h"
#include "bdnn/bdnn.h"
#include "bdnn/ground_truth.h"
#include "faiss_rival.h"
#include "linalg/product.h"
#include "targets.h"
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
  const auto arguments = bdnn::bench::arguments_of(argc, argv, {bdnn::simd_target()});
  const std::string folder = "/usr/share/datasets/fashion-mnist/";
  const auto database = bdnn::load_vectors(arguments(0, folder + "train-images-idx3-ubyte.gz"));
  const auto queries = bdnn::load_vectors(arguments(1, folder + "t10k-images-idx3-ubyte.gz"));
  bdnn::GroundTruthOptions options;
  options.k = std::stoul(arguments(2, "50"));
  options.threads = std::stoi(arguments(3, "2"));
  const int rounds = std::stoi(arguments(4, "3"));
  if (arguments(5, "euclidean") == "cosine") options.metric = bdnn::Metric::cosine;
  bdnn::bench::set_faiss_threads(options.threads);
  bdnn::Progress progress;

  const auto ours = [&] { bdnn::exact_neighbours(database, queries, options, progress); };
  ours();
  const std::string memory = peak_memory();  // before there are floats of it all
  const auto database_floats = as_floats(database);
  const auto query_floats = as_floats(queries);
  faiss::IndexFlatL2 flat(static_cast<int>(database.dimension()));
  flat.add(static_cast<bdnn::bench::faiss_id>(database.size()), database_floats.data());
  std::vector<float> distances(queries.size() * options.k);
  std::vector<bdnn::bench::faiss_id> ids(distances.size());
  fmt::print("{}; {}\n", bdnn::bench::machine(), bdnn::bench::faiss_in_use());
  fmt::print("{} queries, {} x {} {}, k = {}, {} threads; {} at most\n", queries.size(), database.size(),
             database.dimension(), bdnn::name_of(database.shape().element), options.k, options.threads, memory);
  for (const std::string& target : arguments.targets) {
    bdnn::force_simd_target(target);
    bdnn::bench::Rivals rivals = {
        [&] { bare_product(database_floats, query_floats, database.dimension(), options.threads); }, ours};
    if (target == arguments.targets.front()) {
      rivals.emplace_back([&] {
        flat.search(static_cast<bdnn::bench::faiss_id>(queries.size()), query_floats.data(),
                    static_cast<bdnn::bench::faiss_id>(options.k), distances.data(), ids.data());
      });
    }
    // CPU time, of all threads together.
    const auto times = bdnn::bench::best_times(rounds, rivals, bdnn::bench::cpu_now);
    fmt::print("{}: bare product {:.2f} s, exact neighbours {:.2f} s, {:.2f} times as long", target, times[0], times[1],
               times[1] / times[0]);
    if (times.size() > 2) fmt::print("; Faiss {:.2f} s, {:.2f} times ours", times[2], times[2] / times[1]);
    fmt::print("\n");
    std::fflush(stdout);
  }
}
