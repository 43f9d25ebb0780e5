#include "methods/uh_bdnn/uh_bdnn.h"

#include "methods/binary_network/binary_network.h"
#include "methods/uh_bdnn/reconstruction.h"

namespace bdnn {
namespace {

struct UhBdnnOptions : BinaryNetworkOptions {
  CodeStart code_start = CodeStart::outputs;
  int sweeps = 100;            // of the B step at most
  double code_lambda2 = 0.05;  // lambda2 in the B step

  UhBdnnOptions() {
    alternation.lambdas = {1e-5, 5e-2, 1e-2, 1e-6};
    alternation.iterations = 3;
    alternation.first_adam.epochs = 10;
    alternation.adam.epochs = 5;
  }
};

// The paper's settings and, where it is silent, its authors'.
UhBdnnOptions paper_profile() {
  UhBdnnOptions options;
  options.spread = 0;
  options.alternation.solver = Solver::lbfgs;
  options.alternation.iterations = 10;
  options.alternation.lambdas = {1e-5, 5e-2, 1e-2, 1e-6};
  options.code_start = CodeStart::zero;
  options.sweeps = 10;
  return options;
}

Layer decoder_layer(const Decoder& decoder, const Scaling& scaling) {
  // x = (W b + c) / factor + offset
  Layer layer;
  layer.outputs = static_cast<std::size_t>(decoder.w.rows());
  layer.inputs = static_cast<std::size_t>(decoder.w.cols());
  layer.weight.resize(layer.inputs * layer.outputs);
  using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Map<RowMajor>(layer.weight.data(), decoder.w.rows(), decoder.w.cols()) =
      (decoder.w.cast<double>() / scaling.factor).cast<float>();
  const VectorXf bias = (decoder.c.cast<double>() / scaling.factor + scaling.offset).cast<float>();
  layer.bias.assign(bias.begin(), bias.end());
  return layer;
}

Trained train_uh_bdnn(const TrainingTask& task, const UhBdnnOptions& options) {
  const std::size_t dimension = task.x.dimension();
  const auto make_step = [&](const TrainingSet&, std::span<const std::int64_t>) {
    return std::make_unique<Reconstruction>(task.bits, dimension, options.alternation.lambdas.weights,
                                            options.code_lambda2, options.code_start, options.sweeps, task.threads);
  };
  const TrainedBinaryNetwork trained = train_binary_network(task, options, make_step);
  const auto kept = make_step({task.x, {}, {}}, {});
  kept->restore(trained.state);
  return {trained.network, decoder_layer(kept->decoder(), trained.scaling), trained.outcome};
}

}  // namespace

Method uh_bdnn_method() {
  auto options = binary_network_options<UhBdnnOptions>();
  options.push_back(word_option("code_start", "where the B step starts: from zero, or from the signs of the outputs",
                                &UhBdnnOptions::code_start, {"zero", "outputs"}));
  options.push_back(integer_option("sweeps", "turns over the bits in a B step at most", &UhBdnnOptions::sweeps, 1, 1000000));
  options.push_back(real_option_at<UhBdnnOptions>(
      "code_lambda2", "lambda2 in the B step", [](auto& o) -> auto& { return o.code_lambda2; }, 0, 1e12));
  return make_method<UhBdnnOptions>(
      {.name = "uh-bdnn",
       .summary = "a deep network whose codes rebuild the samples",
       .reference = "Do, Doan and Cheung, Learning to hash with binary deep neural network, ECCV 2016",
       .options = std::move(options),
       .profiles = {{"paper", "the paper's settings and, where it is silent, its authors'", paper_profile()}},
       .resumable = true,
       .train = train_uh_bdnn});
}

}  // namespace bdnn
