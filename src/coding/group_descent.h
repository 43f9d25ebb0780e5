// The B step where the decoder reads bits in groups: codes by choosing the value of one group at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "codes/bit_groups.h"
#include "linalg/aligned.h"
#include "linalg/matrix.h"

namespace bdnn {

// The best number of samples per call: their q, of many columns, should stay in the cache.
inline constexpr std::size_t kSamplesPerGroupTile = 56;

// Lowers, for each of `count` samples on its own, ||x - sum of the chosen columns||^2 - 2 p^T b over the values of the
// groups. Groups are taken in turn, each gets its best value given the others, until nothing changes or `sweeps` turns
// are over; a value stays unless another is better by more than rounding. Numbers that are not finite leave a code as
// it is.
//
// `local_search` rounds follow: each puts random values into a few groups, descends from there, and keeps the better
// code. The same random values are used for every sample, so a code does not depend on other samples.
class GroupDescent {
 public:
  // Working memory, to be kept between calls. Not shared by threads.
  struct Scratch {
    AlignedBuffer<float> floats;
    std::vector<std::uint32_t> chosen;
  };

  // `columns` is D x groups.columns(): what each value of each group stands for.
  GroupDescent(const BitGroups& groups, const MatrixXf& columns, int sweeps, int local_search = 0);

  // q, groups.columns() x count, has columns^T x, plus any other preference for a value (p^T b). The codes, one after
  // the other, are those to start from, and receive the result.
  void run(const float* q, std::size_t count, std::uint8_t* codes, Scratch& scratch) const;
  void run(const float* q, std::size_t count, std::uint8_t* codes) const;

 private:
  BitGroups groups_;
  std::size_t stride_;
  int sweeps_;
  std::size_t changes_;               // per round of the local search
  std::vector<std::uint32_t> kicks_;  // the columns of the values that the rounds begin with
  std::vector<float> least_gains_;    // smaller gains are rounding: of a change in each group, and of a whole code
  std::vector<float> norms_;          // of the columns
  AlignedBuffer<float> pull_;         // 2 columns^T columns, zero within a group; columns stride_ apart
};

}  // namespace bdnn
