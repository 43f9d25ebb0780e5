#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <thread>

#include "expect_error.h"
#include "temporary_directory.h"
#include "whole_file.h"

namespace bdnn {
namespace {

using testing::TemporaryDirectory;

TEST(OutputFile, AppearsOnlyWithCommit) {
  const TemporaryDirectory directory;
  {
    OutputFile file(directory / "x");
    file.write("abc");
    EXPECT_FALSE(std::filesystem::exists(directory / "x"));
    file.commit();
  }
  EXPECT_EQ(read_whole_file(directory / "x", 100), "abc");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(OutputFile, WithoutCommitTheOldFileStaysAndNothingRemains) {
  const TemporaryDirectory directory;
  testing::write_file(directory / "x", "old");
  {
    OutputFile file(directory / "x");
    file.write("new and unfinished");
  }
  EXPECT_EQ(read_whole_file(directory / "x", 100), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 1);
}

TEST(OutputFile, ReplacesAndKeepsPermissions) {
  const TemporaryDirectory directory;
  testing::write_file(directory / "x", "old");
  ::chmod((directory / "x").c_str(), 0640);
  OutputFile file(directory / "x");
  file.write("0123456789");
  file.write_at(3, std::as_bytes(std::span("abc", 3)));
  file.commit();
  EXPECT_EQ(read_whole_file(directory / "x", 100), "012abc6789");
  struct stat info {};
  ::stat((directory / "x").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0640U);
}

TEST(OutputFile, AFullDeviceIsAnError) {
  OutputFile file("/dev/full");  // not a regular file, so it is written directly
  EXPECT_FALSE(file.seekable());
  EXPECT_BDNN_ERROR(file.write("abc"), failure, "/dev/full: cannot write: No space left on device");
}

// /dev/shm stands among the devices but holds files like any other folder.
TEST(OutputFile, FilesInSharedMemoryAreReplacedWhole) {
  std::string folder = "/dev/shm/bdnn-test-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) GTEST_SKIP() << "there is no /dev/shm to write to";
  const std::shared_ptr<void> removed_at_the_end(nullptr, [&](void*) { std::filesystem::remove_all(folder); });
  for (const std::string text : {"the first, which is long", "short"}) {
    OutputFile file(folder + "/x");
    EXPECT_FALSE(file.direct());
    file.write(text);
    file.commit();
    EXPECT_EQ(read_whole_file(folder + "/x", 100), text);
  }
  { OutputFile(folder + "/x").write("unfinished"); }
  EXPECT_EQ(read_whole_file(folder + "/x", 100), "short");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(OutputFile, WhatIsOpenAlreadyIsWrittenDirectly) {
  const TemporaryDirectory directory;
  const int fd = ::open((directory / "x").c_str(), O_WRONLY | O_CREAT, 0666);
  ASSERT_GE(fd, 0);
  std::filesystem::create_symlink(fmt::format("/proc/self/fd/{}", fd), directory / "link");
  for (const std::string& path :
       {fmt::format("/dev/fd/{}", fd), fmt::format("/proc/self/fd/{}", fd), directory / "link"}) {
    OutputFile file(path);
    EXPECT_TRUE(file.direct()) << path;
    file.write(path);
    file.commit();
    EXPECT_TRUE(read_whole_file(directory / "x", 1000).starts_with(path));
  }
  ::close(fd);
  EXPECT_TRUE(OutputFile("/dev/null").direct());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory.path()), {}), 2) << "no temporary file";
}

TEST(OutputFile, ANamedPipeNeedsAReaderAndIsNotWaitedFor) {
  const TemporaryDirectory directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0666), 0);
  EXPECT_BDNN_ERROR(OutputFile{path}, failure, "pipe: cannot write: nobody reads this pipe; start its reader first");
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  OutputFile file(path);
  EXPECT_TRUE(file.direct());
  EXPECT_FALSE(file.seekable());
  ::fcntl(reader, F_SETFL, 0);
  // More than a pipe holds: a writer that did not wait for its reader would fail.
  const std::string text(1 << 20, 'x');
  std::string received;
  std::thread reading([&] {
    std::array<char, 4096> part{};
    for (ssize_t n = 0; (n = ::read(reader, part.data(), part.size())) > 0;) {
      received.append(part.data(), static_cast<std::size_t>(n));
    }
  });
  file.write(text);
  file.commit();
  reading.join();
  ::close(reader);
  EXPECT_EQ(received, text);
}

TEST(OutputFile, ALinkStaysALinkAndItsTargetIsReplaced) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "folder");
  testing::write_file(directory / "folder/target", "old");
  std::filesystem::create_symlink("folder/target", directory / "link");
  std::filesystem::create_symlink("link", directory / "link to link");
  OutputFile file(directory / "link to link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(directory / "link to link"));
  EXPECT_EQ(read_whole_file(directory / "folder/target", 100), "new");
  std::filesystem::create_symlink("loop", directory / "loop");
  EXPECT_BDNN_ERROR(OutputFile(directory / "loop"), failure, "too many symbolic links");
}

TEST(OutputFile, BadPlacesAreNamed) {
  const TemporaryDirectory directory;
  EXPECT_BDNN_ERROR(OutputFile(directory / "no/such/x"), failure, "No such file or directory");
  EXPECT_BDNN_ERROR(OutputFile(directory.path()), failure, "is a directory");
  EXPECT_BDNN_ERROR(OutputFile(""), misuse, "empty name");
}

TEST(InputFile, ErrorsNameTheFile) {
  const TemporaryDirectory directory;
  EXPECT_BDNN_ERROR(InputFile(directory / "missing"), failure, "missing: cannot open: No such file or directory");
  EXPECT_BDNN_ERROR(InputFile{directory.path()}, failure, "is a directory");
  testing::write_file(directory / "x", "abc");
  const InputFile file(directory / "x");
  std::vector<std::byte> five(5);
  EXPECT_BDNN_ERROR(file.read_at(1, five), failure, "is truncated: 5 bytes wanted at byte 1, 2 there");
  EXPECT_EQ(file.read_some_at(1, five), 2U);
  EXPECT_BDNN_ERROR(read_whole_file(directory / "x", 2), failure, "is 3 bytes long; at most 2");
}

}  // namespace
}  // namespace bdnn
