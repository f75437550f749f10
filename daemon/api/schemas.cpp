#include "daemon/api/schemas.h"

namespace outlierd::api {
namespace {

constexpr char kBasic[] = R"json(
"Time": {"type": "string", "format": "date-time", "description": "RFC 3339, in UTC"},
"Number": {"type": ["number", "null"]},
"Names": {"type": "array", "items": {"type": "string"}},
"Cursor": {"type": ["string", "null"], "description": "cursor of the next page; null: there is none"},
"Problem": {"type": "object", "required": ["type", "title", "status", "detail"], "properties": {
  "type": {"type": "string"}, "title": {"type": "string"}, "status": {"type": "integer"},
  "detail": {"type": "string"}}},
"Health": {"type": "object", "required": ["ok", "reasons"], "properties": {
  "ok": {"type": "boolean"}, "reasons": {"$ref": "#/components/schemas/Names"}}},
"Reloaded": {"type": "object", "required": ["ok"], "properties": {"ok": {"const": true}}},
"OpenApi": {"type": "object", "required": ["openapi", "paths"]},
"Shape": {"type": "string", "enum": ["spike", "drop", "ddos", "scan", "outage", "shift", "level",
  "network"]},
"Direction": {"type": "string", "enum": ["up", "down"]},
)json";

constexpr char kNetworks[] = R"json(
"Status": {"type": "object", "required": ["version", "uptime_seconds", "networks"], "properties": {
  "version": {"type": "string"}, "uptime_seconds": {"type": "integer", "minimum": 0},
  "networks": {"type": "array", "items": {"$ref": "#/components/schemas/NetworkStatus"}}}},
"NetworkStatus": {"type": "object",
  "required": ["name", "last_slice", "bins_behind", "warmup", "rank", "open_events"],
  "properties": {"name": {"type": "string"},
  "last_slice": {"oneOf": [{"$ref": "#/components/schemas/Time"}, {"type": "null"}]},
  "bins_behind": {"type": ["integer", "null"], "minimum": 0},
  "warmup": {"type": "number", "minimum": 0, "maximum": 1},
  "rank": {"type": "integer", "minimum": 0}, "open_events": {"type": "integer", "minimum": 0}}},
"Network": {"type": "object",
  "required": ["name", "nodes", "bin_seconds", "metrics", "lateness_seconds", "time_zone",
    "sources", "threshold", "model", "detection"],
  "properties": {"name": {"type": "string"}, "nodes": {"$ref": "#/components/schemas/Names"},
  "bin_seconds": {"type": "integer", "minimum": 1},
  "metrics": {"$ref": "#/components/schemas/Names"}, "lateness_seconds": {"type": "integer"},
  "time_zone": {"type": "string"}, "sources": {"$ref": "#/components/schemas/Names"},
  "threshold": {"type": "number", "description": "of the score, in force for the newest slice"},
  "model": {"type": "object"}, "detection": {"type": "object"}}},
"NetworkList": {"type": "object", "required": ["items", "next"], "properties": {
  "items": {"type": "array", "items": {"$ref": "#/components/schemas/Network"}},
  "next": {"$ref": "#/components/schemas/Cursor"}}},
"Cells": {"type": "array", "items": {"type": "array",
  "items": {"$ref": "#/components/schemas/Number"}}},
"Matrix": {"type": "object", "required": ["network", "time", "metric", "nodes"], "properties": {
  "network": {"type": "string"}, "time": {"$ref": "#/components/schemas/Time"},
  "metric": {"type": "string"}, "nodes": {"$ref": "#/components/schemas/Names"},
  "observed": {"$ref": "#/components/schemas/Cells"},
  "expected": {"$ref": "#/components/schemas/Cells"},
  "sparse": {"$ref": "#/components/schemas/Cells"}, "score": {"$ref": "#/components/schemas/Cells"},
  "low": {"$ref": "#/components/schemas/Cells"}, "high": {"$ref": "#/components/schemas/Cells"}}},
"Series": {"type": "object",
  "required": ["network", "origin", "destination", "metric", "points"], "properties": {
  "network": {"type": "string"}, "origin": {"type": "string"}, "destination": {"type": "string"},
  "metric": {"type": "string"},
  "points": {"type": "array", "items": {"$ref": "#/components/schemas/SeriesPoint"}}}},
"SeriesPoint": {"type": "object",
  "required": ["time", "observed", "expected", "low", "high", "score"], "properties": {
  "time": {"$ref": "#/components/schemas/Time"},
  "observed": {"$ref": "#/components/schemas/Number"},
  "expected": {"$ref": "#/components/schemas/Number"}, "low": {"$ref": "#/components/schemas/Number"},
  "high": {"$ref": "#/components/schemas/Number"}, "score": {"$ref": "#/components/schemas/Number"}}},
"Model": {"type": "object",
  "required": ["network", "time", "warmup", "threshold", "status", "rank", "iterations",
    "noise_precision", "evidence_bound", "component_strengths"],
  "properties": {"network": {"type": "string"},
  "time": {"oneOf": [{"$ref": "#/components/schemas/Time"}, {"type": "null"}]},
  "warmup": {"type": "number"}, "threshold": {"type": "number"}, "status": {"type": "string"},
  "rank": {"type": "integer"}, "iterations": {"type": "integer"},
  "noise_precision": {"$ref": "#/components/schemas/Number"},
  "evidence_bound": {"$ref": "#/components/schemas/Number"},
  "component_strengths": {"type": "array", "items": {"$ref": "#/components/schemas/Number"}}}},
)json";

