// What UH-BDNN and SH-BDNN promise as trainings: progress, selection, errors.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>

#include "base/files.h"
#include "bdnn/bdnn.h"
#include "expect_error.h"
#include "methods/binary_network/binary_network_testing.h"
#include "methods/uh_bdnn/reconstruction_term.h"
#include "model/model_file.h"
#include "temporary_directory.h"

namespace bdnn {
namespace {

using testing::clouds;
using testing::Labelled;
using testing::options_for;
using testing::Rounds;
using testing::TemporaryDirectory;
using testing::value;

class BinaryNetwork : public ::testing::TestWithParam<std::string> {};

TEST_P(BinaryNetwork, ReportsEveryRoundAndKeepsTheBest) {
  const Labelled data = clouds(5, 1500);
  Rounds progress;
  const Model model = train(data.x, options_for(GetParam(), data), progress);
  const int first = GetParam() == "uh-bdnn" ? -1 : 0;  // behind class heads the start is no candidate
  ASSERT_EQ(progress.rounds.size(), static_cast<std::size_t>(4 - first));
  std::size_t best = 0;
  for (std::size_t i = 0; i < progress.rounds.size(); ++i) {
    const auto& round = progress.rounds[i];
    EXPECT_EQ(value(round, "iteration"), static_cast<double>(i) + first);
    const double parts = value(round, GetParam() == "uh-bdnn" ? "reconstruction" : "pairs") + value(round, "weights") +
                         value(round, "binary") + value(round, "independence") + value(round, "balance");
    EXPECT_NEAR(value(round, "objective"), parts, 1e-9 * parts);
    const auto score = [&](std::size_t j) {
      const auto& of = progress.rounds[j];
      return value(of, "held_out_mAP") + (GetParam() == "sh-bdnn" ? value(of, "held_out_precision") : 0);
    };
    if (score(i) > score(best)) best = i;
  }
  const int iteration = static_cast<int>(best) + first;
  const std::string kept =
      iteration < 0 ? "the start is kept, no iteration was better" : fmt::format("iteration {} of 3 kept", iteration);
  EXPECT_TRUE(model.record.outcome.starts_with(kept + ", held-out mAP")) << model.record.outcome;
}

// Slow: threads share the work only from three blocks of 2,048 samples on, and the start looks at all of them.
TEST_P(BinaryNetwork, StartsFromARegressionWhereToldTo) {
  const Labelled data = clouds(4, 5000);
  TrainOptions options = options_for(GetParam(), data);
  options.set["path"] = "none";
  options.set["hidden"] = "auto";
  options.set["weight_start"] = "fitted";
  options.threads = 1;
  const std::string expected = serialize_model(train(data.x, options));
  options.threads = 3;
  EXPECT_EQ(serialize_model(train(data.x, options)), expected);

  // Without a single step it follows the first codes better than a start that does not know them.
  options.set["first_steps"] = "0";
  options.set["iterations"] = "0";
  const auto differing = [&](const std::string& start) {
    options.set["weight_start"] = start;
    Rounds progress;
    train(data.x, options, progress);
    return value(progress.rounds.front(), "differing");
  };
  EXPECT_LT(differing("fitted"), 0.5 * differing("covariance"));
}

TEST_P(BinaryNetwork, WithLbfgsToo) {
  const Labelled data = clouds(4, 600);
  TrainOptions options = options_for(GetParam(), data);
  options.profile = "paper";
  options.set = {{"iterations", "2"}, {"patience", "0"}, {"lbfgs_iterations", "20"}};
  options.threads = 1;
  const std::string expected = serialize_model(train(data.x, options));
  options.threads = 3;
  Rounds progress;
  EXPECT_EQ(serialize_model(train(data.x, options, progress)), expected);
  EXPECT_EQ(progress.rounds.size(), 3U);
}

TEST_P(BinaryNetwork, ACheckpointOfAnotherTrainingIsRefused) {
  const Labelled data = clouds(4, 400);
  const TemporaryDirectory directory;
  TrainOptions options = options_for(GetParam(), data);
  options.checkpoint = directory / "m.checkpoint";
  train(data.x, options);
  options.resume = true;
  TrainOptions other = options;
  other.set["lambda2"] = "0.5";
  EXPECT_BDNN_ERROR(train(data.x, other), misuse, "is the checkpoint of another training run");
  other = options;
  other.seed = 2;
  EXPECT_BDNN_ERROR(train(data.x, other), misuse, "is the checkpoint of another training run");
  const Labelled changed = clouds(4, 400, 12, 2);
  EXPECT_BDNN_ERROR(train(changed.x, options), misuse, "is the checkpoint of another training run");
  std::string bytes = read_whole_file(options.checkpoint, 1 << 24);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  OutputFile file(options.checkpoint);
  file.write(bytes);
  file.commit();
  EXPECT_BDNN_ERROR(train(data.x, options), failure, "is damaged");
}

TEST_P(BinaryNetwork, BadOptionsAreRefusedWithTheRule) {
  const Labelled data = clouds(4, 400);
  const auto with = [&](const std::string& name, const std::string& text) {
    TrainOptions options = options_for(GetParam(), data);
    options.set[name] = text;
    return options;
  };
  EXPECT_BDNN_ERROR(train(data.x, with("lambda3", "-1")), misuse, "lambda3 is 0 to");
  EXPECT_BDNN_ERROR(train(data.x, with("lambda1", "nan")), misuse, "lambda1 is 0 to");
  EXPECT_BDNN_ERROR(train(data.x, with("hidden", "ten")), misuse, "is not a list of units such as 120,50");
  EXPECT_BDNN_ERROR(train(data.x, with("hidden", "65537")), misuse, "each from 1 to 65536");
  EXPECT_BDNN_ERROR(train(data.x, with("solver", "lbfgs")), misuse, "solver=lbfgs looks at all samples at once");
  TrainOptions options = options_for(GetParam(), data);
  options.profile = "papers";
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "has no profile 'papers'; it has default, paper");
}

// Eigenvectors of a layer's inputs are no more than the inputs.
TEST_P(BinaryNetwork, AStartFromEigenvectorsHasItsLimits) {
  const Labelled data = clouds(4, 400);
  const auto with_hidden = [&](const std::string& hidden) {
    TrainOptions options = options_for(GetParam(), data);
    options.profile = "paper";
    options.set = {{"hidden", hidden}};
    return options;
  };
  EXPECT_BDNN_ERROR(train(data.x, with_hidden("40,9")), misuse, "12 >= s_2 >= s_3 >= ... >= 8");
  EXPECT_BDNN_ERROR(train(data.x, with_hidden("9,10")), misuse, "units must not grow");
  EXPECT_BDNN_ERROR(train(data.x, with_hidden("10,4")), misuse, "nor fall below the bits");
  TrainOptions options = with_hidden("auto");
  options.bits = 13;
  EXPECT_BDNN_ERROR(train(data.x, options), misuse,
                    "13 bits need as many directions, but the vectors have dimension 12");
  const Labelled few = clouds(4, 8);
  options = options_for(GetParam(), few);
  options.profile = "paper";
  options.set = {};
  EXPECT_BDNN_ERROR(train(few.x, options), misuse, "8 vectors vary in at most 7 directions");
}

TEST_P(BinaryNetwork, MoreBitsThanDimensionsOrSamples) {
  const Labelled data = clouds(4, 300);
  TrainOptions options = options_for(GetParam(), data);
  options.bits = 100;
  EXPECT_EQ(encode(train(data.x, options), data.x).bits(), 100U);
  for (const std::size_t samples : {4, 9, 25}) {
    const Labelled few = clouds(3, samples);
    options = options_for(GetParam(), few);
    options.bits = 33;
    EXPECT_EQ(train(few.x, options).bits(), 33U) << samples;
  }
  Labelled line = clouds(3, 500, 1);  // one dimension
  options = options_for(GetParam(), line);
  options.bits = 16;
  EXPECT_EQ(train(line.x, options).bits(), 16U);
}

TEST_P(BinaryNetwork, LongCodesOfFewDimensions) {
  const Labelled data = clouds(4, 200);
  TrainOptions options = options_for(GetParam(), data);
  options.bits = 1024;
  options.decoder = false;
  options.set = {{"first_steps", "3"}, {"iterations", "0"}};
  const Codes codes = encode(train(data.x, options), data.x);
  EXPECT_EQ(codes.bits(), 1024U);
  EXPECT_GT(diagnose_codes(codes).distinct, GetParam() == "sh-bdnn" ? 3U : 150U);
}

TEST_P(BinaryNetwork, AnyNumberOfLayersAndConstantDimensions) {
  Labelled data = clouds(3, 500);
  std::vector<float> values(data.x.floats(0, 500, nullptr), data.x.floats(0, 500, nullptr) + 500 * 12);
  for (std::size_t i = 0; i < 500; ++i) values[i * 12 + 5] = 4.0F;
  data.x = Vectors(12, 500, values);
  for (const auto& [hidden, layers] : {std::pair{"8", 2U}, std::pair{"12,11,10,9,8", 6U}}) {
    TrainOptions options = options_for(GetParam(), data);
    options.set["hidden"] = hidden;
    options.set["iterations"] = "1";
    options.set["held_out"] = "0";  // so that it is not the start that is kept
    const Model model = train(data.x, options);
    EXPECT_EQ(std::get<Network>(model.function).layers.size(), layers);
    EXPECT_EQ(encode(model, data.x).bits(), 8U);
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, BinaryNetwork, ::testing::Values("uh-bdnn", "sh-bdnn"),
                         [](const auto& test) { return test.param.substr(0, 2); });

TEST(UhBdnn, TheDecoderRebuildsBetterThanTheMean) {
  const Labelled data = clouds(6, 1200);
  const Model model = train(data.x, options_for("uh-bdnn", data));
  ASSERT_TRUE(model.decoder.has_value());
  const Vectors rebuilt = reconstruct(model, encode(model, data.x));
  ASSERT_EQ(rebuilt.dimension(), 12U);
  const float* x = data.x.floats(0, 1200, nullptr);
  const float* y = rebuilt.floats(0, 1200, nullptr);
  std::vector<double> mean(12);
  for (std::size_t i = 0; i < 1200 * 12; ++i) mean[i % 12] += static_cast<double>(x[i]) / 1200;
  double rest = 0;
  double variance = 0;
  for (std::size_t i = 0; i < 1200 * 12; ++i) {
    rest += std::pow(static_cast<double>(x[i] - y[i]), 2);
    variance += std::pow(static_cast<double>(x[i]) - mean[i % 12], 2);
  }
  EXPECT_LT(rest, 0.5 * variance);
  const Vectors h = outputs(model, data.x);
  const Codes codes = encode(model, data.x);
  for (std::size_t i = 0; i < 1200; ++i) {
    const float* sample = h.floats(i, 1, nullptr);
    for (std::size_t k = 0; k < 8; ++k) ASSERT_EQ((codes[i][0] >> k & 1) != 0, sample[k] >= 0);
  }
  EXPECT_BDNN_ERROR(reconstruct(train(data.x, {.method = "lsh", .bits = 8, .decoder = false}), codes), misuse,
                    "has no decoder");
}

TEST(UhBdnn, ADecoderOfAnotherSizeIsNotRestored) {
  Threads threads(1);
  Reconstruction step(8, 12, {.decay = 0.1, .lambda2 = 0.1}, threads);
  const std::vector<float> linear(12 * 9 + 1);
  const std::vector<float> by_groups(12 * 31 + 1);
  step.restore(linear, 0);
  EXPECT_BDNN_ERROR(step.restore(std::vector<float>(12 * 9), 0), failure, "holds a decoder of 108 numbers, not 109");
  EXPECT_BDNN_ERROR(step.restore({}, 0), failure, "holds a decoder of 0 numbers");
  Reconstruction groups(8, 12, {.decay = 0.1, .lambda2 = 0.1, .code_rounds = 8, .group = 4}, threads);
  groups.restore(linear, 2);  // of the 9 rounds of the start, 2 have a linear decoder
  EXPECT_BDNN_ERROR(groups.restore(by_groups, 2), failure, "of 373 numbers, not 109");
  groups.restore(by_groups, 3);
  groups.restore(by_groups, groups.start_rounds());
  EXPECT_BDNN_ERROR(groups.restore(linear, groups.start_rounds()), failure, "of 109 numbers, not 373");
}

double error_of_refined(const Model& model, const Vectors& x) {
  const Vectors rebuilt = reconstruct(model, encode(model, x, {.refined = true, .local_search = 4}));
  double error = 0;
  for (std::size_t i = 0; i < x.size() * x.dimension(); ++i) {
    error +=
        std::pow(static_cast<double>(x.floats(0, x.size(), nullptr)[i] - rebuilt.floats(0, x.size(), nullptr)[i]), 2);
  }
  return error;
}

TEST(UhBdnn, ADecoderThatTakesMoreBitsTogetherRebuildsBetter) {
  const Labelled data = clouds(6, 3000);
  double last = std::numeric_limits<double>::max();
  for (const char* group : {"1", "4", "8"}) {
    TrainOptions options{.method = "uh-bdnn", .bits = 12, .profile = "recall"};
    options.set = {{"group", group}, {"code_rounds", "8"}, {"first_steps", "300"}};
    const Model model = train(data.x, options);
    EXPECT_EQ(fmt::format("{}", model.decoder->group), group);
    const double error = error_of_refined(model, data.x);
    EXPECT_LT(error, 0.97 * last) << group;
    last = error;
  }
}

TEST(UhBdnn, GroupsOfMoreBitsThanMemoryAllowsAreRefused) {
  const Labelled data = clouds(4, 1500, 300);
  TrainOptions options{.method = "uh-bdnn", .bits = 264};
  options.set = {{"group", "8"}};
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "cannot take 264 bits in groups of 8: 4 is possible up to");
  options.bits = 16;
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "group=8 needs codes learned with the decoder");
  options.profile = "paper";
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "with group=8, use code_start=outputs");
}

