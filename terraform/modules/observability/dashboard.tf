locals {
  charts = {
    "Messages handled, by stage" = {
      metric  = "pubsub.googleapis.com/subscription/push_request_count"
      filter  = local.subscriptions_filter
      group   = "resource.label.subscription_id"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    }
    "Oldest unacknowledged message (seconds)" = {
      metric  = "pubsub.googleapis.com/subscription/oldest_unacked_message_age"
      filter  = local.subscriptions_filter
      group   = "resource.label.subscription_id"
      aligner = "ALIGN_MAX"
      reducer = "REDUCE_MAX"
    }
    "Dead-lettered messages" = {
      metric  = "pubsub.googleapis.com/subscription/dead_letter_message_count"
      filter  = local.subscriptions_filter
      group   = "resource.label.subscription_id"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    }
    "VMs, by zone" = {
      metric  = "compute.googleapis.com/instance/uptime_total"
      filter  = local.vms_filter
      group   = "resource.label.zone"
      aligner = "ALIGN_MAX"
      reducer = "REDUCE_COUNT"
    }
    "VMs preempted or failed" = {
      metric  = "logging.googleapis.com/user/${google_logging_metric.interruptions.name}"
      filter  = "resource.type=\"gce_instance\""
      group   = "metric.label.method"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    }
    "Failed requests, by function" = {
      metric  = "run.googleapis.com/request_count"
      filter  = "${local.services_filter} AND metric.labels.response_code_class=\"5xx\""
      group   = "resource.label.service_name"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    }
    "Requests, by function" = {
      metric  = "run.googleapis.com/request_count"
      filter  = local.services_filter
      group   = "resource.label.service_name"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    }
    "Request latency, 95th percentile (ms)" = {
      metric  = "run.googleapis.com/request_latencies"
      filter  = local.services_filter
      group   = "resource.label.service_name"
      aligner = "ALIGN_PERCENTILE_95"
      reducer = "REDUCE_MAX"
    }
  }
}

resource "google_monitoring_dashboard" "this" {
  project = var.project_id
  dashboard_json = jsonencode({
    displayName = "Dropforge"
    gridLayout = {
      columns = "2"
      widgets = [
        for title, chart in local.charts : {
          title = title
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
                    groupByFields      = [chart.group]
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
