# Jobs first, machinery second.
locals {
  job_charts = [
    { title = "Jobs ended, by state", log = "jobs_ended", label = "state" },
    { title = "Jobs failed, by cause", log = "jobs_ended", label = "cause", where = "metric.labels.state=\"FAILED\"" },
    { title = "Time from submission to running, 95th percentile (ms)", log = "start_time", reducer = "REDUCE_PERCENTILE_95" },
    { title = "Attempts a job, mean", log = "attempts", reducer = "REDUCE_MEAN" },
    { title = "Create failures, by zone", log = "create_failures", label = "zone" },
    { title = "Create failures, by cause", log = "create_failures", label = "cause" },
    { title = "US dollars an hour for running VMs", log = "spending", reducer = "REDUCE_MEAN" },
    { title = "Time from upload to verdict, 99th percentile (ms)", log = "verdict_time", reducer = "REDUCE_PERCENTILE_99" },
    { title = "Time from a job's end to its last VM's end, 99th percentile (ms)", log = "closing_time", reducer = "REDUCE_PERCENTILE_99" },
    { title = "Heartbeats rejected, by reason", log = "heartbeats_rejected", label = "reason" },
  ]

  machinery_charts = [
    {
      title   = "VMs, by zone"
      metric  = "compute.googleapis.com/instance/uptime_total"
      filter  = local.vms_filter
      group   = "resource.label.zone"
      aligner = "ALIGN_MAX"
      reducer = "REDUCE_COUNT"
    },
    {
      title   = "VMs preempted or failed"
      metric  = "logging.googleapis.com/user/${google_logging_metric.interruptions.name}"
      filter  = "resource.type=\"gce_instance\""
      group   = "metric.label.method"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    },
    {
      title   = "Messages handled, by stage"
      metric  = "pubsub.googleapis.com/subscription/push_request_count"
      filter  = local.subscriptions_filter
      group   = "resource.label.subscription_id"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    },
    {
      title   = "Oldest unacknowledged message (seconds)"
      metric  = "pubsub.googleapis.com/subscription/oldest_unacked_message_age"
      filter  = local.subscriptions_filter
      group   = "resource.label.subscription_id"
      aligner = "ALIGN_MAX"
      reducer = "REDUCE_MAX"
    },
    {
      title   = "Dead-lettered messages"
      metric  = "pubsub.googleapis.com/subscription/dead_letter_message_count"
      filter  = local.subscriptions_filter
      group   = "resource.label.subscription_id"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    },
    {
      title   = "Failed requests, by function"
      metric  = "run.googleapis.com/request_count"
      filter  = "${local.services_filter} AND metric.labels.response_code_class=\"5xx\""
      group   = "resource.label.service_name"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    },
    {
      title   = "Requests, by function"
      metric  = "run.googleapis.com/request_count"
      filter  = local.services_filter
      group   = "resource.label.service_name"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    },
    {
      title   = "Request latency, 95th percentile (ms)"
      metric  = "run.googleapis.com/request_latencies"
      filter  = local.services_filter
      group   = "resource.label.service_name"
      aligner = "ALIGN_PERCENTILE_95"
      reducer = "REDUCE_MAX"
    },
  ]

  charts = concat(
    [
      for chart in local.job_charts : {
        title   = chart.title
        metric  = "logging.googleapis.com/user/${google_logging_metric.log[chart.log].name}"
        filter  = join(" AND ", compact(["resource.type=\"cloud_run_revision\"", try(chart.where, null)]))
        group   = try("metric.label.${chart.label}", null)
        aligner = "ALIGN_DELTA"
        reducer = try(chart.reducer, "REDUCE_SUM")
      }
    ],
    local.machinery_charts,
  )
}

resource "google_monitoring_dashboard" "this" {
  project = var.project_id
  dashboard_json = jsonencode({
    displayName = "Dropforge"
    gridLayout = {
      columns = "2"
      widgets = [
        for chart in local.charts : {
          title = chart.title
          xyChart = {
            dataSets = [{
              plotType   = "LINE"
              targetAxis = "Y1"
              timeSeriesQuery = {
                timeSeriesFilter = {
                  filter = "metric.type=\"${chart.metric}\" AND ${chart.filter}"
                  aggregation = {
                    alignmentPeriod    = "300s"
                    perSeriesAligner   = chart.aligner
                    crossSeriesReducer = chart.reducer
                    groupByFields      = compact([chart.group])
                  }
                }
              }
            }]
          }
        }
      ]
    }
  })
}