TEST(UhBdnn, ByItselfADecoderTakesTogetherWhatTheSamplesAllow) {
  for (const auto& [samples, group] : {std::pair{149U, 1U}, {150U, 4U}, {1274U, 4U}, {1275U, 8U}}) {
    const Labelled data = clouds(4, samples);
    TrainOptions options{.method = "uh-bdnn", .bits = 8, .profile = "recall"};
    options.set = {{"code_rounds", "2"}, {"first_steps", "50"}};
    EXPECT_EQ(train(data.x, options).decoder->group, group) << samples;
  }
}

TEST(UhBdnn, GroupsTakePartInTheAlternation) {
  const Labelled data = clouds(4, 1500);
  std::vector<std::string> models;
  for (const int threads : {1, 3}) {
    TrainOptions options{.method = "uh-bdnn", .bits = 10};
    options.threads = threads;
    options.set = {
        {"group", "4"}, {"code_rounds", "3"}, {"iterations", "2"}, {"neighbours", "0"}, {"first_steps", "200"}};
    Rounds progress;
    const Model model = train(data.x, options, progress);
    EXPECT_GE(progress.rounds.size(), 2U);
    EXPECT_EQ(model.decoder->inputs, 15U + 15U + 3U);
    models.push_back(serialize_model(model));
  }
  EXPECT_EQ(models[0], models[1]);
}

