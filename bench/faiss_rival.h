// Faiss as a rival: which one this is, and how many threads it has.
#pragma once

#include <cblas.h>
#include <faiss/Index.h>
#include <faiss/utils/utils.h>
#include <fmt/format.h>
#include <omp.h>

#include <cstdint>
#include <string>

namespace bdnn::bench {

using faiss_id = std::int64_t;  // faiss::idx_t, which has stood in different places

// "Faiss 1.7.3 (OPTIMIZE GENERIC)": version and compile options. GENERIC is a build for any x86-64, such as Debian's;
// bench/CMakeLists.txt says how to link another.
inline std::string faiss_in_use() {
  std::string options = faiss::get_compile_options();
  while (options.ends_with(' ')) options.pop_back();
  return fmt::format("Faiss {}.{}.{} ({})", FAISS_VERSION_MAJOR, FAISS_VERSION_MINOR, FAISS_VERSION_PATCH, options);
}

// Its own threads are OpenMP's; those of its matrix products are OpenBLAS's.
inline void set_faiss_threads(int threads) {
  omp_set_num_threads(threads);
  openblas_set_num_threads(threads);
}

}  // namespace bdnn::bench
