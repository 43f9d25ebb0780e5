#include "base/simd_target.h"

#include <hwy/targets.h>

#include <cstdlib>

#include "base/error.h"

namespace bdnn {
namespace {

// The targets compiled in and supported here. A lower bit is a better target.
std::int64_t available() { return hwy::SupportedTargets() & HWY_TARGETS; }

std::int64_t target_by_name(const std::string& name) {
  std::string names;
  for (std::int64_t left = available(); left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    if (name == hwy::TargetName(target)) return target;
    names += (names.empty() ? "" : ", ") + std::string(hwy::TargetName(target));
  }
  misuse("BDNN_TARGET={} is not available; this machine and build have {}", name, names);
}

void use(std::int64_t target) {
  // Kernels that have no use for what AVX3_DL adds are compiled for AVX3 (src/CMakeLists.txt).
  hwy::SetSupportedTargetsForTest(target == HWY_AVX3_DL ? HWY_AVX3_DL | HWY_AVX3 : target);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

// Highway forgets what a forced target hides, so it is asked once.
std::int64_t chosen() {
  static const std::int64_t target = [] {
    const char* wanted = std::getenv("BDNN_TARGET");
    if (wanted == nullptr || *wanted == '\0') return available() & -available();
    const std::int64_t forced = target_by_name(wanted);
    use(forced);
    return forced;
  }();
  return target;
}

}  // namespace

void choose_simd_target() { chosen(); }

std::string simd_target() {
  chosen();
  const std::int64_t targets = available();
  return hwy::TargetName(targets & -targets);
}

std::vector<std::string> simd_targets() {
  std::vector<std::string> names;
  for (std::int64_t left = available(); left != 0; left &= left - 1) names.emplace_back(hwy::TargetName(left & -left));
  return names;
}

void force_simd_target(const std::string& name) {
  const std::int64_t default_target = chosen();
  hwy::SetSupportedTargetsForTest(0);  // all that the machine has
  use(name.empty() ? default_target : target_by_name(name));
}

}  // namespace bdnn