TEST(UhBdnn, RecallWithMoreBitsThanDimensions) {
  const Labelled data = clouds(4, 200);
  TrainOptions options{.method = "uh-bdnn", .bits = 1024, .profile = "recall"};
  options.set = {{"code_rounds", "1"}, {"sweeps", "2"}, {"local_search", "0"}, {"first_steps", "3"}};
  const Model model = train(data.x, options);
  EXPECT_EQ(model.bits(), 1024U);
  EXPECT_EQ(model.decoder->outputs, 12U);
}

std::ptrdiff_t constant_bits(const CodesDiagnostics& codes) {
  return std::count_if(codes.balance.begin(), codes.balance.end(),
                       [](double share) { return share == 0 || share == 1; });
}

// Codes that still tell samples apart, from data that once gave a single one, or bits that never changed.
TEST(UhBdnn, OddDataGetsCodesThatTellSamplesApart) {
  Random random(3);
  const auto cauchy = [&] { return static_cast<float>(std::tan(3.14159265 * (random.uniform() - 0.5))); };
  std::vector<float> heavy(2000 * 64);
  std::generate(heavy.begin(), heavy.end(), cauchy);
  const Vectors tails(64, 2000, std::move(heavy));
  TrainOptions options{.method = "uh-bdnn", .bits = 16};
  options.set = {{"first_steps", "300"}, {"iterations", "1"}, {"steps", "100"}};
  EXPECT_GT(diagnose_codes(encode(train(tails, options), tails)).distinct, 100U);

  const Labelled line = clouds(3, 500, 1);
  options.bits = 8;
  const CodesDiagnostics along = diagnose_codes(encode(train(line.x, options), line.x));
  EXPECT_GT(along.distinct, 8U);
  EXPECT_EQ(constant_bits(along), 0);

  const Labelled few = clouds(8, 2000, 24);
  TrainOptions recall{.method = "uh-bdnn", .bits = 16, .profile = "recall"};
  recall.set = {{"code_rounds", "5"}, {"first_steps", "500"}};
  EXPECT_EQ(constant_bits(diagnose_codes(encode(train(few.x, recall), few.x))), 0);
}

