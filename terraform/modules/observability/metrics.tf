# Metrics of the lines that functions log (docs/log-lines.md). Labels have few values each, and none is an id.
locals {
  transitions = "${local.function_logs} AND jsonPayload.kind=\"transition\" AND jsonPayload.record=\"job\""
  decisions   = "${local.function_logs} AND jsonPayload.kind=\"decision\""
  endings     = "${local.transitions} AND jsonPayload.to=(\"SUCCEEDED\" OR \"FAILED\" OR \"CANCELLED\")"

  second  = 1000
  minute  = 60 * local.second
  hour    = 60 * local.minute
  latency = [for seconds in [1, 2, 5, 10, 20, 30, 45, 60, 90, 120, 180, 240, 300, 420, 600, 1200, 1800] : seconds * local.second]
  waiting = concat(local.latency, [for hours in [1, 2, 4, 8, 24, 72, 168] : hours * local.hour])

  # A metric with a value is a distribution; others count lines.
  log_metrics = {
    jobs_ended = {
      title  = "jobs ended"
      filter = local.endings
      labels = { state = "to", cause = "cause" }
    }
    attempts = {
      title   = "attempts of an ended job"
      filter  = local.endings
      value   = "attempt"
      buckets = [1, 2, 3, 4, 5, 8, 12, 20, 50]
    }
    # A job whose first attempt never ran is not in it.
    start_time = {
      title   = "time from submission to the first RUNNING"
      filter  = "${local.transitions} AND jsonPayload.from=\"PREPARING\" AND jsonPayload.to=\"RUNNING\" AND jsonPayload.attempt=1"
      value   = "ageMs"
      unit    = "ms"
      buckets = local.waiting
    }
    # A job that keeps its VM for its owner closes when the VM is released.
    closing_time = {
      title   = "time from a job's end to its last VM's end"
      filter  = "${local.endings} AND jsonPayload.from=\"CLOSING\" AND NOT jsonPayload.isKept=true"
      value   = "inStateMs"
      unit    = "ms"
      buckets = local.waiting
    }
    verdict_time = {
      title   = "time from upload or message to the verdict"
      filter  = "${local.function_logs} AND jsonPayload.kind=\"verdict\" AND jsonPayload.verdictMs>=0"
      labels  = { verdict = "verdict" }
      value   = "verdictMs"
      unit    = "ms"
      buckets = local.latency
    }
    create_failures = {
      title  = "create failures of VMs"
      filter = "${local.decisions} AND jsonPayload.decision=\"CREATE_FAILED\""
      labels = { zone = "zone", cause = "cause" }
    }
    heartbeats_rejected = {
      title  = "rejected heartbeats"
      filter = "${local.decisions} AND jsonPayload.decision=\"HEARTBEAT_REJECTED\""
      labels = { reason = "reason" }
    }
    # The mean of a distribution is exact, whatever its buckets.
    spending = {
      title   = "US dollars an hour for running VMs"
      filter  = "${local.function_logs} AND jsonPayload.kind=\"usage\""
      value   = "usdPerHour"
      buckets = [0.01, 0.1, 1, 10, 100, 1000]
    }
  }
}

resource "google_logging_metric" "log" {
  for_each    = local.log_metrics
  project     = var.project_id
  name        = "${var.prefix}/${each.key}"
  description = "Dropforge: ${each.value.title}."
  filter      = each.value.filter

  metric_descriptor {
    metric_kind  = "DELTA"
    value_type   = can(each.value.value) ? "DISTRIBUTION" : "INT64"
    unit         = try(each.value.unit, "1")
    display_name = "Dropforge: ${each.value.title}"
    dynamic "labels" {
      for_each = try(each.value.labels, {})
      content {
        key        = labels.key
        value_type = "STRING"
      }
    }
  }

  label_extractors = { for key, field in try(each.value.labels, {}) : key => "EXTRACT(jsonPayload.${field})" }
  value_extractor  = try("EXTRACT(jsonPayload.${each.value.value})", null)

  dynamic "bucket_options" {
    for_each = try([each.value.buckets], [])
    content {
      explicit_buckets {
        bounds = bucket_options.value
      }
    }
  }
}

# The preemption rate shows whether another region or STANDARD is worth its price.
resource "google_logging_metric" "interruptions" {
  project     = var.project_id
  name        = "${var.prefix}/interruptions"
  description = "Preempted and failed VMs."
  filter = join(" ", [
    "resource.type=\"gce_instance\" protoPayload.resourceName:\"/instances/df-\"",
    "logName=\"projects/${var.project_id}/logs/cloudaudit.googleapis.com%2Fsystem_event\"",
    "protoPayload.methodName=(\"compute.instances.preempted\" OR \"compute.instances.hostError\")",
  ])

  metric_descriptor {
    metric_kind  = "DELTA"
    value_type   = "INT64"
    unit         = "1"
    display_name = "Dropforge: VMs preempted or lost"
    labels {
      key         = "method"
      value_type  = "STRING"
      description = "Method name of Compute Engine's system event."
    }
  }

  label_extractors = { method = "EXTRACT(protoPayload.methodName)" }
}
