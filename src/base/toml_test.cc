#include "base/toml.h"

#include <gtest/gtest.h>

#include "expect_error.h"

namespace bdnn {
namespace {

constexpr const char* kText = R"(
name = "n"
on = true
bits = [8, 16]
seed = 3
percent = [1, 2.5]
[part]
file = "f"
[[row]]
label = "a"
[[row]]
label = "b"
)";

TEST(TomlTable, ReadsValuesListsAndTables) {
  TomlTable top = TomlTable::parse(kText, "p.toml");
  EXPECT_EQ(top.text("name"), "n");
  EXPECT_EQ(top.flag("on"), true);
  EXPECT_EQ(top.counts("bits", {}), (std::vector<std::size_t>{8, 16}));
  EXPECT_EQ(top.counts("seed", {}), std::vector<std::size_t>{3});
  EXPECT_EQ(top.counts("none", {7}), std::vector<std::size_t>{7});
  EXPECT_EQ(top.numbers("percent"), (std::vector<double>{1, 2.5}));
  EXPECT_EQ(top.table("part").text("file"), "f");
  EXPECT_FALSE(top.table("missing").exists());
  auto rows = top.tables("row");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].text("label"), "b");
  EXPECT_EQ(rows[0].keys(), std::vector<std::string>{"label"});
  top.refuse_unknown();
}

TEST(TomlTable, MistakesAreNamedWithTheirLine) {
  TomlTable top = TomlTable::parse(kText, "p.toml");
  EXPECT_BDNN_ERROR(top.text("seed"), failure, "p.toml: line 5: 'seed' must be a string");
  EXPECT_BDNN_ERROR(top.flag("name"), failure, "line 2: 'name' must be true or false");
  EXPECT_BDNN_ERROR(top.numbers("on"), failure, "'on' must be numbers");
  EXPECT_BDNN_ERROR(top.table("bits"), failure, "'bits' must be a table");
  EXPECT_BDNN_ERROR(top.tables("part"), failure, "each written as [[part]]");
  EXPECT_BDNN_ERROR(top.refuse_unknown(), failure, "unknown key 'percent' at the top; the keys are");
  EXPECT_BDNN_ERROR(TomlTable::parse("a = ", "p.toml"), failure, "p.toml: line 1: ");
  EXPECT_BDNN_ERROR(TomlTable::parse("[=]", "p.toml"), failure, "p.toml: line 1: ");
  EXPECT_BDNN_ERROR(TomlTable::parse("\xc3\xa4 = 1", "p.toml"), failure, "p.toml: line 1: ");
  TomlTable negative = TomlTable::parse("seed = -1\nlimit = inf", "p.toml");
  EXPECT_BDNN_ERROR(negative.count("seed", 0), failure, "'seed' must be a whole number, 0 or more");
  EXPECT_BDNN_ERROR(negative.numbers("limit"), failure, "'limit' must be numbers");
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

TEST(TomlTable, DepthIsBounded) {
  // Each would take a frame of the stack per level, and end the program.
  const std::string deep = repeated("a.", 100'000) + "a";
  EXPECT_BDNN_ERROR(TomlTable::parse("x = 1\n" + deep + " = 1", "p.toml"), failure,
                    "p.toml: line 2: has more than 250");
  EXPECT_BDNN_ERROR(TomlTable::parse("[" + deep + "]", "p.toml"), failure, "line 1: has more than 250 dots");
  EXPECT_BDNN_ERROR(TomlTable::parse("x = " + repeated("[", 100'000), "p.toml"), failure, "p.toml: line 1: ");
  // The deepest that is left.
  const std::string level = repeated("a.", 240) + "a = [\n{";
  EXPECT_BDNN_ERROR(TomlTable::parse(repeated(level, 100), "p.toml"), failure, "p.toml: line ");
  TomlTable::parse("[" + repeated("a.", 240) + "a]\n" + repeated(level, 7) + "b = 1" + repeated("}]", 7), "p.toml");
}

}  // namespace
}  // namespace bdnn