TEST(UhBdnn, EveryProfileSaysWhatItqWouldBeWorth) {
  const Labelled data = clouds(4, 600);
  for (const char* profile : {"default", "paper", "recall"}) {
    TrainOptions options{.method = "uh-bdnn", .bits = 8, .profile = profile};
    options.set = {{"first_steps", "50"}, {"iterations", "1"}, {"lbfgs_iterations", "5"}};
    const std::string outcome = train(data.x, options).record.outcome;
    EXPECT_TRUE(outcome.find(" (ITQ 0.") != std::string::npos) << profile << ": " << outcome;
  }
}

TEST(ShBdnn, LearnsClasses) {
  const Labelled data = clouds(6, 1800);
  Rounds progress;
  const Model model = train(data.x, options_for("sh-bdnn", data), progress);
  double best = 0;
  for (const auto& round : progress.rounds) best = std::max(best, value(round, "held_out_mAP"));
  EXPECT_GT(best, 0.9);  // one sixth by chance
  EXPECT_TRUE(model.record.outcome.find("; the class head of it and a ridge classifier in its place") !=
              std::string::npos)
      << model.record.outcome;
}

// Its bits are often as good as those of the iterations; behind a class head they are not.
// The binary term is a sum over bits and the classes' term is not: with one weight for all lengths it would drown it in
// long codes.
TEST(ShBdnn, TheBinaryTermIsWeightedPerBit) {
  const Labelled data = clouds(4, 300);
  for (const std::size_t bits : {8, 32}) {
    TrainOptions options = options_for("sh-bdnn", data);
    options.bits = bits;
    options.set = {{"first_steps", "20"}, {"iterations", "0"}, {"class_head", "false"}};
    const auto outputs_with = [&](const std::string& lambda2) {
      options.set["lambda2"] = lambda2;
      const Vectors h = outputs(train(data.x, options), data.x);
      std::vector<float> scratch(bits * h.size());
      const float* values = h.floats(0, h.size(), scratch.data());
      return std::vector<float>(values, values + scratch.size());
    };
    EXPECT_EQ(outputs_with("auto"), outputs_with(bits == 8 ? "0.05" : "0.0125")) << bits;
    EXPECT_NE(outputs_with("auto"), outputs_with("0.1")) << bits;
  }
}

