// The term of UH-BDNN and its B step: codes from which a decoder rebuilds the samples.
#pragma once

#include "learn/decoder.h"
#include "learn/neighbour_term.h"
#include "methods/binary_network/alternation.h"

namespace bdnn {

// The codes that the B step starts from.
enum class CodeStart { zero, outputs };

struct ReconstructionOptions {
  double decay = 0;    // lambda1 of the decoder
  double lambda2 = 0;  // how strongly the network's outputs pull codes
  CodeStart start = CodeStart::outputs;
  int sweeps = 100;       // of a descent over the bits, at most
  int local_search = 0;   // rounds after a descent
  int code_rounds = 0;    // alternations of decoder and codes alone, before there is a network
  std::size_t group = 1;  // bits that the decoder takes together
};

class Reconstruction final : public CodeStep {
 public:
  Reconstruction(std::size_t bits, std::size_t dimension, const ReconstructionOptions& options, Threads& threads);

  std::string similarity_name() const override { return "reconstruction"; }
  BatchTerm* batch_term() override { return neighbours_ ? &*neighbours_ : nullptr; }
  std::string batch_term_name() const override { return "neighbours"; }
  void set_neighbours(NeighbourTerm term) { neighbours_.emplace(std::move(term)); }
  double evaluate(const OutputSums&, OutputGradient&) const override { return error_; }  // does not depend on H
  double weight_decay() const override { return options_.decay / 2 * static_cast<double>(decoder_.w.squaredNorm()); }
  void start(const TrainingSet& set, TargetCodes& codes) override;
  int start_rounds() const override;
  void start_round(int round, const TrainingSet& set, TargetCodes& codes) override;
  void improve(const LayerSizes& sizes, const TrainingSet& set, std::vector<float>& parameters,
               TargetCodes& codes) override;
  std::vector<float> state() const override;
  void restore(const std::vector<float>& state, int start_rounds) override;

  const RidgeRegression& decoder() const { return decoder_; }

 private:
  void fit(const RidgeSums& sums);
  int linear_rounds() const;
  // The B step and the decoder that follows it. pull(x, first, count, q, b) adds other pulls on the codes to q, and
  // sets b to the codes to start from.
  using Pull = std::function<void(const float* x, std::size_t first, std::size_t count, float* q, float* b)>;
  void improve_bits(const TrainingSet& set, TargetCodes& codes, const Pull& pull);
  void improve_groups(const TrainingSet& set, TargetCodes& codes, const Pull& pull);

  std::size_t bits_;
  std::size_t dimension_;
  BitGroups groups_;
  ReconstructionOptions options_;
  Threads& threads_;
  RidgeRegression decoder_;
  std::optional<NeighbourTerm> neighbours_;
  double error_ = 0;
};

}  // namespace bdnn
