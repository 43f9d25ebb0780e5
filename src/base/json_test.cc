#include "base/json.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "expect_error.h"

namespace bdnn {
namespace {

TEST(Json, WritesMembersInTheirOrder) {
  Json json = {{"z", 1}, {"a", Json::array(std::array{1.5, 2.0})}, {"none", Json()}};
  json.add("text", "say \"hi\"\n");
  json.add("map", std::map<std::string, std::string>{{"y", "2"}, {"x", "1"}});
  EXPECT_EQ(json.text(), R"({"z":1,"a":[1.5,2.0],"none":null,"text":"say \"hi\"\n","map":{"x":"1","y":"2"}})");
  EXPECT_EQ(Json::object().text(), "{}");
  EXPECT_EQ(Json({{"b", "[\"{,:"}, {"a", Json::array()}, {"l", Json::array(std::array{1, 2})}}).indented_text(),
            "{\n  \"b\": \"[\\\"{,:\",\n  \"a\": [],\n  \"l\": [\n    1,\n    2\n  ]\n}");
}

TEST(Json, WritesNumbersThatReadBackAsTheSame) {
  for (const double value : {0.1, 1.0 / 3, -1e-300, 123456789.0, 5e-324}) {
    EXPECT_EQ(JsonValue::parse(Json(value).text()).as_number(), value);
  }
  EXPECT_EQ(Json(std::nan("")).text(), "null");
  EXPECT_EQ(Json(~std::uint64_t{0}).text(), "18446744073709551615");
  EXPECT_EQ(JsonValue::parse("18446744073709551615").as_whole(), ~std::uint64_t{0});
}

TEST(Json, ReplacesInvalidUtf8) { EXPECT_EQ(Json("a\xff").text(), "\"a\xef\xbf\xbd\""); }

TEST(JsonValue, TellsWhatAValueIs) {
  const JsonValue json =
      JsonValue::parse(R"({"whole": 3, "below": -3, "real": 2.5, "list": [1, 2], "text": "t", "none": null})");
  EXPECT_EQ(json["whole"].as_whole(), 3U);
  EXPECT_EQ(json["whole"].as_number(), 3.0);
  EXPECT_EQ(json["below"].as_whole(), std::nullopt);
  EXPECT_EQ(json["below"].as_number(), -3.0);
  EXPECT_EQ(json["real"].as_whole(), std::nullopt);
  EXPECT_EQ(json.numbers_at("list"), (std::vector<double>{1, 2}));
  EXPECT_EQ(*json["text"].as_string(), "t");
  EXPECT_TRUE(json["none"].is_null());
  EXPECT_TRUE(json["absent"]["deeper"].is_null());
  ASSERT_NE(json.as_object(), nullptr);
  EXPECT_EQ(json.as_object()->front().first, "whole");
}

TEST(JsonValue, TakesTheLastOfTwoMembersWithOneName) {
  EXPECT_EQ(JsonValue::parse(R"({"a": 1, "a": 2})").whole_at("a"), 2U);
}

TEST(JsonValue, ErrorsNameTheMember) {
  const JsonValue json = JsonValue::parse(R"({"bits": "many", "size": 4294967296, "list": [1, null]})");
  EXPECT_BDNN_ERROR(json.whole_at("bits"), failure, "'bits' must be a whole number, 0 or more");
  EXPECT_BDNN_ERROR(json.int_at("size"), failure, "'size' is 4294967296, which is too large");
  EXPECT_BDNN_ERROR(json.numbers_at("list"), failure, "'list' must be a list of numbers");
  EXPECT_BDNN_ERROR(json.string_at("list"), failure, "'list' must be a string");
  EXPECT_BDNN_ERROR(json.array_at("none"), failure, "'none' is missing");
  EXPECT_BDNN_ERROR(json.at("bits").at("x"), failure, "'x' is missing");
}

TEST(JsonValue, RefusesWhatIsNotJson) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "1 2", "\"\xff\"", "1e999"}) {
    EXPECT_BDNN_ERROR(JsonValue::parse(text), failure, "is not valid JSON from byte ");
  }
  EXPECT_BDNN_ERROR(JsonValue::parse("[1, x]"), failure, "is not valid JSON from byte 5 on");
  EXPECT_EQ(JsonValue::parse("[[[[[[[[1]]]]]]]]").as_array()->size(), 1U);
  EXPECT_BDNN_ERROR(JsonValue::parse(std::string(100000, '[')), failure, "is nested too deep");
}

}  // namespace
}  // namespace bdnn
