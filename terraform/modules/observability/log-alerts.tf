# Alerts on single log lines. They match entries as they arrive, so they need no metric, which would be unknown to Cloud
# Monitoring for up to ten minutes after its creation.
locals {
  # The filters of Cloud Logging, unlike those of alerts.tf. Cloud Run logs each response with 5xx as an ERROR, too; the
  # alert "A function returns errors" counts those. notify answers 500 for a dead channel, which has an alert of its
  # own.
  function_errors = join(" AND ", [
    local.function_logs,
    "severity>=ERROR",
    "NOT logName:\"run.googleapis.com%2Frequests\"",
  ])
  malformed_messages = ["message is malformed", "heartbeat is malformed"]
  malformed          = "jsonPayload.message=(${join(" OR ", [for message in local.malformed_messages : "\"${message}\""])})"

  log_alerts = {
    function-error = {
      title   = "A function logged an error"
      meaning = "A handler threw, or a function could not start or ran out of memory. Pub/Sub delivers the message again."
      filter  = "${local.function_errors} AND NOT ${local.malformed}"
    }
    malformed-message = {
      title   = "A message is malformed"
      meaning = "The message was acknowledged and not handled, since a redelivery would not help."
      filter  = "${local.function_errors} AND ${local.malformed}"
    }
  }
}

resource "google_monitoring_alert_policy" "log" {
  for_each              = local.log_alerts
  project               = var.project_id
  display_name          = "Dropforge: ${each.value.title}"
  combiner              = "OR"
  notification_channels = local.channels
  user_labels           = { app = var.prefix }

  conditions {
    display_name = each.value.title
    condition_matched_log {
      filter           = each.value.filter
      label_extractors = { function = "EXTRACT(resource.labels.service_name)" }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = local.documentation[each.key]
  }

  alert_strategy {
    auto_close = "86400s"
    # A fault that every delivery repeats notifies once an hour.
    notification_rate_limit {
      period = "3600s"
    }
  }
}
