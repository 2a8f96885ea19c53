#include "io/npz.h"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/strip.h"
#include "base/activity.h"
#include "base/counted.h"
#include "base/status.h"
#include "fmt/format.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/stored_type.h"

namespace hlo::io {
namespace {

struct ZipCloser {
  void operator()(zip_t* zip) const { zip_discard(zip); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Zip = std::unique_ptr<zip_t, ZipCloser>;

std::string ZipMessage(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

class EntryStream final : public ByteStream {
 public:
  EntryStream(zip_file_t* file, int64_t byte_count, std::string name)
      : ByteStream(byte_count), file_(file), byte_count_(byte_count), what_("reading " + std::move(name)) {}

 private:
  absl::Status DoRead(void* to, int64_t count) override {
    auto* out = static_cast<char*>(to);
    const bool is_last = count == remaining();
    constexpr int64_t kReportEvery = int64_t{16} << 20, kSmall = 1 << 16;
    const bool is_small = count <= kSmall;
    while (count > 0) {
      const int64_t done = byte_count_ - remaining() + (out - static_cast<char*>(to));
      if (!is_small) Report({what_, done, byte_count_, "bytes"});
      HLO_RETURN_IF_ERROR(CheckCancelled());
      const int64_t got = zip_fread(file_.get(), out, std::min(count, kReportEvery));
      if (got < 0) return absl::FailedPreconditionError(zip_file_strerror(file_.get()));
      if (got == 0)
        return absl::FailedPreconditionError(
            fmt::format("it ends too early: {} missing", Counted(count, "byte")));
      out += got;
      count -= got;
    }
    return is_last ? CheckEnd() : absl::OkStatus();
  }
  // libzip compares the checksum when it is asked for bytes beyond the end.
  absl::Status CheckEnd() {
    char byte;
    if (zip_fread(file_.get(), &byte, 1) >= 0) return absl::OkStatus();
    const bool is_checksum = zip_error_code_zip(zip_file_get_error(file_.get())) == ZIP_ER_CRC;
    return absl::FailedPreconditionError(is_checksum ? "its checksum is wrong"
                                                     : zip_file_strerror(file_.get()));
  }
  std::unique_ptr<zip_file_t, ZipCloser> file_;
  const int64_t byte_count_;
  const std::string what_;
};

class NpzArchive final : public Archive {
 public:
  NpzArchive(std::string path, Zip zip) : path_(std::move(path)), zip_(std::move(zip)) {}

  absl::Status ReadDirectory() {
    const int64_t count = zip_get_num_entries(zip_.get(), 0);
    for (int64_t i = 0; i < count; ++i) {
      zip_stat_t info;
      if (zip_stat_index(zip_.get(), i, 0, &info) != 0 || (info.valid & ZIP_STAT_NAME) == 0 ||
          (info.valid & ZIP_STAT_SIZE) == 0) {
        return absl::FailedPreconditionError(fmt::format("{}: {}", path_, zip_strerror(zip_.get())));
      }
      const absl::string_view name = absl::StripSuffix(info.name, ".npy");
      const std::string key(name.data(), name.size());
      if (!entries_.try_emplace(key, Entry{i, info.size}).second) {
        return absl::FailedPreconditionError(fmt::format("{}: has the key '{}' twice", path_, key));
      }
      keys_.push_back(key);
    }
    return absl::OkStatus();
  }

  const std::vector<std::string>& keys() const override { return keys_; }

  absl::StatusOr<Literal> DoRead(const std::string& key, const Shape& expected,
                                 const ReadOptions& options) override {
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) {
      return absl::NotFoundError(
          fmt::format("{}: has no key '{}'; it has {}", path_, key, fmt::join(keys_, ", ")));
    }
    zip_file_t* file = zip_fopen_index(zip_.get(), entry->second.index, 0);
    if (file == nullptr) return Failed(key, zip_strerror(zip_.get()));
    if (entry->second.byte_count > uint64_t{1} << 62) {
      zip_fclose(file);
      return Failed(key, "claims more bytes than can be counted");
    }
    // ReadNpy allocates only after the entry's size agrees with the expected shape.
    EntryStream stream(file, static_cast<int64_t>(entry->second.byte_count), path_ + " " + key);
    absl::StatusOr<Literal> value = ReadNpy(stream, expected, options);
    if (!value.ok()) {
      return absl::Status(value.status().code(),
                          fmt::format("{}: key '{}': {}", path_, key, Message(value.status())));
    }
    return value;
  }

 private:
  struct Entry {
    int64_t index;
    uint64_t byte_count;
  };
  absl::Status Failed(const std::string& key, std::string_view why) const {
    return absl::FailedPreconditionError(fmt::format("{}: key '{}': {}", path_, key, why));
  }

  std::string path_;
  Zip zip_;
  std::vector<std::string> keys_;
  absl::flat_hash_map<std::string, Entry> entries_;
};

// Header and elements of an entry, which must stay alive until the archive is closed.
struct Part {
  std::string name, header;
  Literal dense;
  zip_buffer_fragment_t fragments[2];
};

absl::Status WriteFailure(const std::string& path, std::string_view why) {
  return absl::FailedPreconditionError(fmt::format("{}: cannot be written: {}", path, why));
}

// Returns the status with the reason from the system, as for other files.
absl::Status CloseFailure(const std::string& path, zip_t* zip) {
  const int error = zip_error_code_system(zip_get_error(zip));
  return error == 0 ? WriteFailure(path, zip_strerror(zip)) : WriteError(path, error);
}

absl::Status AddEntry(zip_t* zip, const std::string& path, Part* part) {
  part->fragments[0] = {reinterpret_cast<zip_uint8_t*>(part->header.data()), part->header.size()};
  // libzip rejects empty fragments.
  part->fragments[1] = {reinterpret_cast<zip_uint8_t*>(part->dense.mutable_data()),
                        static_cast<zip_uint64_t>(part->dense.byte_count())};
  const int fragment_count = part->dense.byte_count() > 0 ? 2 : 1;
  zip_source_t* source = zip_source_buffer_fragment(zip, part->fragments, fragment_count, 0);
  if (source == nullptr) return WriteFailure(path, zip_strerror(zip));
  const int64_t index = zip_file_add(zip, part->name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    zip_source_free(source);
    return WriteFailure(path, zip_strerror(zip));
  }
  constexpr uint16_t kFirstOfJanuary1980 = 1 << 5 | 1;
  if (zip_set_file_compression(zip, index, ZIP_CM_STORE, 0) != 0 ||
      zip_file_set_dostime(zip, index, 0, kFirstOfJanuary1980, 0) != 0) {
    return WriteFailure(path, zip_strerror(zip));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Archive>> OpenNpz(const std::string& path) {
  HLO_RETURN_IF_ERROR(InputFile::Open(path).status());  // Gives better messages.
  int code = 0;
  Zip zip(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (!zip) {
    return absl::FailedPreconditionError(fmt::format("{}: is not an .npz file: {}", path, ZipMessage(code)));
  }
  auto archive = std::make_unique<NpzArchive>(path, std::move(zip));
  HLO_RETURN_IF_ERROR(archive->ReadDirectory());
  return archive;
}

absl::Status WriteNpz(const std::string& path, absl::Span<const LiteralLeaf> arrays) {
  // libzip does not write empty archives, so this writes an end-of-directory record.
  if (arrays.empty()) {
    HLO_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::Create(path));
    HLO_RETURN_IF_ERROR(file->Write(std::string("PK\x05\x06") + std::string(18, '\0')));
    return file->Commit();
  }
  // libzip writes a temporary file beside the path and renames it. This check reports paths that are not
  // writable.
  HLO_ASSIGN_OR_RETURN(const std::unique_ptr<OutputFile> probe, OutputFile::Create(path));
  if (probe->IsDeviceOrPipe()) {
    return WriteFailure(path, "an .npz archive requires a regular file, but this is a device or a pipe");
  }
  int code = 0;
  Zip zip(zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  if (!zip) return WriteFailure(path, ZipMessage(code));
  std::vector<Part> parts(arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i) {
    HLO_ASSIGN_OR_RETURN(parts[i].dense, ForStorage(*arrays[i].value));
    parts[i].name = arrays[i].key + ".npy";
    parts[i].header = NpyHeader(parts[i].dense.shape());
    HLO_RETURN_IF_ERROR(AddEntry(zip.get(), path, &parts[i]));
  }
  if (zip_close(zip.get()) != 0) return CloseFailure(path, zip.get());
  (void)zip.release();
  return absl::OkStatus();
}

}  // namespace hlo::io
