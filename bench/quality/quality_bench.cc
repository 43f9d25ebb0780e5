// How good codes are, method beside method, on many collections and in small parts of them: training and database are a
// collection's first samples in random order, queries are its own. Means over seeds; the largest minus the smallest mAP
// in brackets.
//
//     bench/quality/collections FOLDER
//     build/bench/bench/quality_bench FOLDER --collections mnist,digits --samples 1000,3000,all --bits 16,32
//     itq uh-bdnn "uh-bdnn:paper" "uh-bdnn starts=1"
//
// Relevant are the 50 nearest samples in Euclidean distance or, with --labels, the samples of the query's class. With
// labels, `ridge` stands for the codes of the class that a ridge classifier predicts, and the accuracy of the nearest
// neighbour in the original vectors is printed beside.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <Eigen/Dense>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "base/random.h"
#include "bdnn/bdnn.h"
#include "data/format.h"
#include "timing.h"

namespace {

using namespace bdnn;

struct Settings {
  std::string folder;
  std::vector<std::string> collections;
  std::vector<std::string> samples = {"1000", "3000", "10000", "all"};
  std::vector<std::size_t> bits = {8, 16, 24, 32, 48, 64, 96, 128, 256};
  std::vector<std::uint64_t> seeds = {1, 2, 3};
  std::vector<std::string> methods;
  std::size_t queries = 1000;
  bool labels = false;
};

struct Part {
  Vectors base;
  Vectors queries;
  std::vector<std::int64_t> base_labels;
  std::vector<std::int64_t> query_labels;
};

// Rows that the seed alone decides.
std::vector<std::uint32_t> random_rows(std::size_t of, std::size_t count, std::uint64_t seed) {
  Random random(seed);
  return bdnn::random_rows(of, std::min(count, of), random);
}

std::vector<std::int64_t> labels_of(const std::string& path, const std::vector<std::uint32_t>& rows) {
  const auto all = load_labels(path);
  std::vector<std::int64_t> some;
  for (const auto row : rows) some.push_back(all.at(row));
  return some;
}

Part load_part(const Settings& settings, const std::string& name, std::size_t samples) {
  const std::string prefix = settings.folder + "/" + name;
  const Vectors base = load_vectors(prefix + ".base.npy");
  const Vectors queries = load_vectors(prefix + ".query.npy");
  const auto base_rows = random_rows(base.size(), samples, 1);
  const auto query_rows = random_rows(queries.size(), settings.queries, 2);
  Part part{gather(base, base_rows), gather(queries, query_rows), {}, {}};
  if (settings.labels) {
    part.base_labels = labels_of(prefix + ".base.labels.npy", base_rows);
    part.query_labels = labels_of(prefix + ".query.labels.npy", query_rows);
  }
  return part;
}

Eigen::MatrixXd as_matrix(const Vectors& x) {
  Eigen::MatrixXf values(x.dimension(), x.size());
  const float* floats = x.floats(0, x.size(), values.data());
  return Eigen::Map<const Eigen::MatrixXf>(floats, values.rows(), values.cols()).cast<double>();
}

// Classes that a ridge regression to one-hot labels predicts. Its decay is chosen on a fifth of the training samples.
struct RidgeClassifier {
  explicit RidgeClassifier(const Part& part) {
    const Eigen::MatrixXd x = as_matrix(part.base);
    for (const auto label : part.base_labels) classes.emplace(label, 0);
    int next = 0;
    for (auto& [label, number] : classes) number = next++;
    Eigen::MatrixXd y = Eigen::MatrixXd::Constant(next, x.cols(), -1);
    for (Eigen::Index i = 0; i < x.cols(); ++i) y(classes.at(part.base_labels[static_cast<std::size_t>(i)]), i) = 1;
    const Eigen::Index fit = x.cols() - x.cols() / 5;
    double best = -1;
    double decay = 1;
    for (double tried = 1e-6; tried < 1; tried *= 10) {
      solve(x.leftCols(fit), y.leftCols(fit), tried);
      const Eigen::MatrixXd scores = (w * x.rightCols(x.cols() - fit)).colwise() + c;
      double right = 0;
      for (Eigen::Index i = 0; i < scores.cols(); ++i) {
        Eigen::Index top = 0;
        scores.col(i).maxCoeff(&top);
        right += y(top, fit + i) > 0 ? 1 : 0;
      }
      if (right > best) {
        best = right;
        decay = tried;
      }
    }
    solve(x, y, decay);
  }

