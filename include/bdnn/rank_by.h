// The distance of a query to a code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bdnn {

// The distance by which codes are ranked.
enum class RankBy : std::uint8_t {
  hamming,         // number of bits in which it differs from the query's code
  spherical,       // that number divided by the number of bits set in both (bdnn/spherical.h)
  asymmetric,      // ||h - b||^2: from the query's outputs before the sign to the code
  reconstruction,  // ||q - (W b + c)||^2: from the query to the vector that the decoder rebuilds
};
inline constexpr RankBy kAllRanks[] = {RankBy::hamming, RankBy::spherical, RankBy::asymmetric, RankBy::reconstruction};
std::string_view name_of(RankBy rank);
RankBy rank_by_name(const std::string& name);  // an unknown name raises Error and lists the valid ones

// Whether queries are compared as codes; the other distances need query vectors and a model.
constexpr bool compares_codes(RankBy rank) { return rank == RankBy::hamming || rank == RankBy::spherical; }

}  // namespace bdnn
