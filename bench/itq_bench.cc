// Training ITQ: ours, on all samples, beside Faiss's ITQTransform, which takes a sample of 10 per dimension.
//
//     build/bench/bench/itq_bench [VECTORS] [BITS]
#include <faiss/Index.h>
#include <faiss/VectorTransform.h>
#include <fmt/format.h>
#include <omp.h>

#include "bdnn/bdnn.h"
#include "timing.h"

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";
  const int bits = argc > 2 ? std::stoi(argv[2]) : 32;
  const bdnn::Vectors vectors = bdnn::load_vectors(path);
  std::vector<float> values(vectors.size() * vectors.dimension());
  bdnn::to_float(vectors.shape().element, vectors.data(), values.size(), values.data());
  const auto floats = bdnn::Vectors::view(values.data(), vectors.dimension(), vectors.size());

  for (const int threads : {1, omp_get_max_threads()}) {
    omp_set_num_threads(threads);
    const auto times = bdnn::bench::best_times(
        3, {[&] { bdnn::train(floats, {.method = "itq", .bits = static_cast<std::size_t>(bits), .threads = threads}); },
            [&] {
              faiss::ITQTransform itq(static_cast<int>(vectors.dimension()), bits, true);
              itq.train(static_cast<faiss::Index::idx_t>(vectors.size()), values.data());
            }});
    fmt::print(
        "{} x {}, {} bits, {} threads: ours {:.3f} s on all samples, Faiss {:.3f} s on {}; ours is {:.1f} times as "
        "fast\n",
        vectors.size(), vectors.dimension(), bits, threads, times[0], times[1],
        std::min(vectors.size(), 10 * vectors.dimension()), times[1] / times[0]);
  }
}
