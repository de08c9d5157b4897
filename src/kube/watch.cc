#include "kube/watch.h"

#include "kube/status.h"

namespace mainspring::kube {
namespace {

// An object in etcd has at most 1.5 MB; in JSON, with managed fields and escapes, a little more.
constexpr std::size_t kMaxLine = std::size_t{32} << 20;

struct Bookmark {
  std::string resource_version;
  json::StringMap annotations;
};

constexpr auto json_fields(json::Tag<Bookmark>) {
  return json::fields(json::group("metadata",
                                  json::field("resourceVersion", &Bookmark::resource_version),
                                  json::field("annotations", &Bookmark::annotations)));
}

enum class LineType { kUnknown, kObject, kBookmark, kError };

// What a line is, and for changes which one.
LineType parse_type(std::string_view text, WatchEventType& type) {
  if (text == "ADDED") {
    type = WatchEventType::kAdded;
  } else if (text == "MODIFIED") {
    type = WatchEventType::kModified;
  } else if (text == "DELETED") {
    type = WatchEventType::kDeleted;
  } else if (text == "BOOKMARK") {
    type = WatchEventType::kBookmark;
    return LineType::kBookmark;
  } else {
    return text == "ERROR" ? LineType::kError : LineType::kUnknown;
  }
  return LineType::kObject;
}

}  // namespace

WatchLines::WatchLines(std::unique_ptr<http::StreamingResponse> response)
    : lines_(std::make_unique<http::LineReader>(std::move(response), kMaxLine)),
      reader_(std::make_unique<json::Reader>()) {}

Task<Result<std::optional<WatchLines::Line>>> WatchLines::next(Decode decode, void* out) {
  while (true) {
    MS_CO_TRY(const auto text, co_await lines_->next());
    if (!text) co_return std::nullopt;
    if (text->empty()) continue;
    MS_CO_TRY(Line line, read_line(*text, decode, out));
    co_return line;
  }
}

Result<WatchLines::Line> WatchLines::read_line(std::string_view text, Decode decode, void* out) {
  Line line;
  LineType type = LineType::kUnknown;
  Status status;
  json::Reader& reader = *reader_;
  reader.open(text);
  reader.object([&](std::string_view key) {
    if (key == "type") {
      // A second one would turn what has been read as one kind of event into another.
      if (type != LineType::kUnknown) reader.refuse_repeated(key);
      std::string_view name;
      reader.read(name);
      type = parse_type(name, line.type);
      if (type == LineType::kUnknown) reader.refuse("not a type of watch event");
    } else if (key == "object") {
      if (type == LineType::kObject) {
        decode(reader, out);
      } else if (type == LineType::kError) {
        json::read(reader, status);
      } else if (type == LineType::kBookmark) {
        Bookmark bookmark;
        json::read(reader, bookmark);
        line.resource_version = std::move(bookmark.resource_version);
        line.initial_events_end = bookmark.annotations.find("k8s.io/initial-events-end") == "true";
      } else {
        // API servers write the type first, and only so can a line be read in one pass.
        reader.refuse("comes before the event's type");
      }
    }
  });
  MS_CHECK(with_context(reader.finish(), "reading a watch event"));
  if (type == LineType::kUnknown) {
    return fail(Code::kInvalid, "reading a watch event: it has no type");
  }
  if (type == LineType::kError && status.code == 0 && status.reason.empty()) {
    return fail(Code::kTransient, "reading a watch: the server sent an error and not which");
  }
  if (type == LineType::kError) return fail(error_of(std::move(status)));
  return line;
}

}  // namespace mainspring::kube
