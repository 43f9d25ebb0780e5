// GIST of one image, beside the Gabor filters alone (the most of it) through FFTW; on one thread.
//
//     build/bench/bench/gist_bench
#include <fftw3.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <random>

#include "features/gist.h"
#include "timing.h"

namespace {

// The energies of 32 filters of a spectrum, without the border.
class Rival {
 public:
  Rival(std::size_t side, std::size_t border, unsigned planning)
      : side_(side), border_(border), n_(side + 2 * border), plane_(fftwf_alloc_complex(n_ * n_)) {
    const int n = static_cast<int>(n_);
    plan_ = fftwf_plan_dft_2d(n, n, plane_, plane_, FFTW_BACKWARD, planning);
    std::mt19937 engine(1);
    std::normal_distribution<float> normal;
    spectrum_.resize(2 * n_ * n_);
    for (float& value : spectrum_) value = normal(engine);
    for (std::size_t f = 0; f < 32; ++f) {
      for (std::size_t i = 0; i < n_ * n_; ++i) gains_.push_back(static_cast<float>(std::abs(normal(engine))));
    }
  }
  ~Rival() {
    fftwf_destroy_plan(plan_);
    fftwf_free(plane_);
  }
  Rival(const Rival&) = delete;
  Rival& operator=(const Rival&) = delete;

  float run() {
    float total = 0;
    for (std::size_t f = 0; f < 32; ++f) {
      const float* gains = gains_.data() + f * n_ * n_;
      for (std::size_t i = 0; i < n_ * n_; ++i) {
        plane_[i][0] = spectrum_[2 * i] * gains[i];
        plane_[i][1] = spectrum_[2 * i + 1] * gains[i];
      }
      fftwf_execute(plan_);
      for (std::size_t y = border_; y < border_ + side_; ++y) {
        for (std::size_t x = border_; x < border_ + side_; ++x) {
          const float* value = plane_[y * n_ + x];
          total += std::sqrt(value[0] * value[0] + value[1] * value[1]);
        }
      }
    }
    return total;
  }

 private:
  std::size_t side_;
  std::size_t border_;
  std::size_t n_;
  fftwf_complex* plane_;
  fftwf_plan plan_;
  std::vector<float> spectrum_;
  std::vector<float> gains_;
};

}  // namespace

int main() {
  fmt::print("{}; {}\n\n", bdnn::bench::machine(), fftwf_version);
  fmt::print("ms per image     ours, all of it   FFTW planned by rules   FFTW planned by trials   ours / FFTW\n");
  for (const std::size_t side : {32U, 64U, 128U, 256U}) {
    const bdnn::GistOptions options;
    const bdnn::Gist gist(options, side);
    bdnn::Gist::Scratch scratch;
    std::mt19937 engine(1);
    std::vector<float> grey(side * side);
    for (float& value : grey) value = static_cast<float>(engine() % 256);
    std::vector<float> features(gist.dimension());
    Rival by_rules(side, options.border, FFTW_ESTIMATE);
    Rival by_trials(side, options.border, FFTW_MEASURE);
    volatile float sink = 0;
    const auto times =
        bdnn::bench::best_times(15,
                                {[&] { gist.describe(grey.data(), scratch, features.data()); },
                                 [&] { sink = sink + by_rules.run(); }, [&] { sink = sink + by_trials.run(); }},
                                bdnn::bench::cpu_now);
    fmt::print("{:>3} x {:<3} {:>23.2f} {:>23.2f} {:>24.2f} {:>6.2f} and {:.2f}\n", side, side, 1e3 * times[0],
               1e3 * times[1], 1e3 * times[2], times[0] / times[1], times[0] / times[2]);
  }
}