TEST(ShBdnn, TheLinearStartIsACandidateOnlyWithoutClassHeads) {
  const Labelled data = clouds(3, 300);
  TrainOptions options = options_for("sh-bdnn", data);
  const auto first_iteration = [&](const std::string& class_head) {
    options.set["class_head"] = class_head;
    Rounds progress;
    train(data.x, options, progress);
    return progress.figures("iteration").front();
  };
  EXPECT_EQ(first_iteration("true"), 0);
  EXPECT_EQ(first_iteration("false"), -1);
}

// Two rings, one around the other: no hyperplane tells them apart, so neither does a ridge regression.
TEST(ShBdnn, KeepsTheNetworkWhereARidgeClassifierHasNothingToAdd) {
  Random random(2);
  std::vector<float> values;
  Labelled data;
  for (int i = 0; i < 3000; ++i) {
    const double angle = 6.283185307 * random.uniform();
    const double radius = (i % 2 == 0 ? 1 : 3) + 0.1 * random.normal();
    values.push_back(static_cast<float>(radius * std::cos(angle)));
    values.push_back(static_cast<float>(radius * std::sin(angle)));
    data.labels.push_back(i % 2);
  }
  data.x = Vectors(2, 3000, std::move(values));
  TrainOptions options = options_for("sh-bdnn", data);
  options.set["first_steps"] = "1000";
  const Model model = train(data.x, options);
  EXPECT_TRUE(model.record.outcome.find("; a ridge classifier's class head") == std::string::npos)
      << model.record.outcome;
  const Codes codes = encode(model, data.x);
  std::size_t right = 0;  // classes alternate: the next sample is of the other class, the one after it of the same
  for (std::size_t i = 0; i + 2 < 3000; ++i) {
    const auto distance = [&](std::size_t j) {
      return std::popcount(static_cast<unsigned>(codes[i][0] ^ codes[j][0]));
    };
    right += distance(i + 2) < distance(i + 1) ? 1 : 0;
  }
  EXPECT_GT(right, 2800U);
}

