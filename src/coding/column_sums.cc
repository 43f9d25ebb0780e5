#include "coding/column_sums.h"

#include <array>

#include "base/simd_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "coding/column_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bdnn::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
constexpr std::size_t kChains = 8;
using Doubles = hn::CappedTag<double, kChains>;
using Floats = hn::Rebind<float, Doubles>;

double squared_sum(const float* const* columns, std::size_t count, std::size_t dimension) {
  const Doubles dd;
  const Floats df;
  constexpr std::size_t kLanes = hn::MaxLanes(Doubles());
  constexpr std::size_t kParts = kChains / kLanes;
  hn::Vec<Doubles> squares[kParts];
  for (auto& part : squares) part = hn::Zero(dd);
  std::size_t k = 0;
  for (; k + kChains <= dimension; k += kChains) {
    for (std::size_t part = 0; part < kParts; ++part) {
      auto sum = hn::Zero(df);
      for (std::size_t i = 0; i < count; ++i) sum = hn::Add(sum, hn::LoadU(df, columns[i] + k + part * kLanes));
      const auto wide = hn::PromoteTo(dd, sum);
      squares[part] = hn::Add(squares[part], hn::Mul(wide, wide));  // the product has no rounding
    }
  }
  std::array<double, kChains> chains;
  for (std::size_t part = 0; part < kParts; ++part) hn::StoreU(squares[part], dd, chains.data() + part * kLanes);
  for (std::size_t chain = 0; k < dimension; ++k, ++chain) {
    float sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += columns[i][k];
    chains[chain] += static_cast<double>(sum) * static_cast<double>(sum);
  }
  double total = 0;
  for (const double chain : chains) total += chain;
  return total;
}

}  // namespace
}  // namespace bdnn::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace bdnn {
namespace {
HWY_EXPORT(squared_sum);
}  // namespace

double norm_of_sum(const float* const* columns, std::size_t count, std::size_t dimension) {
  choose_simd_target();
  return HWY_DYNAMIC_DISPATCH(squared_sum)(columns, count, dimension);
}

}  // namespace bdnn
#endif  // HWY_ONCE