  void solve(const Eigen::MatrixXd& x, const Eigen::MatrixXd& y, double decay) {
    const Eigen::VectorXd x_mean = x.rowwise().mean();
    const Eigen::VectorXd y_mean = y.rowwise().mean();
    const Eigen::MatrixXd centred = x.colwise() - x_mean;
    Eigen::MatrixXd gram = centred * centred.transpose();
    gram.diagonal().array() += decay * gram.trace();
    w = gram.llt().solve(centred * (y.colwise() - y_mean).transpose()).transpose();
    c = y_mean - w * x_mean;
  }

  std::vector<std::size_t> predict(const Vectors& x) const {
    const Eigen::MatrixXd scores = (w * as_matrix(x)).colwise() + c;
    std::vector<std::size_t> predicted;
    for (Eigen::Index i = 0; i < scores.cols(); ++i) {
      Eigen::Index top = 0;
      scores.col(i).maxCoeff(&top);
      predicted.push_back(static_cast<std::size_t>(top));
    }
    return predicted;
  }

  std::map<std::int64_t, int> classes;
  Eigen::MatrixXd w;
  Eigen::VectorXd c;
};

// A code for each class: of many random ones, those farthest from the codes before.
std::vector<std::vector<std::uint8_t>> class_codes(std::size_t classes, std::size_t bits, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::vector<std::uint8_t>> codes;
  for (std::size_t c = 0; c < classes; ++c) {
    std::vector<std::uint8_t> best;
    std::size_t best_distance = 0;
    for (int attempt = 0; attempt < 1000; ++attempt) {
      std::vector<std::uint8_t> code((bits + 7) / 8);
      for (std::size_t k = 0; k < bits; ++k) code[k / 8] |= static_cast<std::uint8_t>(random.below(2) << k % 8);
      std::size_t nearest = bits + 1;
      for (const auto& other : codes) {
        std::size_t distance = 0;
        for (std::size_t k = 0; k < code.size(); ++k) {
          distance += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(code[k] ^ other[k])));
        }
        nearest = std::min(nearest, distance);
      }
      if (!best.empty() && nearest <= best_distance) continue;
      best = code;
      best_distance = nearest;
    }
    codes.push_back(best);
  }
  return codes;
}

struct Outcome {
  double map = 0;
  double precision = 0;
  double empty = 0;
  double recall = 0;
  double seconds = 0;
};

Outcome measure(const Codes& base, const Codes& queries, const Relevance& relevance, const Relevance& nearest) {
  Progress silent;
  MetricsOptions options;
  const MetricsResult result = evaluate_codes(base, queries, relevance, options, silent);
  options.at = {100};
  options.radii = {};
  const MetricsResult found = evaluate_codes(base, queries, nearest, options, silent);
  return {100 * result.mean_average_precision, 100 * result.radii.front().precision, 100 * result.radii.front().empty,
          100 * found.ranks.front().recall, 0};
}

