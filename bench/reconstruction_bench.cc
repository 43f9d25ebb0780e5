// Search by reconstruction beside Hamming distance and Faiss's product quantisers, at codes of the same length.
//
//     reconstruction_bench [--target AVX2]... LEARN BASE QUERIES [bits,bits,...] [number of queries] [rival,rival,...]
//
// Rivals: itq, recall, recall-1 (group=1), pq, opq, fastscan (these by default), recall-4 and recall-8 (group=4 and 8),
// and residual, Faiss's residual quantiser, which takes minutes to encode a million vectors. Those of Faiss have its
// defaults. Search is measured with each SIMD target that is named, or with the best that the machine has.
//
// Training uses all cores, and its seconds are those of all of them added up. (On a busy machine
// OMP_WAIT_POLICY=passive keeps Faiss's threads from burning them while they wait for each other.) Encoding and search
// have one thread, search all queries in one call. Every rival trains and encodes once and searches three times, in
// turns with the others, the best of which counts. Times are CPU time. `bytes` are what a search keeps in memory per
// vector, without what does not grow with their number.
#include <faiss/IndexAdditiveQuantizer.h>
#include <faiss/IndexPQ.h>
#include <faiss/IndexPQFastScan.h>
#include <faiss/IndexPreTransform.h>
#include <faiss/VectorTransform.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <thread>

#include "bdnn/bdnn.h"
#include "bdnn/ground_truth.h"
#include "faiss_rival.h"
#include "targets.h"
#include "timing.h"

