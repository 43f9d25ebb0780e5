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
  EXPECT_BDNN_ERROR(top.text("seed"), failure, "p.toml: line 5: 'seed' is to be a text");
  EXPECT_BDNN_ERROR(top.flag("name"), failure, "line 2: 'name' is to be true or false");
  EXPECT_BDNN_ERROR(top.numbers("on"), failure, "'on' is to be numbers");
  EXPECT_BDNN_ERROR(top.table("bits"), failure, "'bits' is to be a table");
  EXPECT_BDNN_ERROR(top.tables("part"), failure, "each written as [[part]]");
  EXPECT_BDNN_ERROR(top.refuse_unknown(), failure, "there is no 'percent' at the top; there are");
  EXPECT_BDNN_ERROR(TomlTable::parse("a = ", "p.toml"), failure, "p.toml: line 1: ");
  TomlTable negative = TomlTable::parse("seed = -1\nlimit = inf", "p.toml");
  EXPECT_BDNN_ERROR(negative.count("seed", 0), failure, "'seed' is to be a whole number, 0 or more");
  EXPECT_BDNN_ERROR(negative.numbers("limit"), failure, "'limit' is to be numbers");
}

}  // namespace
}  // namespace bdnn
