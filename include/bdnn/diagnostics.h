// Statistics of codes: the balance and independence of bits that the paper asks for.
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

  std::vector<double> balance;   // share of ones of each bit; 0.5 is balanced
  double largest_imbalance = 0;  // largest |balance - 0.5|

  // Correlation between different bits as +-1 values; a constant bit has none.
  double largest_correlation = 0;
  std::size_t largest_pair[2] = {0, 0};
  double mean_correlation = 0;      // mean of the absolute values
  std::vector<double> correlation;  // bits x bits, absolute values

  std::size_t distinct = 0;    // different codes
  std::size_t duplicates = 0;  // codes equal to an earlier one
  double entropy = 0;          // of the distribution of codes, in bits; at most log2(count)
  double bit_entropy = 0;      // sum of the entropies of the single bits; `bits` if all are balanced

  // Distances between a sample of the codes and all others.
  std::vector<double> distances;  // share of each distance, 0 to bits
  double mean_distance = 0;
  double distance_deviation = 0;
};
CodesDiagnostics diagnose_codes(const Codes& codes, int threads = 0);

// How well the codes tell vectors apart: a one-line summary, and a warning for each problem. `of_classes`: the codes
// were learned from labels, so few distinct codes are no problem.
std::string summary_of(const CodesDiagnostics& diagnostics);  // "10000 codes: 9731 distinct, no constant bits"
std::vector<std::string> warnings_of(const CodesDiagnostics& diagnostics, bool of_classes);

// How far a model's outputs h are from binary on given vectors. A model without outputs raises Error.
struct QuantizationDiagnostics {
  double mean_magnitude = 0;  // mean of |h|
  double error = 0;           // mean of (sgn(h) - h / mean|h|)^2: 0 if all outputs have the same magnitude
};
QuantizationDiagnostics diagnose_quantization(const Model& model, const Vectors& vectors, int threads = 0);

// The correlation matrix as text, one line per row: from ' ' (0) to '@' (1). If there are more than `most` bits, a cell
// covers several and shows their maximum.
std::string correlation_map(const CodesDiagnostics& diagnostics, std::size_t most = 64);

}  // namespace bdnn