namespace {

using namespace bdnn;

constexpr std::size_t kReturned = 100;
constexpr std::size_t kTrue = 10;
constexpr int kSearches = 3;

double seconds_of(const std::function<void()>& work) { return bench::best_times(1, {work}, bench::cpu_now).front(); }

std::vector<float> floats_of(const Vectors& vectors) {
  std::vector<float> floats(vectors.size() * vectors.dimension());
  const float* values = vectors.floats(0, vectors.size(), floats.data());
  if (values != floats.data()) std::copy_n(values, floats.size(), floats.data());
  return floats;
}

struct Data {
  Vectors learn;
  Vectors base;
  Vectors queries;
  GroundTruth truth;
};

// A trained rival with all base vectors encoded.
struct Rival {
  std::string name;
  double train = 0;               // CPU seconds
  double encode = 0;              // CPU seconds, for all base vectors
  double bytes = 0;               // in memory, per vector
  std::function<void()> prepare;  // for the SIMD target in use, which packs weights its way
  std::function<void()> search;   // for all queries
  std::function<std::size_t(std::size_t, std::size_t)> result;  // of a query, at a rank
};

struct Recall {
  double first_10 = 0;
  double first_100 = 0;
};

// The share of the true 10 nearest among the first 10 and the first 100 returned.
Recall recall_of(const Data& data, const Rival& rival) {
  std::size_t in_10 = 0;
  std::size_t in_100 = 0;
  for (std::size_t q = 0; q < data.queries.size(); ++q) {
    for (std::size_t rank = 0; rank < kReturned; ++rank) {
      const auto* truth = data.truth.ids.data() + q * kTrue;
      if (std::find(truth, truth + kTrue, static_cast<std::int32_t>(rival.result(q, rank))) == truth + kTrue) continue;
      ++in_100;
      in_10 += rank < 10 ? 1 : 0;
    }
  }
  const double all = static_cast<double>(kTrue * data.queries.size());
  return {static_cast<double>(in_10) / all, static_cast<double>(in_100) / all};
}

// A way to read the codes of a model.
struct Reading {
  RankBy by;
  EncodeOptions encoding;
};

std::vector<Rival> ours(const Data& data, const std::string& name, const TrainOptions& options,
                        const std::vector<Reading>& readings) {
  const auto model = std::make_shared<Model>();
  const double train_seconds = seconds_of([&] { *model = train(data.learn, options); });
  std::vector<Rival> rivals;
  for (auto [by, encoding] : readings) {
    encoding.threads = 1;
    Rival rival{fmt::format("{}, {}, {}", name, name_of(by),
                            encoding.refined ? fmt::format("refined, {} rounds", encoding.local_search) : "hash codes"),
                train_seconds,
                0,
                0,
                {},
                {},
                {}};
    Codes codes;
    rival.encode = seconds_of([&, e = encoding] { codes = encode(*model, data.base, e); });
    if (by == RankBy::hamming) {
      rival.bytes = static_cast<double>(codes.bytes_per_code());
      const auto found = std::make_shared<Results>();
      const auto queries = std::make_shared<Codes>();
      rival.prepare = [queries, model, &data] { *queries = encode(*model, data.queries); };
      rival.search = [found, codes, queries] { *found = search(codes, *queries, {.k = kReturned, .threads = 1}); };
      rival.result = [found](std::size_t q, std::size_t rank) { return (*found)[q][rank].id; };
    } else {
      const auto scan = std::make_shared<ScoreScan>(*model, by, codes);
      rival.prepare = [scan, model, by = by, codes] { *scan = ScoreScan(*model, by, codes); };
      const auto found = std::make_shared<RankedResults>();
      rival.bytes = static_cast<double>(scan->bytes()) / static_cast<double>(codes.size());
      rival.search = [found, scan, &data] { scan->search(data.queries, kReturned, *found, 1); };
      rival.result = [found](std::size_t q, std::size_t rank) { return (*found)[q][rank].id; };
    }
    rivals.push_back(std::move(rival));
  }
  return rivals;
}

Rival theirs(const Data& data, const std::string& name, std::shared_ptr<faiss::Index> index, std::size_t code_size) {
  const auto count = [](const Vectors& vectors) { return static_cast<bench::faiss_id>(vectors.size()); };
  struct Found {
    std::vector<float> queries;
    std::vector<float> distances;
    std::vector<bench::faiss_id> ids;
  };
  const std::size_t returned = data.queries.size() * kReturned;
  const auto found = std::make_shared<Found>(
      Found{floats_of(data.queries), std::vector<float>(returned), std::vector<bench::faiss_id>(returned)});
  Rival rival{name, 0, 0, static_cast<double>(code_size), [] {}, {}, {}};
  bench::set_faiss_threads(static_cast<int>(std::thread::hardware_concurrency()));
  const std::vector<float> learn = floats_of(data.learn);
  rival.train = seconds_of([&] { index->train(count(data.learn), learn.data()); });
  bench::set_faiss_threads(1);
  const std::vector<float> base = floats_of(data.base);
  rival.encode = seconds_of([&] { index->add(count(data.base), base.data()); });
  rival.search = [found, index, queries = count(data.queries)] {
    index->search(queries, found->queries.data(), kReturned, found->distances.data(), found->ids.data());
  };
  rival.result = [found](std::size_t q, std::size_t rank) {
    return static_cast<std::size_t>(found->ids[q * kReturned + rank]);
  };
  return rival;
}

void compare(const Data& data, std::size_t bits, const std::vector<std::string>& wanted,
             const std::vector<std::string>& targets) {
  const auto want = [&](const std::string& name) {
    return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
  };
  std::vector<Rival> rivals;
  const auto add = [&](std::vector<Rival> more) {
    for (auto& rival : more) rivals.push_back(std::move(rival));
  };
  const auto d = static_cast<int>(data.base.dimension());
  const EncodeOptions hash;
  const EncodeOptions descent{.refined = true, .local_search = 0};
  if (want("itq")) {
    add(ours(data, "itq", {.method = "itq", .bits = bits},
             {{RankBy::hamming, hash},
              {RankBy::asymmetric, hash},
              {RankBy::reconstruction, hash},
              {RankBy::reconstruction, descent}}));
  }
  if (want("recall")) {
    add(ours(data, "recall", {.method = "uh-bdnn", .bits = bits, .profile = "recall"},
             {{RankBy::hamming, hash},
              {RankBy::asymmetric, hash},
              {RankBy::reconstruction, hash},
              {RankBy::reconstruction, descent},
              {RankBy::reconstruction, {.refined = true}}}));
  }
  for (const std::string group : {"1", "4", "8"}) {
    if (!want("recall-" + group)) continue;
    add(ours(data, "group=" + group,
             {.method = "uh-bdnn", .bits = bits, .profile = "recall", .set = {{"group", group}}},
             {{RankBy::reconstruction, descent}, {RankBy::reconstruction, {.refined = true}}}));
  }
  const int bytes = static_cast<int>(bits / 8);
  if (d % bytes != 0) {
    fmt::print("(Faiss PQ needs a number of dimensions that {} bytes divide)\n", bytes);
  } else {
    if (want("pq")) add({theirs(data, "Faiss PQ", std::make_shared<faiss::IndexPQ>(d, bytes, 8), bits / 8)});
    if (want("opq")) {
      const auto opq =
          std::make_shared<faiss::IndexPreTransform>(new faiss::OPQMatrix(d, bytes), new faiss::IndexPQ(d, bytes, 8));
      opq->own_fields = true;
      add({theirs(data, "Faiss OPQ + PQ", opq, bits / 8)});
    }
  }
  if (want("residual")) {
    // A byte more for the norm, as ours has two.
    const auto rq = std::make_shared<faiss::IndexResidualQuantizer>(d, bytes, 8, faiss::METRIC_L2,
                                                                    faiss::AdditiveQuantizer::ST_norm_qint8);
    add({theirs(data, "Faiss residual quantiser", rq, rq->rq.code_size)});
  }
  if (d % (2 * bytes) != 0) {
    fmt::print("(Faiss PQFastScan needs a number of dimensions that {} parts divide)\n", 2 * bytes);
  } else if (want("fastscan")) {
    const auto fast = std::make_shared<faiss::IndexPQFastScan>(d, 2 * bytes, 4);
    // With a heap: its reservoir, the choice for k = 100, aborts on MNIST with a failed assertion (Faiss 1.7.3).
    if (d > 256) fast->implem = 12;
    add({theirs(data, "Faiss PQFastScan", fast, bits / 8)});
  }

  bench::Rivals searches;
  for (const auto& rival : rivals) searches.push_back(rival.search);
  std::vector<std::vector<double>> times;
  std::vector<std::vector<Recall>> recalls;
  for (const std::string& target : targets) {
    force_simd_target(target);
    for (const auto& rival : rivals) rival.prepare();
    times.push_back(bench::best_times(kSearches, searches, bench::cpu_now));
    recalls.emplace_back();
    for (const auto& rival : rivals) recalls.back().push_back(recall_of(data, rival));
  }
  fmt::print("{} bits\n  {:<42} {:>6} {:>7} {:>7}", bits, "", "bytes", "10@10", "10@100");
  for (const std::string& target : targets) {
    fmt::print(" {:>10}", targets.size() == 1 ? "us/query" : "us, " + target);
  }
  fmt::print(" {:>12} {:>8}\n", "encoded/s", "train s");
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    const Rival& rival = rivals[i];
    const Recall& recall = recalls.front()[i];
    for (std::size_t t = 1; t < targets.size(); ++t) {
      // Rounding may exchange neighbours at nearly the same distance, and no more.
      if (std::abs(recalls[t][i].first_100 - recall.first_100) < 0.005) continue;
      fmt::print("{} finds {:.3f} with {}, not {:.3f}\n", rival.name, recalls[t][i].first_100, targets[t],
                 recall.first_100);
      std::exit(1);
    }
    fmt::print("  {:<42} {:>6.1f} {:>7.3f} {:>7.3f}", rival.name, rival.bytes, recall.first_10, recall.first_100);
    for (const auto& own : times) fmt::print(" {:>10.1f}", 1e6 * own[i] / static_cast<double>(data.queries.size()));
    fmt::print(" {:>12.0f} {:>8.1f}\n", static_cast<double>(data.base.size()) / rival.encode, rival.train);
  }
  std::fflush(stdout);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = bench::arguments_of(argc, argv, {simd_target()});
  if (arguments.rest.size() < 3) {
    fmt::print(
        "reconstruction_bench [--target AVX2]... LEARN BASE QUERIES [bits,bits,...] [number of queries] "
        "[rival,rival,...]\n");
    return 2;
  }
  Data data{load_vectors(arguments.rest[0]), load_vectors(arguments.rest[1]), load_vectors(arguments.rest[2]), {}};
  const std::size_t wanted = std::stoul(arguments(4, "1000"));
  data.queries = data.queries.slice(0, std::min(wanted, data.queries.size()));
  Progress silent;
  data.truth = exact_neighbours(data.base, data.queries, {kTrue, Metric::euclidean, {}, 0}, silent);
  fmt::print("{}; {}\n", bench::machine(), bench::faiss_in_use());
  fmt::print("{} base vectors of dimension {}, learned on {}, {} queries\n", data.base.size(), data.base.dimension(),
             data.learn.size(), data.queries.size());
  const auto rivals = split(arguments(5, "itq,recall,recall-1,pq,opq,fastscan"));
  for (const auto& bits : split(arguments(3, "32,64,128"))) compare(data, std::stoul(bits), rivals, arguments.targets);
}
