// Every method with every profile of its own, for tests of what all of them owe.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "bdnn/methods.h"

namespace bdnn::testing {

struct Variant {
  std::string method;
  std::string profile = "default";
  std::map<std::string, std::string> set = {};

  // sdh, sdh:paper, sdh:loss=hinge
  std::string name() const {
    std::string text = method;
    if (profile != "default") text += ":" + profile;
    for (const auto& [option, value] : set) text += ":" + option + "=" + value;
    return text;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Variant& variant) { return out << variant.name(); }

// Besides profiles, options that take another way through the code of a method.
inline std::vector<Variant> all_variants() {
  std::vector<Variant> all;
  for (const auto& info : methods()) {
    all.push_back({info.name});
    for (const auto& profile : info.profiles) all.push_back({info.name, profile.name});
  }
  all.push_back({.method = "sdh", .set = {{"loss", "hinge"}}});
  all.push_back({.method = "lda-hash", .set = {{"projection", "dif"}}});
  return all;
}

// Options for a variant, with those of `brief` that the method has.
inline TrainOptions brief_options(const Variant& variant, std::size_t bits,
                                  const std::map<std::string, std::string>& brief) {
  TrainOptions options{.method = variant.method, .bits = bits, .profile = variant.profile, .set = variant.set};
  for (const auto& option : method_info(variant.method).options) {
    if (const auto found = brief.find(option.name); found != brief.end()) options.set.insert(*found);
  }
  return options;
}

// Names of tests have letters and digits only.
inline std::string letters_and_digits(std::string name) {
  std::erase_if(name, [](unsigned char c) { return std::isalnum(c) == 0; });
  return name;
}
inline std::string variant_name(const ::testing::TestParamInfo<Variant>& info) {
  return letters_and_digits(info.param.name());
}

}  // namespace bdnn::testing