// "uh-bdnn:paper starts=1"
TrainOptions options_of(const std::string& text) {
  std::istringstream words(text);
  TrainOptions options;
  words >> options.method;
  const auto colon = options.method.find(':');
  if (colon != std::string::npos) {
    options.profile = options.method.substr(colon + 1);
    options.method.resize(colon);
  }
  for (std::string word; words >> word;) {
    options.set[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  return options;
}

void run(const Settings& settings) {
  fmt::print("{}\n\n", bench::machine());
  fmt::print("{:<14}{:>8}{:>6}  {:<44}{:>7} {:<8}{:>8}{:>8}{:>8}{:>9}\n", "collection", "samples", "bits", "method",
             "mAP", "", "prec@2", "empty", "10@100", "seconds");
  for (const auto& name : settings.collections) {
    std::size_t last_size = 0;
    for (const auto& samples : settings.samples) {
      const Part part = load_part(settings, name, samples == "all" ? SIZE_MAX : std::stoul(samples));
      if (part.base.size() == last_size) continue;  // the collection has no more
      last_size = part.base.size();
      Progress silent;
      GroundTruthOptions truth_options;
      const GroundTruth truth = exact_neighbours(part.base, part.queries, truth_options, silent);
      std::vector<std::int32_t> nearest_ids;
      for (std::size_t q = 0; q < truth.queries(); ++q) {
        nearest_ids.insert(nearest_ids.end(), truth.of(q).begin(), truth.of(q).begin() + 10);
      }
      const Relevance nearest = Relevance::neighbours(nearest_ids, 10);
      const Relevance relevance = settings.labels ? Relevance::labels(part.base_labels, part.query_labels)
                                                  : Relevance::neighbours(truth.ids, truth.k);
      if (settings.labels) {
        double right = 0;
        for (std::size_t q = 0; q < truth.queries(); ++q) {
          right += part.base_labels[static_cast<std::size_t>(truth.of(q)[0])] == part.query_labels[q] ? 1 : 0;
        }
        fmt::print("{:<14}{:>8}        nearest neighbour's class is right for {:.2f}%\n", name, part.base.size(),
                   100 * right / static_cast<double>(truth.queries()));
      }
      std::optional<RidgeClassifier> classifier;  // for all lengths and seeds
      for (const auto bits : settings.bits) {
        for (const auto& method : settings.methods) {
          Outcome mean;
          double least = 1e9;
          double most = -1e9;
          std::string failed;
          for (const auto seed : settings.seeds) {
            Outcome outcome;
            const double start = bench::now();
            try {
              if (method == "ridge") {
                if (!classifier) classifier.emplace(part);
                const auto codewords = class_codes(classifier->classes.size(), bits, seed);
                const auto coded = [&](const Vectors& x) {
                  std::vector<std::uint8_t> bytes;
                  for (const auto c : classifier->predict(x)) {
                    bytes.insert(bytes.end(), codewords[c].begin(), codewords[c].end());
                  }
                  return Codes(bits, x.size(), std::move(bytes));
                };
                outcome = measure(coded(part.base), coded(part.queries), relevance, nearest);
              } else {
                TrainOptions options = options_of(method);
                options.bits = bits;
                options.seed = seed;
                options.decoder = false;
                options.labels = part.base_labels;
                const Model model = train(part.base, options);
                outcome.seconds = bench::now() - start;
                const double seconds = outcome.seconds;
                outcome = measure(encode(model, part.base), encode(model, part.queries), relevance, nearest);
                outcome.seconds = seconds;
              }
            } catch (const Error& error) {
              failed = error.what();
              break;
            }
            const auto n = static_cast<double>(settings.seeds.size());
            mean.map += outcome.map / n;
            mean.precision += outcome.precision / n;
            mean.empty += outcome.empty / n;
            mean.recall += outcome.recall / n;
            mean.seconds += outcome.seconds / n;
            least = std::min(least, outcome.map);
            most = std::max(most, outcome.map);
          }
          fmt::print("{:<14}{:>8}{:>6}  {:<44}", name, part.base.size(), bits, method);
          if (!failed.empty()) {
            fmt::print("  {}\n", failed);
          } else {
            fmt::print("{:7.2f} {:<8}{:8.2f}{:8.2f}{:8.2f}{:9.1f}\n", mean.map, fmt::format("({:.2f})", most - least),
                       mean.precision, mean.empty, mean.recall, mean.seconds);
          }
          std::fflush(stdout);
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Codes of several methods, measured on many collections");
  app.add_option("folder", settings.folder, "as bench/quality/collections writes it")->required();
  app.add_option("methods", settings.methods, "such as itq, uh-bdnn:paper, \"uh-bdnn starts=1\", ridge")->required();
  app.add_option("--collections", settings.collections)->delimiter(',')->allow_extra_args(false)->required();
  app.add_option("--samples", settings.samples, "numbers, or all")->delimiter(',')->allow_extra_args(false);
  app.add_option("--bits", settings.bits)->delimiter(',')->allow_extra_args(false);
  app.add_option("--seeds", settings.seeds)->delimiter(',')->allow_extra_args(false);
  app.add_option("--queries", settings.queries);
  app.add_flag("--labels", settings.labels, "relevant: the query's class");
  CLI11_PARSE(app, argc, argv);
  try {
    run(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "quality_bench: {}\n", error.what());
    return 1;
  }
}
