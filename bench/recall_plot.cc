// Draws what reconstruction_bench prints: recall over the bytes that a search keeps per vector, as SVG.
//
//     reconstruction_bench LEARN BASE QUERIES 32,64,128 | recall_plot > recall.svg
//     recall_plot "1000000 base vectors of dimension 128" < docs/reconstruction.md > docs/recall.svg
//
// With a text, reads the first table whose heading begins with it.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>

#include "base/with_commas.h"
#include "report/plot.h"

namespace {

struct Row {
  const char* table;   // its name in the table
  const char* legend;  // and in the picture
};

constexpr Row kRows[] = {{"recall, reconstruction, refined, 8 rounds", "bdnn"},
                         {"Faiss OPQ + PQ", "Faiss OPQ"},
                         {"Faiss PQ", "Faiss PQ"},
                         {"Faiss PQFastScan", "PQFastScan"},
                         {"itq, hamming, hash codes", "ITQ, Hamming"}};

// The numbers after a row's name: bytes, 10@10, 10@100, us/query, encoded/s, train s. None if it is another row.
std::vector<double> numbers_of(const std::string& line, const std::string& name) {
  if (!line.starts_with(name + " ")) return {};
  std::istringstream rest(line.substr(name.size()));
  std::vector<double> numbers;
  for (double number = 0; rest >> number;) numbers.push_back(number);
  return rest.eof() && numbers.size() == 6 ? numbers : std::vector<double>{};
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  bdnn::Plot plot{
      .title = {}, .x_label = "bytes per vector in memory", .y_label = "true 10 nearest in the first 100, %"};
  for (std::size_t i = 0; i < std::size(kRows); ++i) plot.series.push_back({kRows[i].legend, i, {}});
  std::set<double> bytes;
  bool within = wanted.empty();
  for (std::string line; std::getline(std::cin, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line.find(" base vectors of dimension ") != std::string::npos) {
      if (!bytes.empty()) break;
      within = line.starts_with(wanted);
      plot.title = line;
    }
    if (!within) continue;
    for (std::size_t i = 0; i < std::size(kRows); ++i) {
      const auto numbers = numbers_of(line, kRows[i].table);
      if (numbers.empty()) continue;
      bytes.insert(numbers[0]);
      const double percent = 100 * numbers[2];
      plot.series[i].points.push_back({numbers[0], percent, percent, percent,
                                       fmt::format("{}, {} bytes: {:.1f} %", kRows[i].legend, numbers[0], percent)});
    }
  }
  if (bytes.size() < 2) {
    fmt::print(stderr, "recall_plot: found no table of reconstruction_bench with two lengths or more\n");
    return 1;
  }
  plot.x_ticks.assign(bytes.begin(), bytes.end());
  std::istringstream heading(plot.title.substr(0, plot.title.find(", ")));
  std::uint64_t count = 0;
  std::string rest;
  if (heading >> count && std::getline(heading, rest)) plot.title = bdnn::with_commas(count) + rest;
  fmt::print("{}", bdnn::standalone_svg(plot));
}
