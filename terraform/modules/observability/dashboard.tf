locals {
  charts = {
    "Messages handled, by stage" = {
      metric  = "pubsub.googleapis.com/subscription/push_request_count"
      among   = local.own_subscriptions
      group   = "resource.label.subscription_id"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    }
    "Oldest message that waits (seconds)" = {
      metric  = "pubsub.googleapis.com/subscription/oldest_unacked_message_age"
      among   = local.own_subscriptions
      group   = "resource.label.subscription_id"
      aligner = "ALIGN_MAX"
      reducer = "REDUCE_MAX"
    }
    "Messages given up" = {
      metric  = "pubsub.googleapis.com/subscription/dead_letter_message_count"
      among   = local.own_subscriptions
      group   = "resource.label.subscription_id"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    }
    "VMs, by zone" = {
      metric  = "compute.googleapis.com/instance/uptime_total"
      among   = local.own_vms
      group   = "resource.label.zone"
      aligner = "ALIGN_MAX"
      reducer = "REDUCE_COUNT"
    }
    "VMs taken away" = {
      metric  = "logging.googleapis.com/user/${google_logging_metric.interruptions.name}"
      among   = "resource.type=\"gce_instance\""
      group   = "metric.label.method"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    }
    "Requests that failed, by function" = {
      metric  = "run.googleapis.com/request_count"
      among   = "${local.own_services} AND metric.labels.response_code_class=\"5xx\""
      group   = "resource.label.service_name"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    }
    "Requests, by function" = {
      metric  = "run.googleapis.com/request_count"
      among   = local.own_services
      group   = "resource.label.service_name"
      aligner = "ALIGN_DELTA"
      reducer = "REDUCE_SUM"
    }
    "Time of requests, 95th percentile (ms)" = {
      metric  = "run.googleapis.com/request_latencies"
      among   = local.own_services
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
                  filter = "metric.type=\"${chart.metric}\" AND ${chart.among}"
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
