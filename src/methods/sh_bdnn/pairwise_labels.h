// The term of SH-BDNN and its B step: codes that agree with pairs of labels.
#pragma once

#include "learn/class_term.h"
#include "methods/binary_network/alternation.h"

namespace bdnn {

class PairwiseLabels final : public CodeStep {
 public:
  // `labels` of the training set, -1 for none; `weight`: w, of the term.
  PairwiseLabels(std::span<const std::int64_t> labels, std::size_t bits, double weight);

  // Before each B step, tries so many rotations of the outputs and takes the one whose codes search best.
  void turn_outputs(int rotations, const TrainingSet& queries, const Selection& selection, std::uint64_t seed,
                    Threads& threads);

  // Gives every class a code, which is B of its samples from the start on; and adds the term of that weight by which
  // samples find it. The codes of the unlabelled follow the outputs.
  void set_class_codes(double term_weight, double temperature, std::uint64_t seed);

  const TargetCodes& codes_of_classes() const { return class_codes_; }  // empty: classes have none

  std::string similarity_name() const override { return "pairs"; }
  BatchTerm* batch_term() override { return class_term_ ? &*class_term_ : nullptr; }
  std::string batch_term_name() const override { return "classes"; }
  std::size_t classes() const override { return classes_ + 1; }
  std::span<const std::int32_t> class_of() const override { return class_of_; }
  double evaluate(const OutputSums& sums, OutputGradient& gradient) const override;
  void start(const TrainingSet&, TargetCodes& codes) override { put_class_codes(codes); }
  void improve(const LayerSizes& sizes, const TrainingSet& set, std::vector<float>& parameters,
               TargetCodes& codes) override;

 private:
  void put_class_codes(TargetCodes& codes) const;

  std::size_t bits_;
  double weight_;
  std::size_t classes_ = 0;
  std::vector<std::int32_t> class_of_;  // classes in ascending order of their labels, then the unlabelled

  TargetCodes class_codes_;  // empty: classes have none
  std::optional<ClassTerm> class_term_;

  int rotations_ = 0;
  const TrainingSet* queries_ = nullptr;
  const Selection* selection_ = nullptr;
  std::uint64_t seed_ = 0;
  Threads* threads_ = nullptr;
};

}  // namespace bdnn
