// The term of UH-BDNN and its B step: codes from which a decoder rebuilds the samples.
#pragma once

#include "learn/decoder.h"
#include "methods/binary_network/alternation.h"

namespace bdnn {

// What the B step starts from.
enum class CodeStart { zero, outputs };

class Reconstruction final : public CodeStep {
 public:
  // `decay` is lambda1 of the decoder. `lambda2` pulls codes to the network's outputs; a descent takes at most `sweeps`
  // turns over the bits.
  Reconstruction(std::size_t bits, std::size_t dimension, double decay, double lambda2, CodeStart start, int sweeps,
                 Threads& threads);

  std::string similarity_name() const override { return "reconstruction"; }
  double evaluate(const OutputSums&, OutputGradient&) const override { return error_; }  // does not depend on H
  double weight_decay() const override { return decay_ / 2 * static_cast<double>(decoder_.w.squaredNorm()); }
  void start(const TrainingSet& set, const TargetCodes& codes) override;
  void improve(const LayerSizes& sizes, const TrainingSet& set, std::vector<float>& parameters,
               TargetCodes& codes) override;
  std::vector<float> state() const override;
  void restore(const std::vector<float>& state) override;

  const Decoder& decoder() const { return decoder_; }

 private:
  void fit(const DecoderSums& sums);

  std::size_t bits_;
  std::size_t dimension_;
  double decay_;
  double lambda2_;
  CodeStart start_;
  int sweeps_;
  Threads& threads_;
  Decoder decoder_;
  double error_ = 0;
};

}  // namespace bdnn