TEST(ShBdnn, UnlabelledSamplesTakePart) {
  Labelled data = clouds(4, 1200);
  for (std::size_t i = 0; i < data.labels.size(); ++i) {
    if (i % 3 != 0) data.labels[i] = -1;
  }
  Rounds progress;
  train(data.x, options_for("sh-bdnn", data), progress);
  EXPECT_GT(value(progress.rounds.back(), "held_out_mAP"), 0.8);  // a quarter by chance
}

TEST(ShBdnn, LabelsThatTeachNothingAreRefused) {
  const Labelled data = clouds(4, 400);
  TrainOptions options = options_for("sh-bdnn", data);
  options.labels.clear();
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "sh-bdnn learns from labels; give one label per vector");
  options.labels.assign(399, 1);
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "there are 399 labels for 400 vectors");
  options.labels.assign(400, -1);
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "all samples are unlabelled");
  options.labels.assign(400, 5);
  EXPECT_BDNN_ERROR(train(data.x, options), misuse, "all labelled samples have the same label");
}

TEST(ShBdnn, AClassOfOneSampleAndSmallClassesAreAllowed) {
  Labelled data = clouds(3, 300);
  data.labels[17] = 12345;
  TrainOptions options = options_for("sh-bdnn", data);
  EXPECT_EQ(train(data.x, options).bits(), 8U);
  options.set["per_class"] = "40";
  options.set["held_out"] = "0";
  EXPECT_TRUE(train(data.x, options).record.outcome.starts_with("iteration 3 of 3 kept, codes differ from B in "));
  for (std::size_t i = 0; i < data.labels.size(); ++i) data.labels[i] = static_cast<std::int64_t>(i);
  options = options_for("sh-bdnn", data);  // a class for each sample
  EXPECT_EQ(train(data.x, options).bits(), 8U);
}

