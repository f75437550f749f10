#!/usr/bin/env python3
"""make_board.py > deploy/grafana/outlierd.json: the Grafana board over outlierd's metrics. The board is data; this is its source."""
import json

PROMETHEUS = {"type": "prometheus", "uid": "${datasource}"}
panels = []
place = {"x": 0, "y": 0}


def row(title):
    place.update(x=0, y=place["y"] + (8 if place["x"] else 0))
    panels.append({"type": "row", "title": title, "collapsed": False, "gridPos": {"x": 0, "y": place["y"], "w": 24, "h": 1}, "panels": []})
    place["y"] += 1


def panel(title, kind, queries, width=8, unit="short", description="", height=8, **more):
    if place["x"] + width > 24:
        place.update(x=0, y=place["y"] + height)
    panels.append({
        "type": kind, "title": title, "description": description, "datasource": PROMETHEUS,
        "gridPos": {"x": place["x"], "y": place["y"], "w": width, "h": height},
        "targets": [{"datasource": PROMETHEUS, "expr": expression, "legendFormat": legend, "refId": chr(65 + k)}
                    for k, (expression, legend) in enumerate(queries)],
        "fieldConfig": {"defaults": {"unit": unit, "min": 0, **more.get("defaults", {})}, "overrides": []},
        "options": more.get("options", {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}),
    })
    place["x"] += width


def stat(title, query, unit="short", steps=None, description="", mappings=None):
    panel(title, "stat", [(query, "{{network}}")], 4, unit, description, 4,
          defaults={"thresholds": {"mode": "absolute", "steps": steps or [{"color": "green", "value": None}]}, "mappings": mappings or []},
          options={"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value", "graphMode": "area"})


def bad_from(value, color="red"):
    return [{"color": "green", "value": None}, {"color": color, "value": value}]


N = '{network=~"$network",instance=~"$instance"}'
I = '{instance=~"$instance"}'
row("Now")
stat("Ready", f"min(outlierd_ready{I})", steps=[{"color": "red", "value": None}, {"color": "green", "value": 1}],
     mappings=[{"type": "value", "options": {"0": {"text": "no"}, "1": {"text": "yes"}}}])
stat("Open events", f"sum(outlierd_events_open{N})", steps=bad_from(1, "orange"))
stat("Since the last slice", f"max(time() - outlierd_last_slice_timestamp_seconds{N})", "s", bad_from(1200),
     "From the start of the newest scored bin; a bin and its lateness is normal.")
stat("Slices waiting", f"sum(outlierd_slices_waiting{N})", steps=bad_from(10))
stat("Warm-up", f"min(outlierd_warmup_ratio{N})", "percentunit", [{"color": "orange", "value": None}, {"color": "green", "value": 1}])
stat("Store or journal failing", f"max(outlierd_store_failing{I}) + sum(increase(outlierd_journal_failures_total{I}[10m]))", steps=bad_from(1))
place.update(x=0, y=place["y"] + 4)

row("What was found")
panel("Open events", "timeseries", [(f"outlierd_events_open{N}", "{{network}}")])
panel("Events opened an hour", "timeseries", [(f"increase(outlierd_events_opened_total{N}[1h])", "{{network}}")])
panel("Cells flagged a bin", "timeseries",
      [(f"rate(outlierd_anomalies_total{N}[15m]) / (rate(outlierd_slices_processed_total{N}[15m]) > 0)", "{{network}}")])

row("Traffic coming in")
panel("Observed cells a second", "timeseries", [(f"rate(outlierd_cells_total{N}[5m])", "{{network}}")])
panel("Refused, late, replaced", "timeseries", [
    (f"sum by (reason) (rate(outlierd_messages_refused_total{I}[5m]))", "refused: {{reason}}"),
    (f"rate(outlierd_parts_late_total{N}[5m])", "late: {{network}}"),
    (f"rate(outlierd_parts_replaced_total{N}[5m])", "replaced: {{network}}"),
    (f"rate(outlierd_parts_not_durable_total{N}[5m])", "not durable: {{network}}")], unit="ops")
panel("Since the last slice", "timeseries", [(f"time() - outlierd_last_slice_timestamp_seconds{N}", "{{network}}")], unit="s")