constexpr char kFindings[] = R"json(
"Anomaly": {"type": "object",
  "required": ["id", "network", "time", "metric", "origin", "destination", "observed", "expected",
    "low", "high", "sparse", "score", "direction", "event"],
  "properties": {"id": {"type": "string"}, "network": {"type": "string"},
  "time": {"$ref": "#/components/schemas/Time"}, "metric": {"type": "string"},
  "origin": {"type": "string"}, "destination": {"type": "string"},
  "observed": {"$ref": "#/components/schemas/Number"},
  "expected": {"$ref": "#/components/schemas/Number"}, "low": {"$ref": "#/components/schemas/Number"},
  "high": {"$ref": "#/components/schemas/Number"}, "sparse": {"$ref": "#/components/schemas/Number"},
  "score": {"$ref": "#/components/schemas/Number"},
  "direction": {"$ref": "#/components/schemas/Direction"}, "event": {"type": ["string", "null"]}}},
"AnomalyList": {"type": "object", "required": ["items", "next"], "properties": {
  "items": {"type": "array", "items": {"$ref": "#/components/schemas/Anomaly"}},
  "next": {"$ref": "#/components/schemas/Cursor"}}},
"EventCell": {"type": "object",
  "required": ["origin", "destination", "metric", "observed", "expected", "score"],
  "properties": {"origin": {"type": "string"}, "destination": {"type": "string"},
  "metric": {"type": "string"}, "observed": {"$ref": "#/components/schemas/Number"},
  "expected": {"$ref": "#/components/schemas/Number"},
  "score": {"$ref": "#/components/schemas/Number"}}},
"Event": {"type": "object",
  "required": ["id", "network", "state", "shape", "direction", "summary", "opened", "updated",
    "closed", "peak_score", "excess", "origins", "destinations", "cells", "acknowledged",
    "silenced"],
  "properties": {"id": {"type": "string"}, "network": {"type": "string"},
  "state": {"type": "string", "enum": ["open", "closed"]},
  "shape": {"$ref": "#/components/schemas/Shape"},
  "direction": {"$ref": "#/components/schemas/Direction"}, "summary": {"type": "string"},
  "opened": {"$ref": "#/components/schemas/Time"}, "updated": {"$ref": "#/components/schemas/Time"},
  "closed": {"oneOf": [{"$ref": "#/components/schemas/Time"}, {"type": "null"}]},
  "peak_score": {"$ref": "#/components/schemas/Number"},
  "excess": {"$ref": "#/components/schemas/Number"},
  "origins": {"$ref": "#/components/schemas/Names"},
  "destinations": {"$ref": "#/components/schemas/Names"},
  "cells": {"type": "array", "items": {"$ref": "#/components/schemas/EventCell"}},
  "acknowledged": {"oneOf": [{"$ref": "#/components/schemas/Acknowledgement"}, {"type": "null"}]},
  "silenced": {"type": "boolean"}}},
"EventList": {"type": "object", "required": ["items", "next"], "properties": {
  "items": {"type": "array", "items": {"$ref": "#/components/schemas/Event"}},
  "next": {"$ref": "#/components/schemas/Cursor"}}},
)json";

constexpr char kActions[] = R"json(
"Acknowledgement": {"type": "object", "required": ["by", "time", "comment"], "properties": {
  "by": {"type": "string"}, "time": {"$ref": "#/components/schemas/Time"},
  "comment": {"type": "string"}}},