TEST(UhBdnn, IsAheadOfItq) {
  // A curved surface of two dimensions in sixteen, as real data is of fewer dimensions than it has.
  Random random(1);
  std::vector<double> frequencies(16 * 3);
  for (double& value : frequencies) value = 2 * random.normal();
  std::vector<float> values;
  for (int i = 0; i < 2000; ++i) {
    const double u = random.normal();
    const double v = random.normal();
    for (std::size_t d = 0; d < 16; ++d) {
      values.push_back(
          static_cast<float>(std::sin(frequencies[3 * d] * u + frequencies[3 * d + 1] * v + frequencies[3 * d + 2]) +
                             0.05 * random.normal()));
    }
  }
  const Vectors all(16, 2000, std::move(values));
  const Vectors base = all.slice(0, 1700);
  const Vectors queries = all.slice(1700, 300);
  Progress silent;
  const GroundTruth truth = exact_neighbours(base, queries, {.k = 50}, silent);
  const auto quality = [&](const TrainOptions& options) {
    const Model model = train(base, options);
    return evaluate_codes(encode(model, base), encode(model, queries), Relevance::neighbours(truth.ids, 50), {}, silent)
        .mean_average_precision;
  };
  for (const std::size_t bits : {8, 24}) {
    const double itq = quality({.method = "itq", .bits = bits});
    const std::map<std::string, std::string> few = {{"first_steps", "500"}, {"iterations", "0"}};
    EXPECT_GT(quality({.method = "uh-bdnn", .bits = bits, .set = few}), itq + 0.03) << bits << " bits, itq " << itq;
  }
}

TEST(UhBdnn, WhereTrainingGainsNothingTheCodesAreItqs) {
  const Labelled data = clouds(5, 800);
  TrainOptions options = options_for("uh-bdnn", data);
  options.set["first_rate"] = "10";  // which ruins any network
  options.set["rate"] = "10";
  const Model model = train(data.x, options);
  EXPECT_TRUE(model.record.outcome.starts_with("the start is kept")) << model.record.outcome;
  EXPECT_EQ(std::get<Network>(model.function).layers.size(), 1U);
  const Codes codes = encode(model, data.x);
  const Codes itq = encode(train(data.x, {.method = "itq", .bits = 8}), data.x);
  for (std::size_t i = 0; i < codes.size(); ++i) ASSERT_EQ(codes[i][0], itq[i][0]) << i;
}

TEST(UhBdnn, TheTemperatureIsLowerWhereFewSamplesAreNear) {
  const Labelled data = testing::clouds(4, 1200);
  const auto weights = [&](const char* near, const std::string& temperature) {
    TrainOptions options = options_for("uh-bdnn", data);
    options.set["near"] = near;
    options.set["far"] = "0";
    options.set["temperature"] = temperature;
    return std::get<Network>(train(data.x, options).function).layers.back().weight;
  };
  const std::string third = fmt::format("{:.17g}", std::sqrt(8.0) / 3);
  const std::string half = fmt::format("{:.17g}", std::sqrt(8.0) / 2);
  EXPECT_EQ(weights("1", "auto"), weights("1", third));
  EXPECT_EQ(weights("30", "auto"), weights("30", half));
  EXPECT_NE(weights("30", "auto"), weights("30", third));
  EXPECT_NE(weights("4", "auto"), weights("4", half));
  EXPECT_NE(weights("4", "auto"), weights("4", third));
}

TEST(UhBdnn, FartherNeighboursCountWhereNearOnesAreRare) {
  const Labelled data = testing::clouds(4, 1200);
  const auto weights = [&](const char* near, const char* far) {
    TrainOptions options = options_for("uh-bdnn", data);
    options.set["near"] = near;
    options.set["far"] = far;
    return std::get<Network>(train(data.x, options).function).layers.back().weight;
  };
  EXPECT_EQ(weights("1", "auto"), weights("1", "0.3"));
  EXPECT_EQ(weights("30", "auto"), weights("30", "0"));
  EXPECT_NE(weights("30", "auto"), weights("30", "0.3"));
  EXPECT_NE(weights("4", "auto"), weights("4", "0"));
  EXPECT_NE(weights("4", "auto"), weights("4", "0.3"));
}

}  // namespace
}  // namespace bdnn
