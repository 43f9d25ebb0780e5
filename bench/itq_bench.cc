// Training ITQ: ours, on all samples, beside Faiss's ITQTransform, as it is (on a sample of at least 32,768) and on all
// samples.
//
//     build/bench/bench/itq_bench [VECTORS] [BITS]
#include <faiss/Index.h>
#include <faiss/VectorTransform.h>
#include <fmt/format.h>

#include "bdnn/bdnn.h"
#include "faiss_rival.h"
#include "timing.h"

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz";
  const int bits = argc > 2 ? std::stoi(argv[2]) : 32;
  const bdnn::Vectors vectors = bdnn::load_vectors(path);
  std::vector<float> values(vectors.size() * vectors.dimension());
  bdnn::to_float(vectors.shape().element, vectors.data(), values.size(), values.data());
  const auto floats = bdnn::Vectors::view(values.data(), vectors.dimension(), vectors.size());

  const auto faiss_itq = [&](bool all) {
    return [&, all] {
      faiss::ITQTransform itq(static_cast<int>(vectors.dimension()), bits, true);
      if (all) itq.max_train_per_dim = static_cast<int>(vectors.size() / vectors.dimension() + 1);
      itq.train(static_cast<bdnn::bench::faiss_id>(vectors.size()), values.data());
    };
  };
  fmt::print("{}; {}\n", bdnn::bench::machine(), bdnn::bench::faiss_in_use());
  fmt::print("{} x {}, {} bits\n", vectors.size(), vectors.dimension(), bits);
  for (const int threads : {1, omp_get_max_threads()}) {
    bdnn::bench::set_faiss_threads(threads);
    const auto times = bdnn::bench::best_times(
        3, {[&] { bdnn::train(floats, {.method = "itq", .bits = static_cast<std::size_t>(bits), .threads = threads}); },
            faiss_itq(false), faiss_itq(true)});
    fmt::print(
        "{} threads: ours {:.3f} s; Faiss as it is {:.3f} s, {:.1f} times ours; on all samples {:.3f} s, {:.1f} "
        "times\n",
        threads, times[0], times[1], times[1] / times[0], times[2], times[2] / times[0]);
  }
}
