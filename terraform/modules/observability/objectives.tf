# Two objectives over 30 days, and alerts on their burn rates as in Google's SRE workbook ("Alerting on SLOs"): the error
# budget of 1 % would be used up within two days (fast) or five days (slow). The short window ends an alert soon after its
# cause. An objective of few events alerts on a single bad one.
locals {
  objectives = {
    verdicts = {
      title   = "99 % of uploads and messages have a verdict within 60 seconds"
      service = "Dropforge: intake"
      metric  = "verdict_time"
      max_ms  = 60 * local.second
    }
    vms-deleted = {
      title   = "99 % of jobs have no VM 5 minutes after their end"
      service = "Dropforge: deletion of VMs"
      metric  = "closing_time"
      max_ms  = 5 * local.minute
    }
  }

  burns = {
    fast = { rate = 14.4, windows = ["3600s", "300s"] }
    slow = { rate = 6, windows = ["21600s", "1800s"] }
  }

  burn_titles = { verdicts = "Verdicts are late", vms-deleted = "VMs are deleted late" }

  burn_alerts = merge([
    for objective, title in local.burn_titles : {
      for speed, burn in local.burns : "${objective}-${speed}" => {
        title     = "${title}: ${speed} burn"
        objective = objective
        rate      = burn.rate
        windows   = burn.windows
        meaning = join(" ", [
          "The objective is that ${local.objectives[objective].title}.",
          "Now its error budget of 30 days is used up ${burn.rate} times as fast.",
        ])
      }
    }
  ]...)
}

resource "google_monitoring_custom_service" "this" {
  for_each     = local.objectives
  project      = var.project_id
  service_id   = "${var.prefix}-${each.key}"
  display_name = each.value.service
  user_labels  = { app = var.prefix }
}

resource "google_monitoring_slo" "this" {
  for_each            = local.objectives
  project             = var.project_id
  service             = google_monitoring_custom_service.this[each.key].service_id
  slo_id              = each.key
  display_name        = each.value.title
  goal                = 0.99
  rolling_period_days = 30
  user_labels         = { app = var.prefix }

  request_based_sli {
    distribution_cut {
      distribution_filter = join(" AND ", [
        "metric.type=\"logging.googleapis.com/user/${google_logging_metric.log[each.value.metric].name}\"",
        "resource.type=\"cloud_run_revision\"",
      ])
      range {
        max = each.value.max_ms
      }
    }
  }

  # Cloud Monitoring knows a new metric after up to ten minutes. This alert is created after the functions, whose builds
  # take most of that time in a first apply.
  depends_on = [google_monitoring_alert_policy.reconciler_absent]
}

resource "google_monitoring_alert_policy" "burn" {
  for_each              = local.burn_alerts
  project               = var.project_id
  display_name          = "Dropforge: ${each.value.title}"
  combiner              = "AND"
  notification_channels = local.channels
  user_labels           = { app = var.prefix }

  dynamic "conditions" {
    for_each = each.value.windows
    content {
      display_name = "Burn rate above ${each.value.rate} over ${conditions.value}"
      condition_threshold {
        filter          = "select_slo_burn_rate(\"${google_monitoring_slo.this[each.value.objective].name}\", \"${conditions.value}\")"
        comparison      = "COMPARISON_GT"
        threshold_value = each.value.rate
        duration        = "0s"
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = local.documentation[each.key]
  }

  alert_strategy {
    auto_close = "86400s"
  }
}
