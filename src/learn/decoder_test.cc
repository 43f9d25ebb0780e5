#include "learn/decoder.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace bdnn {
namespace {

struct Case {
  MatrixXf x;
  MatrixXf b;
  DecoderSums sums;
};

Case random_case(Eigen::Index dimension, Eigen::Index bits, Eigen::Index samples) {
  Random random(5);
  Case made{MatrixXf(dimension, samples), MatrixXf(bits, samples),
            DecoderSums(static_cast<std::size_t>(bits), static_cast<std::size_t>(dimension))};
  for (float& v : made.x.reshaped()) v = static_cast<float>(3 + random.normal());
  for (float& v : made.b.reshaped()) v = random.below(3) == 0 ? -1.0F : 1.0F;
  DecoderPartialSums partial(static_cast<std::size_t>(bits), static_cast<std::size_t>(dimension));
  partial.add(made.x.data(), made.b.data(), static_cast<std::size_t>(samples));
  partial.add_to(made.sums);
  return made;
}

double objective(const Case& made, const MatrixXd& w, const VectorXd& c, double lambda1) {
  const MatrixXd rest = made.x.cast<double>() - ((w * made.b.cast<double>()).colwise() + c);
  return rest.squaredNorm() / (2 * static_cast<double>(made.x.cols())) + lambda1 / 2 * w.squaredNorm();
}

TEST(Decoder, HasZeroGradient) {
  const double lambda1 = 0.02;
  const Case made = random_case(7, 5, 400);
  const Decoder decoder = fit_decoder(made.sums, lambda1);
  const MatrixXd w = decoder.w.cast<double>();
  const VectorXd c = decoder.c.cast<double>();
  // The paper's gradients, with respect to W^(n-1) and c^(n-1).
  const MatrixXd rest = made.x.cast<double>() - ((w * made.b.cast<double>()).colwise() + c);
  const double m = static_cast<double>(made.x.cols());
  const MatrixXd dw = -rest * made.b.cast<double>().transpose() / m + lambda1 * w;
  const VectorXd dc = -rest.rowwise().sum() / m;
  EXPECT_LT(dw.cwiseAbs().maxCoeff(), 3e-6);
  EXPECT_LT(dc.cwiseAbs().maxCoeff(), 3e-6);
  // And finite differences agree that it is a minimum.
  for (Eigen::Index i = 0; i < w.size(); i += 3) {
    MatrixXd moved = w;
    moved.reshaped()[i] += 1e-3;
    EXPECT_GT(objective(made, moved, c, lambda1), objective(made, w, c, lambda1));
  }
}

TEST(Decoder, ErrorIsTheReconstructionTerm) {
  const Case made = random_case(6, 4, 300);
  const Decoder decoder = fit_decoder(made.sums, 1e-3);
  EXPECT_NEAR(reconstruction_error(made.sums, decoder),
              objective(made, decoder.w.cast<double>(), decoder.c.cast<double>(), 0), 1e-5);
}

TEST(Decoder, BitsThatSayNothingDoNoHarm) {
  Case made = random_case(5, 3, 200);
  made.b.row(2) = made.b.row(0);  // twice the same
  made.b.row(1).setOnes();        // never changes
  DecoderPartialSums partial(3, 5);
  partial.add(made.x.data(), made.b.data(), 200);
  DecoderSums sums(3, 5);
  partial.add_to(sums);
  const Decoder decoder = fit_decoder(sums, 0);
  EXPECT_TRUE(decoder.w.allFinite());
  EXPECT_LT(decoder.w.cwiseAbs().maxCoeff(), 10);
}

}  // namespace
}  // namespace bdnn
