#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bdnn {

// What makes a code near to a query.
enum class RankBy : std::uint8_t {
  hamming,         // the bits in which it differs from the query's code
  asymmetric,      // ||h - b||^2: the query's outputs before the sign, to the code
  reconstruction,  // ||q - (W b + c)||^2: the query itself, to the vector that the decoder rebuilds from the code
};
std::string_view name_of(RankBy rank);
RankBy rank_by_name(const std::string& name);  // an unknown name raises Error and lists the valid ones

}  // namespace bdnn
