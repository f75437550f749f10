#pragma once
// vFlow's JSON: information elements by number. Each data record is written as IPFIX would have it
// and goes the way of IPFIX. For .cpp files only: simdjson is heavy.

#include <simdjson.h>

#include <optional>
#include <string>
#include <vector>

#include "daemon/ingest/flow/record_decoder.h"

namespace outlierd::ingest {

class VflowReader {
 public:
  // What is wrong, if anything.
  std::optional<std::string> read(simdjson::dom::object message, FlowBatch& out);

 private:
  std::optional<std::string> read_header(simdjson::dom::object header, FlowBatch& out);
  std::optional<std::string> read_record(simdjson::dom::array elements, FlowBatch& out);

  ExporterTime time_;
  FlowTemplate made_;  // of the record before: most are alike
  std::vector<TemplateField> fields_;
  std::vector<std::byte> bytes_;
  FieldPlaces places_;
};

}  // namespace outlierd::ingest
