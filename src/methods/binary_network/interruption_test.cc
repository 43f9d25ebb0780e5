// Runs under ThreadSanitizer: UH-BDNN and SH-BDNN train on several threads, and an exception ends them.
// A training that was cut off and resumed, or cancelled.
#include <gtest/gtest.h>

#include <filesystem>

#include "methods/binary_network/binary_network_testing.h"
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

void expect_the_same_model_resumed_from_any_round(const Labelled& data, TrainOptions options) {
  const TemporaryDirectory directory;
  Rounds all;
  const std::string expected = serialize_model(train(data.x, options, all));

  // Cut off after each round, as a kill would do once the checkpoint stands.
  class CutOff final : public Progress {
   public:
    explicit CutOff(int after) : after_(after) {}
    void round(const Round& values) override {
      if (value(values, "iteration") > after_) throw std::runtime_error("cut off");
    }

   private:
    int after_;
  };
  options.checkpoint = directory / "m.checkpoint";
  options.resume = true;
  for (int after = 0; after < 3; ++after) {
    std::filesystem::remove(options.checkpoint);
    CutOff progress(after);
    EXPECT_THROW(train(data.x, options, progress), std::runtime_error);
    ASSERT_TRUE(std::filesystem::exists(options.checkpoint));
    Rounds rest;
    options.threads = 3;  // another number of threads makes no difference
    EXPECT_EQ(serialize_model(train(data.x, options, rest)), expected) << after;
    EXPECT_EQ(rest.rounds.size(), all.rounds.size()) << "rounds before the interruption come again";
    options.threads = 1;
  }
}

class InterruptedTraining : public ::testing::TestWithParam<std::string> {};

TEST_P(InterruptedTraining, ResumedFromAnyRoundItEndsWithTheSameModel) {
  const Labelled data = clouds(4, 900);
  expect_the_same_model_resumed_from_any_round(data, options_for(GetParam(), data));
}

TEST(InterruptedUhBdnn, ResumedWithGroupsItEndsWithTheSameModel) {
  const Labelled data = clouds(4, 900);
  TrainOptions options = options_for("uh-bdnn", data);
  options.set["group"] = "4";
  options.set["neighbours"] = "0";
  options.set["code_rounds"] = "4";
  expect_the_same_model_resumed_from_any_round(data, options);
}

// The profile recall betters the codes for long before there is a network.
TEST(InterruptedUhBdnn, ResumedWithinItsStartItEndsWithTheSameModel) {
  class CutOff final : public Progress {
   public:
    explicit CutOff(std::size_t after) : after_(after) {}
    void update(std::string_view stage, std::size_t done, std::size_t) override {
      if (stage != "codes") return;
      rounds.push_back(done);
      if (done == after_) throw std::runtime_error("cut off");
    }
    std::vector<std::size_t> rounds;

   private:
    std::size_t after_;
  };
  const Labelled data = clouds(4, 900);
  for (const std::string group : {"1", "4"}) {
    TrainOptions options = options_for("uh-bdnn", data);
    options.set["group"] = group;
    options.set["neighbours"] = "0";
    options.set["code_rounds"] = "8";
    const std::string expected = serialize_model(train(data.x, options));
    const TemporaryDirectory directory;
    options.checkpoint = directory / "m.checkpoint";
    options.resume = true;
    const std::size_t rounds = group == "1" ? 8 : 9;
    for (const std::size_t after : {std::size_t{1}, std::size_t{3}, rounds - 1, rounds}) {
      std::filesystem::remove(options.checkpoint);
      CutOff progress(after);
      EXPECT_THROW(train(data.x, options, progress), std::runtime_error);
      CutOff rest(0);
      EXPECT_EQ(serialize_model(train(data.x, options, rest)), expected) << "group " << group << ", round " << after;
      EXPECT_EQ(rest.rounds.size(), rounds - after) << "rounds that were done are not done again";
    }
  }
}

// The callback of L-BFGS is called from C, which exceptions must not cross.
TEST_P(InterruptedTraining, IsCancelledWithinLbfgs) {
  class Cancel final : public Progress {
   public:
    void update(std::string_view stage, std::size_t done, std::size_t) override {
      if (stage != "network") return;
      updates.push_back(done);
      if (done == 3) throw std::runtime_error("cancelled");
    }
    std::vector<std::size_t> updates;
  };
  const Labelled data = clouds(4, 600);
  TrainOptions options = options_for(GetParam(), data);
  options.profile = "paper";
  options.set = {{"iterations", "2"}};
  Cancel progress;
  EXPECT_THROW(train(data.x, options, progress), std::runtime_error);
  EXPECT_EQ(progress.updates, (std::vector<std::size_t>{1, 2, 3}));
}

INSTANTIATE_TEST_SUITE_P(Methods, InterruptedTraining, ::testing::Values("uh-bdnn", "sh-bdnn"),
                         [](const auto& test) { return test.param.substr(0, 2); });

}  // namespace
}  // namespace bdnn
