#include "data/text_lines.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/files.h"

namespace bdnn {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 26;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

std::optional<std::string_view> TextLines::next() {
  std::size_t searched = begin_;
  for (;;) {
    const void* end =
        searched == buffer_.size() ? nullptr : std::memchr(buffer_.data() + searched, '\n', buffer_.size() - searched);
    if (end != nullptr) {
      const auto at = static_cast<std::size_t>(static_cast<const char*>(end) - buffer_.data());
      return take(at, at + 1);
    }
    searched = buffer_.size() - begin_;
    if (!fill()) break;
  }
  if (begin_ == buffer_.size()) return std::nullopt;
  return take(buffer_.size(), buffer_.size());
}

std::string_view TextLines::take(std::size_t end, std::size_t next) {
  if (end - begin_ > kLongestLine) too_long();
  std::string_view line(buffer_.data() + begin_, end - begin_);
  begin_ = next;
  ++number_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  return line;
}

// Moves the unread text to the front and reads more; false at the end of the file.
bool TextLines::fill() {
  constexpr std::size_t kLargestPiece = 1 << 18;
  buffer_.erase(0, begin_);
  begin_ = 0;
  if (buffer_.size() > kLongestLine) too_long();
  const std::size_t held = buffer_.size();
  // Doubling keeps the cost of a long line linear, and that of a small file small.
  buffer_.resize(held + std::max(piece_, held));
  piece_ = std::min(2 * piece_, kLargestPiece);
  const std::size_t n = stream_->read_some(std::as_writable_bytes(std::span(buffer_)).subspan(held));
  buffer_.resize(held + n);
  if (const auto at = buffer_.find('\0', held); at != std::string::npos) {
    const auto line = number_ + 1 + static_cast<std::size_t>(std::count(buffer_.begin(), buffer_.begin() + at, '\n'));
    failure("{}: has a NUL byte in line {}; it is not text", name_, line);
  }
  return n > 0;
}

void TextLines::too_long() const {
  failure("{}: line {} is over {} MB long; it is not text of one vector per line", name_, number_ + 1,
          kLongestLine >> 20);
}

std::vector<std::string> load_names(const std::string& path) {
  constexpr std::uint64_t kMostText = std::uint64_t{1} << 36;
  const std::string text = read_whole_file(path, kMostText);
  std::vector<std::string> names;
  for (std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    names.push_back(text.substr(at, end - at));
    if (names.back().ends_with('\r')) names.back().pop_back();
    if (names.back().empty()) misuse("{}: line {} is empty; write one name per line", path, names.size());
    at = end + 1;
  }
  return names;
}

}  // namespace bdnn