"AckRequest": {"type": "object", "additionalProperties": false, "properties": {
  "by": {"type": "string", "maxLength": 256}, "comment": {"type": "string", "maxLength": 4096}}},
"Ack": {"type": "object", "required": ["id", "acknowledged"], "properties": {
  "id": {"type": "string"},
  "acknowledged": {"$ref": "#/components/schemas/Acknowledgement"}}},
"BackupRequest": {"type": "object", "additionalProperties": false, "required": ["path"],
  "properties": {"path": {"type": "string", "minLength": 1, "maxLength": 4096}}},
"Backup": {"type": "object", "required": ["path", "bytes"], "properties": {
  "path": {"type": "string"}, "bytes": {"type": "integer"}}},
"SilenceRequest": {"type": "object", "additionalProperties": false,
  "anyOf": [{"required": ["network"]}, {"required": ["origin"]}, {"required": ["destination"]},
    {"required": ["node"]}, {"required": ["shape"]}],
  "oneOf": [{"required": ["ends"]}, {"required": ["duration_seconds"]}],
  "properties": {"network": {"type": "string", "minLength": 1, "maxLength": 256},
  "origin": {"type": "string", "minLength": 1, "maxLength": 256},
  "destination": {"type": "string", "minLength": 1, "maxLength": 256},
  "node": {"type": "string", "minLength": 1, "maxLength": 256},
  "shape": {"$ref": "#/components/schemas/Shape"}, "starts": {"$ref": "#/components/schemas/Time"},
  "ends": {"$ref": "#/components/schemas/Time"},
  "duration_seconds": {"type": "integer", "minimum": 1, "maximum": 31622400},
  "comment": {"type": "string", "maxLength": 4096}, "by": {"type": "string", "maxLength": 256}}},
"Silence": {"type": "object",
  "required": ["id", "network", "origin", "destination", "node", "shape", "starts", "ends",
    "comment", "created_by", "created", "state"],
  "properties": {"id": {"type": "string"}, "network": {"type": ["string", "null"]},
  "origin": {"type": ["string", "null"]}, "destination": {"type": ["string", "null"]},
  "node": {"type": ["string", "null"]},
  "shape": {"oneOf": [{"$ref": "#/components/schemas/Shape"}, {"type": "null"}]},
  "starts": {"$ref": "#/components/schemas/Time"}, "ends": {"$ref": "#/components/schemas/Time"},
  "comment": {"type": "string"}, "created_by": {"type": "string"},
  "created": {"$ref": "#/components/schemas/Time"},
  "state": {"type": "string", "enum": ["pending", "active", "expired"]}}},
"SilenceList": {"type": "object", "required": ["items", "next"], "properties": {
  "items": {"type": "array", "items": {"$ref": "#/components/schemas/Silence"}},
  "next": {"$ref": "#/components/schemas/Cursor"}}},
"AuditEntry": {"type": "object", "required": ["time", "actor", "action", "subject", "detail"],
  "properties": {"time": {"$ref": "#/components/schemas/Time"}, "actor": {"type": "string"},
  "action": {"type": "string"}, "subject": {"type": "string"}, "detail": {"type": "string"}}},
"AuditList": {"type": "object", "required": ["items", "next"], "properties": {
  "items": {"type": "array", "items": {"$ref": "#/components/schemas/AuditEntry"}},
  "next": {"$ref": "#/components/schemas/Cursor"}}},
"Slice": {"type": "object", "required": ["time"],
  "description": "One bin, whole or in part; values (with nodes) or cells",
  "properties": {"network": {"type": "string"}, "time": {"$ref": "#/components/schemas/Time"},
  "nodes": {"$ref": "#/components/schemas/Names"},
  "values": {"$ref": "#/components/schemas/Cells"},
  "cells": {"type": "array", "items": {"type": "array", "minItems": 3, "maxItems": 3}},
  "rest": {"type": "string", "enum": ["unobserved", "zero"]}, "metric": {"type": "string"},
  "source": {"type": "string"}, "sequence": {"type": "integer", "minimum": 0},
  "complete": {"type": "boolean"}}},
"SliceAnswer": {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"},
  "network": {"type": "string"}, "time": {"type": "string"}, "cells": {"type": "integer"}}},
"Flow": {"type": "object"},
"FlowAnswer": {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}
)json";

}  // namespace

std::string component_schemas() {
  return std::string("{") + kBasic + kNetworks + kFindings + kActions + "}";
}

}  // namespace outlierd::api
