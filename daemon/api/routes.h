#pragma once
// The one table of what can be asked: from it requests are matched and their parameters checked,
// and from it /openapi.json is written.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/api/tokens.h"

namespace outlierd::api {

enum class Operation {
  kPage,
  kStatus,
  kNetworks,
  kNetwork,
  kMatrix,
  kSeries,
  kModel,
  kSlices,
  kExporters,
  kOperationalEvents,
  kPostSlices,
  kPostFlows,
  kAnomalies,
  kEvents,
  kEvent,
  kAcknowledge,
  kFeedback,
  kSilences,
  kAddSilence,
  kExpireSilence,
  kAudit,
  kStream,
  kMetrics,
  kHealthy,
  kReady,
  kBackup,
  kNotifyTest,
  kReload,
  kOpenApi,
};

enum class ParameterKind { kText, kTime, kInteger, kNumber, kChoice, kChoices, kCursor };
enum class ParameterPlace { kPath, kQuery, kHeader };

struct Parameter {
  std::string_view name;
  ParameterPlace place = ParameterPlace::kQuery;
  ParameterKind kind = ParameterKind::kText;
  std::string_view description;
  bool required = false;
  double low = 0.0, high = 0.0;           // of numbers, both inclusive
  std::vector<std::string_view> choices;  // kChoices: any of them, separated by commas
};
inline constexpr std::size_t kLongestText = 256;

struct Answer {
  int status;
  std::string_view description;
  std::string_view schema;  // of the components; empty: no body, or not JSON
  std::string_view media = "application/json";
};

struct Route {
  Operation operation;
  std::string_view method, pattern, name, summary;  // name: OpenAPI's operationId
  Role role = Role::kRead;
  std::vector<Parameter> parameters;
  std::vector<std::string_view> body_types;  // media types of the body; empty: it has none
  std::string_view body_schema;
  bool body_required = true, large_body = false;
  std::vector<Answer> answers;  // those particular to it; answers_of() adds the common ones
};

const std::vector<Route>& routes();
// All that a request for it can be answered with, by status.
std::vector<Answer> answers_of(const Route& route);

}  // namespace outlierd::api
