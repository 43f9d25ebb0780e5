// Results of many queries: one list per query, all in one piece of memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace bdnn {

// clear() keeps the memory, so that a warm search allocates nothing.
template <class Entry>
class ResultLists {
 public:
  std::size_t size() const { return ends_.size(); }  // number of queries
  bool empty() const { return ends_.empty(); }
  std::span<const Entry> operator[](std::size_t query) const& {
    return std::span<const Entry>(entries_).subspan(begin(query), ends_[query] - begin(query));
  }
  std::span<const Entry> operator[](std::size_t query) const&& = delete;  // the list would not outlive the expression

  bool operator==(const ResultLists&) const = default;

  void clear() {
    entries_.clear();
    ends_.clear();
  }
  void append(std::span<const Entry> list) {
    entries_.insert(entries_.end(), list.begin(), list.end());
    ends_.push_back(entries_.size());
  }

  // Appends a list of `length` entries to fill through list(); threads may fill the lists of different queries at once.
  void append_blank(std::size_t length) {
    entries_.resize(entries_.size() + length);
    ends_.push_back(entries_.size());
  }
  std::span<Entry> list(std::size_t query) {
    return std::span<Entry>(entries_).subspan(begin(query), ends_[query] - begin(query));
  }

 private:
  std::size_t begin(std::size_t query) const { return query == 0 ? 0 : ends_[query - 1]; }

  std::vector<Entry> entries_;
  std::vector<std::size_t> ends_;
};

}  // namespace bdnn
