#include "daemon/api/request_bodies.h"

#include <nlohmann/json.hpp>

#include "daemon/api/json_names.h"
#include "daemon/api/router.h"
#include "daemon/api/time_text.h"

namespace outlierd::api {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kLongestComment = 4096;
constexpr std::int64_t kLongestSilence = 366 * 86400;

// Takes the members of an object one by one; the first thing wrong is kept.
class BodyReader {
 public:
  explicit BodyReader(std::string_view body) : json_(Json::parse(body, nullptr, false)) {
    if (json_.is_discarded()) problem_ = "the body is not JSON";
    if (problem_.empty() && !json_.is_object()) problem_ = "the body is not a JSON object";
  }

  std::optional<std::string> text(const char* name, std::size_t longest, bool may_be_empty) {
    const Json* member = find(name);
    if (!member) return std::nullopt;
    if (!member->is_string()) return fail(name, "is not a string");
    const auto& value = member->get_ref<const std::string&>();
    if (value.empty() && !may_be_empty) return fail(name, "is empty");
    // Of characters, as the document says; what is not the start of one does not count.
    const auto characters = std::count_if(value.begin(), value.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    });
    if (std::size_t(characters) > longest) return fail(name, "is too long");
    return value;
  }

  std::optional<EpochSeconds> time(const char* name) {
    const Json* member = find(name);
    if (!member) return std::nullopt;
    const auto value =
        member->is_string() ? time_of(member->get_ref<const std::string&>()) : std::nullopt;
    if (!value) fail(name, "is not a time such as 2004-03-01T00:05:00Z");
    return value;
  }

  std::optional<std::int64_t> integer(const char* name, std::int64_t low, std::int64_t high) {
    const Json* member = find(name);
    if (!member) return std::nullopt;
    const bool fits = member->is_number_integer() && *member >= low && *member <= high;
    if (fits) return member->get<std::int64_t>();
    fail(name,
         "must be a whole number between " + std::to_string(low) + " and " + std::to_string(high));
    return std::nullopt;
  }

  std::optional<std::string> fail(const std::string& name, const std::string& why) {
    if (problem_.empty()) problem_ = name + " " + why;
    return std::nullopt;
  }

  // Empty when all went well and nothing is left that nobody asked for.
  std::string finish() {
    if (!problem_.empty() || !json_.is_object()) return problem_;
    for (const auto& [name, value] : json_.items()) {
      if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
      const auto near = nearest(name, known_);
      return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace) +
             " is not known here" +
             (near.empty() ? "" : " (did you mean " + std::string(near) + "?)");
    }
    return "";
  }

 private:
  const Json* find(const char* name) {
    known_.emplace_back(name);
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }

  Json json_;
  std::string problem_;
  std::vector<std::string_view> known_;
};

}  // namespace

tl::expected<AckBody, std::string> parse_ack(std::string_view body) {
  if (body.empty()) return AckBody{};
  BodyReader reader(body);
  AckBody ack;
  ack.by = reader.text("by", kLongestText, true);
  if (ack.by && ack.by->empty()) ack.by.reset();
  ack.comment = reader.text("comment", kLongestComment, true).value_or("");
  if (const std::string problem = reader.finish(); !problem.empty()) return tl::unexpected(problem);
  return ack;
}

tl::expected<Feedback, std::string> parse_feedback(std::string_view body) {
  BodyReader reader(body);
  const auto mark = reader.text("mark", kLongestText, true);
  Feedback feedback;
  feedback.mark = mark.value_or("");
  if (!mark || (*mark != "" && *mark != "false_alarm" && *mark != "expected"))
    reader.fail("mark", "must be false_alarm, expected, or empty to take it back");
  feedback.by = reader.text("by", kLongestText, true).value_or("");
  feedback.comment = reader.text("comment", kLongestComment, true).value_or("");
  if (const std::string problem = reader.finish(); !problem.empty()) return tl::unexpected(problem);
  return feedback;
}

tl::expected<std::string, std::string> parse_backup(std::string_view body) {
  BodyReader reader(body);
  const std::string path = reader.text("path", kLongestComment, false).value_or("");
  if (!path.starts_with('/') || path.find('\0') != std::string::npos)
    reader.fail("path", "must be an absolute path");
  if (const std::string problem = reader.finish(); !problem.empty()) return tl::unexpected(problem);
  return path;
}

tl::expected<Silence, std::string> parse_silence(std::string_view body, EpochSeconds now) {
  BodyReader reader(body);
  Silence silence;
  silence.network = reader.text("network", kLongestText, false);
  silence.origin = reader.text("origin", kLongestText, false);
  silence.destination = reader.text("destination", kLongestText, false);
  silence.node = reader.text("node", kLongestText, false);
  if (const auto shape = reader.text("shape", kLongestText, false)) {
    silence.shape = shape_named(*shape);
    if (!silence.shape)
      reader.fail("shape", "must be one of spike, drop, ddos, scan, outage, shift, level, network");
  }
  silence.comment = reader.text("comment", kLongestComment, true).value_or("");
  silence.created_by = reader.text("by", kLongestText, true).value_or("");
  silence.starts = reader.time("starts").value_or(now);
  const auto ends = reader.time("ends");
  const auto duration = reader.integer("duration_seconds", 1, kLongestSilence);
  if (const std::string problem = reader.finish(); !problem.empty()) return tl::unexpected(problem);
  if (ends.has_value() == duration.has_value())
    return tl::unexpected<std::string>("exactly one of ends and duration_seconds is needed");
  silence.ends = ends ? *ends : silence.starts + *duration;
  if (silence.ends <= silence.starts)
    return tl::unexpected<std::string>("ends must lie behind starts");
  if (silence.ends <= now) return tl::unexpected<std::string>("ends lies in the past");
  if (!silence.network && !silence.origin && !silence.destination && !silence.node &&
      !silence.shape)
    return tl::unexpected<std::string>(
        "at least one of network, origin, destination, node, shape is needed");
  return silence;
}

}  // namespace outlierd::api
