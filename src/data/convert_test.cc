#include "data/convert.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "data/element.h"
#include "expect_error.h"
#include "temporary_directory.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

template <class From, class To>
To convert_one(From from, Element from_element, Element to_element) {
  To to{};
  convert_elements(from_element, reinterpret_cast<const std::byte*>(&from), 1, to_element,
                   reinterpret_cast<std::byte*>(&to), 4, 1);
  return to;
}

TEST(Convert, KeepsWhatFitsAndRefusesWhatDoesNot) {
  EXPECT_EQ((convert_one<float, std::uint8_t>(255.0F, Element::f32, Element::u8)), 255);
  EXPECT_EQ((convert_one<std::uint8_t, float>(255, Element::u8, Element::f32)), 255.0F);
  EXPECT_EQ((convert_one<double, float>(0.1, Element::f64, Element::f32)), 0.1F);  // reals are rounded
  EXPECT_EQ((convert_one<std::int64_t, double>(INT64_MIN, Element::i64, Element::f64)), -0x1p63);
  EXPECT_EQ((convert_one<double, std::int64_t>(-0x1p63, Element::f64, Element::i64)), INT64_MIN);
  EXPECT_BDNN_ERROR((convert_one<float, std::uint8_t>(0.5F, Element::f32, Element::u8)), failure,
                    "0.5 in row 4, column 0 cannot be kept as u8");
  EXPECT_THROW((convert_one<float, std::uint8_t>(256.0F, Element::f32, Element::u8)), Error);
  EXPECT_THROW((convert_one<float, std::uint8_t>(-1.0F, Element::f32, Element::u8)), Error);
  EXPECT_THROW((convert_one<float, std::int32_t>(std::nanf(""), Element::f32, Element::i32)), Error);
  EXPECT_THROW((convert_one<double, std::int64_t>(0x1p63, Element::f64, Element::i64)), Error);
  EXPECT_THROW((convert_one<double, float>(1e300, Element::f64, Element::f32)), Error);
  EXPECT_THROW((convert_one<std::int8_t, std::uint8_t>(-1, Element::i8, Element::u8)), Error);
  EXPECT_THROW((convert_one<std::int64_t, std::uint64_t>(-1, Element::i64, Element::u64)), Error);
  EXPECT_THROW((convert_one<std::uint64_t, std::int64_t>(UINT64_MAX, Element::u64, Element::i64)), Error);
  EXPECT_THROW((convert_one<std::int64_t, float>(INT64_MAX, Element::i64, Element::f32)), Error);
  EXPECT_THROW((convert_one<std::int32_t, float>((1 << 24) + 1, Element::i32, Element::f32)), Error);
  EXPECT_THROW((convert_one<float, std::uint16_t>(65536.0F, Element::f32, Element::f16)), Error);
}

RC_GTEST_PROP(ConvertProperty, WhatAWiderTypeHoldsComesBack, ()) {
  const auto value = *rc::gen::arbitrary<std::int16_t>();
  for (const Element wide : {Element::f32, Element::f64, Element::i32, Element::i64}) {
    RC_ASSERT(holds_all(wide, Element::i16));
    std::byte there[8];
    std::int16_t back = 0;
    convert_elements(Element::i16, reinterpret_cast<const std::byte*>(&value), 1, wide, there, 0, 1);
    convert_elements(wide, there, 1, Element::i16, reinterpret_cast<std::byte*>(&back), 0, 1);
    RC_ASSERT(back == value);
  }
}

TEST(Convert, WhichTypeHoldsWhich) {
  EXPECT_TRUE(holds_all(Element::f32, Element::u16));
  EXPECT_FALSE(holds_all(Element::f32, Element::i32));
  EXPECT_TRUE(holds_all(Element::f64, Element::u32));
  EXPECT_FALSE(holds_all(Element::f64, Element::i64));
  EXPECT_FALSE(holds_all(Element::u16, Element::i8));
  EXPECT_TRUE(holds_all(Element::i16, Element::u8));
  EXPECT_TRUE(holds_all(Element::f32, Element::f16));
  EXPECT_FALSE(holds_all(Element::i64, Element::f16));
}

TEST(Half, EveryOneComesBackFromFloat) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Half half{static_cast<std::uint16_t>(bits)};
    const auto value = static_cast<float>(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Half::from(value))));
    } else {
      ASSERT_EQ(Half::from(value).bits, half.bits) << bits;
    }
  }
}

TEST(Half, KnownValuesAndRounding) {
  EXPECT_EQ(static_cast<float>(Half{0x3c00}), 1.0F);
  EXPECT_EQ(static_cast<float>(Half{0xc000}), -2.0F);
  EXPECT_EQ(static_cast<float>(Half{0x7bff}), 65504.0F);
  EXPECT_EQ(static_cast<float>(Half{0x0001}), 0x1p-24F);
  EXPECT_EQ(Half::from(1.0F + 0x1p-11F).bits, 0x3c00);      // a tie goes to even
  EXPECT_EQ(Half::from(1.0F + 3 * 0x1p-11F).bits, 0x3c02);  // likewise
  EXPECT_EQ(Half::from(1.0F + 0x1p-11F + 0x1p-20F).bits, 0x3c01);
  EXPECT_EQ(Half::from(65520.0F).bits, 0x7c00);
  EXPECT_EQ(Half::from(0x1p-25F).bits, 0x0000);
  EXPECT_EQ(Half::from(0x1.8p-25F).bits, 0x0001);
}

TEST(SaveVectors, ComesBackFromEveryFormatInATypeThatHoldsIt) {
  const TemporaryDirectory folder;
  const std::vector<float> values = {0, 1, 2.5, -3, 1e30F, 7};
  const Vectors x(2, 3, values);
  for (const char* name : {"x.fvecs", "x.npy", "x.hdf5", "x.mat", "x.csv"}) {
    save_vectors(x, folder / name);
    const Vectors back = load_vectors(folder / name);
    ASSERT_EQ(back.dimension(), 2U) << name;
    ASSERT_EQ(back.size(), 3U) << name;
    std::vector<float> scratch(values.size());
    const float* floats = back.floats(0, 3, scratch.data());
    EXPECT_EQ(std::vector<float>(floats, floats + values.size()), values) << name;
  }
  EXPECT_BDNN_ERROR(save_vectors(x, folder / "x.bvecs"), failure, "2.5 in row 1, column 0 cannot be kept as u8");
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 255};
  save_vectors(Vectors::view(bytes.data(), 2, 2), folder / "u.bvecs");
  EXPECT_EQ(load_vectors(folder / "u.bvecs").shape().element, Element::u8);
}

TEST(ConvertFile, ChoosesATypeThatHoldsTheValues) {
  const TemporaryDirectory directory;
  const std::vector<std::int64_t> labels = {1, 2, 3};
  save_labels(labels, directory / "y.npy");
  EXPECT_EQ(convert_file(directory / "y.npy", directory / "y.fvecs", {}).element, Element::f32);
  EXPECT_EQ(convert_file(directory / "y.fvecs", directory / "y.bvecs", {}).element, Element::u8);
  EXPECT_EQ(load_labels(directory / "y.bvecs"), labels);
  EXPECT_BDNN_ERROR(convert_file(directory / "y.npy", directory / "z.fvecs", {Element::f64, {}}), misuse,
                    "f64 cannot be kept in this format, only f32");
  EXPECT_BDNN_ERROR(convert_file(directory / "y.npy", directory / "z.what", {}), misuse, "known names end in");
  EXPECT_FALSE(std::filesystem::exists(directory / "z.fvecs"));
}

}  // namespace
}  // namespace bdnn
