// How long a cancelled training can take to stop: the longest work between two places where it looks whether it was
// cancelled, on one thread, for every method.
//
//     cancellation_bench VECTORS LABELS BITS [METHOD]...
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bdnn/bdnn.h"
#include "timing.h"

namespace {

// CPU time, so that other programs lengthen it little. With one thread all calls come from that thread.
class Gaps final : public bdnn::Progress {
 public:
  void update(std::string_view stage, std::size_t, std::size_t) override {
    poll();
    stage_ = stage;
  }
  void round(const Round&) override { poll(); }
  void poll() override {
    const double time = bdnn::bench::cpu_now();
    if (time - last_ > longest) {
      longest = time - last_;
      after = stage_;
    }
    last_ = time;
  }

  double longest = 0;
  std::string after;  // the stage that was reported last before it

 private:
  double last_ = bdnn::bench::cpu_now();
  std::string stage_ = "start";
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: cancellation_bench VECTORS LABELS BITS [METHOD]...\n");
    return 2;
  }
  try {
    const bdnn::Vectors x = bdnn::load_vectors(argv[1]);
    const auto labels = bdnn::load_labels(argv[2]);
    std::vector<std::string> names(argv + 4, argv + argc);
    if (names.empty()) {
      for (const auto& method : bdnn::methods()) names.push_back(method.name);
    }
    fmt::print("{}\n{} x {}, {} bits, CPU seconds on one thread\n", bdnn::bench::machine(), x.size(), x.dimension(),
               argv[3]);
    fmt::print("{:12} {:>8}  {:>11}  after\n", "method", "training", "longest gap");
    double worst = 0;
    for (const auto& name : names) {
      bdnn::TrainOptions options{.method = name, .bits = std::stoul(argv[3]), .threads = 1};
      if (bdnn::method_info(name).supervised) options.labels = labels;
      const double start = bdnn::bench::cpu_now();
      Gaps gaps;
      bdnn::train(x, options, gaps);
      gaps.poll();
      fmt::print("{:12} {:8.2f}  {:11.2f}  {}\n", name, bdnn::bench::cpu_now() - start, gaps.longest, gaps.after);
      std::fflush(stdout);
      worst = std::max(worst, gaps.longest);
    }
    fmt::print("longest of all: {:.2f} s\n", worst);
  } catch (const std::exception& error) {
    fmt::print(stderr, "cancellation_bench: {}\n", error.what());
    return 1;
  }
}
