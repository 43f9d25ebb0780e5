#include "report/plot.h"

#include <gtest/gtest.h>

namespace bdnn {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Plot example() {
  Plot plot{.title = "T", .x_label = "bits", .y_label = "mAP", .x_ticks = {8, 16, 32}};
  plot.series = {{"a", 0, {{8, 10, 9, 11, "a at 8"}, {16, 20, 20, 20, "a at 16"}, {32, 40, 40, 40, "a at 32"}}},
                 {"b", 1, {{8, 5, 5, 5, "b at 8"}, {32, 50, 50, 50, "b at 32"}}},
                 {"none", 2, {}}};
  return plot;
}

TEST(Plot, HasACurveForEverySeriesAndAPointForEveryValue) {
  for (const std::string& svg : {inline_svg(example()), standalone_svg(example())}) {
    EXPECT_EQ(count(svg, "<g class=\"series "), 2U);
    EXPECT_EQ(count(svg, "data-series=\"a\""), 1U);
    EXPECT_EQ(count(svg, "<g class=\"point\""), 5U);
    EXPECT_EQ(count(svg, "<title>a at 16</title>"), 1U);
    EXPECT_EQ(count(svg, "class=\"whisker\""), 1U);
    EXPECT_EQ(count(svg, "<svg"), count(svg, "</svg>"));
  }
  EXPECT_EQ(inline_svg(example()), inline_svg(example()));
  EXPECT_EQ(count(inline_svg(example()), "http"), 0U);
  EXPECT_EQ(count(standalone_svg(example()), ">none</text>"), 1U) << "the legend names every series";
}

TEST(Plot, PlacesPointsInProportion) {
  Plot plot = example();
  plot.series = {{"a", 0, {{8, 0, 0, 0, ""}, {20, 5, 0, 0, ""}, {32, 10, 0, 0, ""}}}};
  plot.x_ticks = {8, 20, 32};
  const std::string svg = inline_svg(plot);
  std::vector<double> x;
  std::vector<double> y;
  for (std::size_t at = svg.find("data-x=\""); at != std::string::npos; at = svg.find("data-x=\"", at + 1)) {
    x.push_back(std::stod(svg.substr(at + 8)));
    y.push_back(std::stod(svg.substr(svg.find("data-y=\"", at) + 8)));
  }
  ASSERT_EQ(x.size(), 3U);
  EXPECT_LT(x[0], x[1]);
  EXPECT_NEAR(x[1] - x[0], x[2] - x[1], .02);
  EXPECT_GT(y[0], y[1]);  // upwards
  EXPECT_NEAR(y[0] - y[1], y[1] - y[2], .02);
  plot.x_ticks = {8, 16, 64, 128};  // doubling: spaced by the logarithm
  plot.series[0].points = {{8, 1, 0, 0, ""}, {32, 1, 0, 0, ""}, {128, 1, 0, 0, ""}};
  EXPECT_NE(inline_svg(plot).find("data-x=\""), std::string::npos);
}

TEST(Plot, EscapesEveryText) {
  const std::string bad = "<script>alert(\"1\" & '2')</script>\x01";
  Plot plot{.title = bad, .x_label = bad, .y_label = bad, .x_ticks = {1}};
  plot.series = {{bad, 9, {{1, 2, 1, 3, bad}}}};
  for (const std::string& svg : {inline_svg(plot), standalone_svg(plot)}) {
    EXPECT_EQ(count(svg, "<script"), 0U);
    EXPECT_EQ(count(svg, "\"1\""), 0U);
    EXPECT_EQ(count(svg, "\x01"), 0U);
    EXPECT_GE(count(svg, "&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)"), 3U);
  }
}

TEST(Plot, WithoutValuesHasAxesOnly) {
  Plot plot{.title = "", .x_label = "x", .y_label = "y"};
  EXPECT_EQ(count(inline_svg(plot), "series"), 0U);
  EXPECT_EQ(inline_svg(plot).find("nan"), std::string::npos);
  plot.series = {{"a", 0, {{0, 0, 0, 0, ""}}}};
  EXPECT_EQ(inline_svg(plot).find("nan"), std::string::npos);
  EXPECT_EQ(inline_svg(plot).find("inf"), std::string::npos);
}

}  // namespace
}  // namespace bdnn
