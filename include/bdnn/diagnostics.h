// A look inside codes: the balance and independence of bits that the paper asks for, measured.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "bdnn/codes.h"
#include "bdnn/model.h"
#include "bdnn/progress.h"
#include "bdnn/vectors.h"

namespace bdnn {

struct CodesDiagnostics {
  std::size_t bits = 0;
  std::size_t count = 0;

  std::vector<double> balance;   // of each bit, the share of ones; 0.5 is balanced
  double largest_imbalance = 0;  // the largest |balance - 0.5|

  // Between different bits, as +-1 values about their means; a constant bit has none.
  double largest_correlation = 0;
  std::size_t largest_pair[2] = {0, 0};
  double mean_correlation = 0;      // of absolute values
  std::vector<double> correlation;  // bits x bits, absolute values

  std::size_t distinct = 0;    // different codes
  std::size_t duplicates = 0;  // codes that are not the first of their kind
  double entropy = 0;          // of the distribution of codes, in bits; at most log2(count)
  double bit_entropy = 0;      // the sum of the entropies of the single bits; `bits` if all are balanced

  // Of distances between a sample of the codes and all others.
  std::vector<double> distances;  // the share of each distance, 0 to bits
  double mean_distance = 0;
  double distance_deviation = 0;
};
CodesDiagnostics diagnose_codes(const Codes& codes, int threads = 0);

// How far a model's outputs h are from binary, on these vectors.
struct QuantizationDiagnostics {
  double mean_magnitude = 0;  // of |h|
  double error = 0;           // mean of (sgn(h) - h / mean|h|)^2: 0 if all outputs have the same magnitude
};
QuantizationDiagnostics diagnose_quantization(const Model& model, const Vectors& vectors, int threads = 0);

// The correlations as characters, a row per line: from ' ' (none) to '@' (1). More than `most` bits share cells, which
// show the largest of theirs.
std::string correlation_map(const CodesDiagnostics& diagnostics, std::size_t most = 64);

}  // namespace bdnn
