#pragma once
// The JSON that the outside sees of each record: the promised names, in one place.

#include <optional>
#include <string>
#include <string_view>

#include "core/pipeline.h"
#include "daemon/api/history.h"
#include "daemon/api/json_writer.h"

namespace outlierd::api {

// Everything of an event but acknowledged, feedback and silenced, without the closing brace: the
// part that is kept ready. finish_event adds the rest.
std::string begin_event(const EventRecord& event);
void finish_event(JsonWriter& json, std::string_view begun,
                  const std::optional<Acknowledgement>& acknowledged,
                  const std::optional<Feedback>& feedback, bool silenced);

void write(JsonWriter& json, const AnomalyRecord& anomaly);
void write(JsonWriter& json, const Acknowledgement& acknowledgement);
void write(JsonWriter& json, const std::optional<Feedback>& feedback);
void write(JsonWriter& json, const Silence& silence, EpochSeconds now);
void write(JsonWriter& json, const SeriesPoint& point);
void write(JsonWriter& json, const SlicePoint& point, const TotalBand::Band& band);
void write(JsonWriter& json, const AuditEntry& entry);
void write(JsonWriter& json, const ModelSummary& model);
void write_components(JsonWriter& json, const Network& network, const ModelSummary& model);
// "model":{...},"detection":{...}
void write(JsonWriter& json, const PipelineOptions& options, const std::string& method);
void write_names(JsonWriter& json, const std::vector<std::string>& names);

// Indices become names.
EventRecord record_of(const Network& network, const Event& event);
AnomalyRecord record_of(const Network& network, const Anomaly& anomaly);
// The same for the same network, time and names: 16 hexadecimal digits.
std::string anomaly_id(std::string_view network, EpochSeconds time, std::string_view metric,
                       std::string_view origin, std::string_view destination);

}  // namespace outlierd::api
