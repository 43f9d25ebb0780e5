#include "coding/code_scores.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/names.h"
#include "data/format.h"

namespace bdnn {
namespace {

constexpr std::string_view kRankNames[] = {"hamming", "spherical", "asymmetric", "reconstruction"};
static_assert(std::size(kRankNames) == std::size(kAllRanks));

}  // namespace

std::string_view name_of(RankBy rank) { return kRankNames[static_cast<std::size_t>(rank)]; }

RankBy rank_by_name(const std::string& name) { return by_name(kAllRanks, name, "ranking"); }

CodeScores::CodeScores(const Model& model, RankBy by) : bits_(model.bits()), dimension_(model.dimension()) {
  switch (by) {
    case RankBy::hamming: misuse("Hamming distance is searched by search(), not by scores");
    case RankBy::spherical: misuse("spherical distance is searched by SphericalScan, not by scores");
    case RankBy::asymmetric:
      if (!model.has_outputs()) {
        misuse(
            "asymmetric distance needs outputs before the sign, and the model's hash function has none; rank by "
            "hamming or reconstruction");
      }
      encoder_.emplace(model);
      break;
    case RankBy::reconstruction:
      view_.emplace(model);
      if (view_->grouped()) break;
      const MatrixXf gram = view_->gram().cast<float>();
      gram_.emplace(PackedMatrix<float>::from_columns(gram.data(), bits_, bits_, bits_));
  }
}

void CodeScores::lookup_tables(const Vectors& queries, std::size_t first, Scratch& scratch,
                               std::vector<LookupTables>& tables) const {
  if (queries.dimension() != dimension_) {
    misuse("the queries have dimension {}, the model expects {}", queries.dimension(), dimension_);
  }
  const std::size_t count = queries.size();
  scratch.floats.resize(count * dimension_);
  const float* x = queries.floats(0, count, scratch.floats.data());
  for (std::size_t i = 0; i < count * dimension_; ++i) {
    if (!std::isfinite(x[i])) {
      failure("query {} has {} in column {}; only finite numbers can be searched for", first + i / dimension_,
              not_finite_text(queries, i / dimension_, i % dimension_), i % dimension_);
    }
  }
  auto& constants = scratch.constants;
  constants.assign(count, 0);
  const std::size_t columns = view_ ? static_cast<std::size_t>(view_->columns().cols()) : bits_;
  auto& t = scratch.t;
  t.resize(count * columns);
  if (view_) {
    auto& centred = scratch.centred;
    view_->project(x, count, centred, t.data());
    for (std::size_t i = 0; i < centred.size(); ++i) {
      constants[i / dimension_] += static_cast<double>(centred[i]) * static_cast<double>(centred[i]);
    }
  } else {
    std::copy_n(encoder_->outputs(x, count, scratch.encoding), t.size(), t.begin());
    for (std::size_t i = 0; i < t.size(); ++i) {
      constants[i / bits_] += static_cast<double>(t[i]) * static_cast<double>(t[i]) + 1;
    }
  }
  if (tables.size() < count) tables.resize(count);  // never shrinks, which would free memory
  const std::size_t size = bytes_for_bits(bits_) * values_per_byte(width());
  for (std::size_t i = 0; i < count; ++i) {
    const bool finite =
        std::all_of(t.data() + i * columns, t.data() + (i + 1) * columns, [](float v) { return std::isfinite(v); });
    if (!finite || !std::isfinite(constants[i])) failure("query {} is so large that its distances overflow", first + i);
    tables[i].constant = constants[i];
    tables[i].width = width();
    tables[i].values.assign(size, 0);
    if (view_ && view_->grouped()) {
      for (std::size_t k = 0; k < columns; ++k) tables[i].values[k] = -2 * static_cast<double>(t[i * columns + k]);
      continue;
    }
    for (std::size_t piece = 0; piece < size / 16; ++piece) {
      for (unsigned value = 0; value < 16; ++value) {
        double sum = 0;
        for (std::size_t k = 4 * piece; k < std::min(bits_, 4 * piece + 4); ++k) {
          const double step = 2 * static_cast<double>(t[i * bits_ + k]);
          sum += (value >> (k - 4 * piece) & 1) != 0 ? -step : step;
        }
        tables[i].values[piece * 16 + value] = sum;
      }
    }
  }
}

void CodeScores::norms(const std::uint8_t* codes, std::size_t count, Scratch& scratch, double* norms) const {
  if (!view_) {
    std::fill_n(norms, count, 0.0);
    return;
  }
  if (view_->grouped()) {
    view_->group_norms(codes, count, norms);
  } else {
    gram_norms(codes, count, scratch, norms);
  }
  if (!std::all_of(norms, norms + count, [](double norm) { return std::isfinite(norm); })) {
    failure("the vectors that the model's decoder rebuilds are so large that their distances overflow");
  }
}

void CodeScores::gram_norms(const std::uint8_t* codes, std::size_t count, Scratch& scratch, double* norms) const {
  scratch.b.resize(bits_ * count);
  scratch.y.resize(bits_ * count);
  unpack_signs(codes, bits_, count, scratch.b.data());
  // G b as one chain of sums over b = +-1 for each entry: the same on every machine, alone and among others.
  multiply(*gram_, scratch.b.data(), count, bits_, scratch.y.data(), bits_);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < bits_; ++k) {
      sum += static_cast<double>(scratch.b[i * bits_ + k]) * static_cast<double>(scratch.y[i * bits_ + k]);
    }
    norms[i] = sum;
  }
}

}  // namespace bdnn