row("Flows")
panel("Records a second", "timeseries", [(f"rate(outlierd_flow_records_total{I}[5m])", "{{listener}}")], unit="ops")
panel("Missing", "timeseries", [
    (f"rate(outlierd_flow_kernel_drops_total{I}[5m])", "datagrams dropped by the kernel: {{listener}}"),
    (f"rate(outlierd_flow_lost_records_total{N}[5m])", "records lost on the way: {{network}}"),
    (f"rate(outlierd_flow_unknown_sampling_records_total{N}[5m])", "sampling unknown: {{network}}"),
    (f"rate(outlierd_flow_late_records_total{N}[5m])", "late: {{network}}")], unit="ops")
panel("Share of bytes that belong to no pair of nodes", "timeseries",
      [(f"rate(outlierd_flow_unmapped_bytes_total{N}[15m]) / (rate(outlierd_flow_unmapped_bytes_total{N}[15m]) + "
        f"rate(outlierd_flow_binned_bytes_total{N}[15m]) > 0)", "{{network}}")], unit="percentunit")
panel("Exporters, and how many are silent", "timeseries", [
    (f"outlierd_exporters{N}", "known: {{network}}"), (f"sum by (network) (outlierd_exporter_silent{N})", "silent: {{network}}")])
panel("Clocks of exporters, seconds off", "timeseries", [(f"outlierd_exporter_clock_skew_seconds{N}", "{{network}} {{exporter}}")], unit="s",
      defaults={"min": None})
panel("Rows not observed a bin", "timeseries",
      [(f"rate(outlierd_flow_rows_unobserved_total{N}[15m]) / (rate(outlierd_slices_processed_total{N}[15m]) > 0)", "{{network}}")])

row("Alerts")
panel("Waiting", "timeseries", [(f"outlierd_notify_queued{I}", "{{notifier}}")])
panel("Sent, failed, given up", "timeseries", [
    (f"rate(outlierd_notify_sent_total{I}[5m])", "sent: {{notifier}}"), (f"rate(outlierd_notify_failed_total{I}[5m])", "failed: {{notifier}}"),
    (f"rate(outlierd_notify_dropped_total{I}[5m])", "given up: {{notifier}}")], unit="ops")

row("Model")
panel("Effective rank", "timeseries", [(f"outlierd_rank{N}", "{{network}}")])
panel("Time for a slice", "timeseries",
      [(f"rate(outlierd_slice_seconds_total{N}[15m]) / (rate(outlierd_slices_processed_total{N}[15m]) > 0)", "{{network}}")], unit="s")
panel("Slices waiting, bins open", "timeseries", [(f"outlierd_slices_waiting{N}", "waiting: {{network}}"), (f"outlierd_open_bins{N}", "open: {{network}}")])

row("Daemon")
panel("Disk", "timeseries", [(f"outlierd_store_file_bytes{I}", "store"), (f"outlierd_journal_bytes{I}", "journal"),
                             (f"outlierd_store_pending_bytes{I}", "waits for the store")], unit="bytes")
panel("API, 95 % of requests within", "timeseries",
      [(f"histogram_quantile(0.95, sum by (le) (rate(outlierd_http_request_duration_seconds_bucket{I}[5m])))", "all routes")], unit="s")
panel("Connections", "timeseries", [(f"outlierd_matrix_connections{I}", "matrices"), (f"outlierd_http_connections{I}", "http"),
                                    (f"outlierd_stream_clients{I}", "stream")])


def variable(name, label, query):
    return {"name": name, "label": label, "type": "query", "datasource": PROMETHEUS, "query": query, "definition": query, "refresh": 2,
            "includeAll": True, "multi": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"}, "sort": 1}


print(json.dumps({
    "title": "outlierd", "uid": "outlierd", "tags": ["outlierd"], "timezone": "utc", "schemaVersion": 38, "version": 1, "editable": True,
    "refresh": "30s", "time": {"from": "now-6h", "to": "now"}, "graphTooltip": 1, "panels": panels,
    "links": [{"title": "Rules", "type": "link", "url": "/alerting/list", "targetBlank": False}],
    "templating": {"list": [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {}, "refresh": 1},
        variable("instance", "Instance", "label_values(outlierd_build_info, instance)"),
        variable("network", "Network", 'label_values(outlierd_rank{instance=~"$instance"}, network)')]},
}, indent=1))
