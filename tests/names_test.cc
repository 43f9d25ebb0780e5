#include "base/names.h"

#include <gtest/gtest.h>

#include "bdnn/bdnn.h"
#include "expect_error.h"

namespace bdnn {
namespace {

template <class Value, std::size_t count>
void expect_round_trip(const Value (&values)[count], Value (*by_name)(const std::string&)) {
  for (const Value value : values) EXPECT_EQ(by_name(std::string(name_of(value))), value) << name_of(value);
}

TEST(Names, OfEveryEnumeratorLeadBackToIt) {
  expect_round_trip(kAllTies, ties_by_name);
  expect_round_trip(kMetrics, metric_by_name);
  expect_round_trip(kAllRanks, rank_by_name);
  expect_round_trip(kAllPlans, plan_by_name);
  expect_round_trip(kAllTables, tables_by_name);
}

TEST(Names, AnUnknownOneIsToldTheOthers) {
  EXPECT_BDNN_ERROR(ties_by_name("x"), misuse, "unknown rule for ties 'x'; choose expected, order, best or worst");
  EXPECT_BDNN_ERROR(metric_by_name(""), misuse, "unknown metric ''; choose euclidean or cosine");
  EXPECT_BDNN_ERROR(rank_by_name("x"), misuse,
                    "unknown ranking 'x'; choose hamming, spherical, asymmetric or reconstruction");
  EXPECT_BDNN_ERROR(plan_by_name("x"), misuse, "unknown plan of search 'x'; choose automatic, scan, mih or bucket");
  EXPECT_BDNN_ERROR(tables_by_name("x"), misuse, "unknown choice of tables 'x'; choose automatic, always or never");
}

TEST(Names, InARow) {
  EXPECT_EQ(in_a_row({}), "");
  EXPECT_EQ(in_a_row({"a"}), "a");
  EXPECT_EQ(in_a_row({"a", "b"}), "a and b");
  EXPECT_EQ(in_a_row({"a", "b", "c"}, "or"), "a, b or c");
}

}  // namespace
}  // namespace bdnn
