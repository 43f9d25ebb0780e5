#include "base/process.h"

#include <gtest/gtest.h>

namespace bdnn {
namespace {

TEST(Process, GivesArgumentsAsTheyAreAndReturnsWhatItSays) {
  const ProcessResult result = run_process({"sh", "-c", "echo \"$1\"; echo wrong >&2; exit 3", "sh", "a b; $HOME *"});
  EXPECT_TRUE(result.found);
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.output, "a b; $HOME *\n");
  EXPECT_EQ(result.errors, "wrong\n");
}

TEST(Process, KeepsTheStartOfTheOutputAndTheEndOfTheErrors) {
  const ProcessResult result = run_process({"sh", "-c", "seq 100000; seq 100000 >&2"});
  EXPECT_EQ(result.output.substr(0, 6), "1\n2\n3\n");
  EXPECT_EQ(result.errors.substr(result.errors.size() - 7), "100000\n");
  EXPECT_LT(result.output.size() + result.errors.size(), 10000U);
}

TEST(Process, SaysThatThereIsNoSuchProgram) { EXPECT_FALSE(run_process({"no-such-program-anywhere"}).found); }

TEST(Process, ReadsNothingFromStandardInput) { EXPECT_EQ(run_process({"cat"}).status, 0); }

TEST(Process, IsKilledWhenTheWatcherSaysSo) {
  EXPECT_EQ(run_process({"sleep", "1000"}, [] { return false; }).status, 128 + 9);
  EXPECT_THROW(run_process({"sleep", "1000"}, []() -> bool { throw 1; }), int);
}

}  // namespace
}  // namespace bdnn
