# Alerts only for conditions that need an operator. Failed jobs concern their owners, and are in their reports. Each alert
# has a section of its title in docs/runbook.md; a test compares them (test/terraform/operations.test.ts).
locals {
  # Cloud Monitoring filters that select this deployment's resources.
  subscriptions_filter = join(" AND ", [
    "resource.type=\"pubsub_subscription\"",
    "resource.labels.subscription_id=starts_with(\"${var.prefix}-\")",
  ])
  tick_subscription_filter = join(" AND ", [
    "resource.type=\"pubsub_subscription\"",
    "resource.labels.subscription_id=\"${var.subscriptions["watch"]}\"",
  ])
  # A channel that takes no messages delays and loses those for it, and nothing else: it has an alert of its own.
  channel_subscriptions = [for name, subscription in var.subscriptions : subscription if startswith(name, "notify-")]
  channels_filter = join(" AND ", [
    "resource.type=\"pubsub_subscription\"",
    "resource.labels.subscription_id=one_of(${join(",", [for name in local.channel_subscriptions : "\"${name}\""])})",
  ])
  stage_subscriptions = setsubtract(values(var.subscriptions), local.channel_subscriptions)
  stages_filter = join(" AND ", [
    "resource.type=\"pubsub_subscription\"",
    "resource.labels.subscription_id=one_of(${join(",", [for name in local.stage_subscriptions : "\"${name}\""])})",
  ])
  services_filter = join(" AND ", [
    "resource.type=\"cloud_run_revision\"",
    "resource.labels.service_name=starts_with(\"${var.prefix}-\")",
  ])
  vms_filter = "resource.type=\"gce_instance\" AND metadata.user_labels.\"managed-by\"=\"dropforge\""

  thresholds = merge(local.channel_thresholds, local.uptime_thresholds, {
    dead-letters = {
      title    = "A message was dead-lettered"
      metric   = "pubsub.googleapis.com/subscription/dead_letter_message_count"
      filter   = local.stages_filter
      aligner  = "ALIGN_DELTA"
      reducer  = "REDUCE_SUM"
      group_by = ["resource.labels.subscription_id"]
      limit    = 0
      duration = "0s"
      meaning  = "A stage could not handle a message in all of its deliveries. Its job has the evidence, and fails at the fifth such message in a row."
    }
    stuck-stage = {
      title    = "A stage has a message backlog"
      metric   = "pubsub.googleapis.com/subscription/oldest_unacked_message_age"
      filter   = local.stages_filter
      aligner  = "ALIGN_MAX"
      reducer  = "REDUCE_MAX"
      group_by = ["resource.labels.subscription_id"]
      limit    = var.alerts.backlog_minutes * 60
      duration = "300s"
      meaning  = "Jobs wait for this stage; if it is teardown, VMs that should be deleted are still billed."
    }
    old-vm = {
      title    = "A VM exceeds the maximum age"
      metric   = "compute.googleapis.com/instance/uptime_total"
      filter   = local.vms_filter
      aligner  = "ALIGN_MAX"
      reducer  = "REDUCE_MAX"
      group_by = ["metric.labels.instance_name"]
      limit    = var.alerts.vm_age_hours_max * 3600
      duration = "0s"
      meaning  = "If no running job owns the VM, the sweep and the VM's own maxRunDuration have both failed, and it is billed."
    }
    faults = {
      title  = "A function returns errors"
      metric = "run.googleapis.com/request_count"
      # notify answers 500 to have a message delivered again that its channel did not take.
      filter = join(" AND ", [
        local.services_filter,
        "resource.labels.service_name!=\"${var.prefix}-notify\"",
        "metric.labels.response_code_class=\"5xx\"",
      ])
      aligner  = "ALIGN_DELTA"
      reducer  = "REDUCE_SUM"
      group_by = ["resource.labels.service_name"]
      limit    = 10
      duration = "300s"
      meaning  = "Single errors are handled by redelivery; ten in five minutes are a persistent fault."
    }
  })

  channel_thresholds = length(local.channel_subscriptions) == 0 ? {} : {
    undelivered = {
      title    = "A notification was not delivered"
      metric   = "pubsub.googleapis.com/subscription/dead_letter_message_count"
      filter   = local.channels_filter
      aligner  = "ALIGN_DELTA"
      reducer  = "REDUCE_SUM"
      group_by = ["resource.labels.subscription_id"]
      limit    = 0
      duration = "0s"
      meaning  = "A channel took no message for about 40 minutes. Jobs are not affected."
    }
  }

  # All alerts by topic: title and meaning.
  alerts = merge(
    local.thresholds,
    local.log_alerts,
    local.burn_alerts,
    {
      reconciler-absent = {
        title   = "The reconciler does not run"
        meaning = "Lost messages, VMs that stopped reporting and passed deadlines are not detected, and jobs make no progress."
      }
    },
  )

  # The last line is the section of the runbook: its heading is the title.
  documentation = {
    for topic, alert in local.alerts : topic => join("\n\n", [
      alert.meaning,
      "docs/runbook.md#${replace(lower(replace(alert.title, "/[^A-Za-z0-9 -]/", "")), " ", "-")}",
    ])
  }
}

resource "google_monitoring_notification_channel" "email" {
  for_each     = var.alerts.emails
  project      = var.project_id
  display_name = "Dropforge: ${each.value}"
  type         = "email"
  labels       = { email_address = each.value }
}

locals {
  channels = concat(
    [for channel in google_monitoring_notification_channel.email : channel.id],
    tolist(var.alerts.notification_channels),
  )
}

resource "google_monitoring_alert_policy" "threshold" {
  for_each              = local.thresholds
  project               = var.project_id
  display_name          = "Dropforge: ${each.value.title}"
  combiner              = "OR"
  notification_channels = local.channels
  user_labels           = { app = var.prefix }

  conditions {
    display_name = each.value.title
    condition_threshold {
      filter          = "metric.type=\"${each.value.metric}\" AND ${each.value.filter}"
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.limit
      duration        = each.value.duration
      aggregations {
        alignment_period     = try(each.value.period, "300s")
        per_series_aligner   = each.value.aligner
        cross_series_reducer = each.value.reducer
        group_by_fields      = each.value.group_by
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

# The reconciler recovers from all other faults, so its own failure needs an alert. The first condition requires that it
# has run once; the second detects that it never ran.
resource "google_monitoring_alert_policy" "reconciler_absent" {
  project               = var.project_id
  display_name          = "Dropforge: ${local.alerts["reconciler-absent"].title}"
  combiner              = "OR"
  notification_channels = local.channels
  user_labels           = { app = var.prefix }

  conditions {
    display_name = "No tick was acknowledged for half an hour"
    condition_absent {
      filter = join(" AND ", [
        "metric.type=\"pubsub.googleapis.com/subscription/push_request_count\"",
        local.tick_subscription_filter,
        "metric.labels.response_class=\"ack\"",
      ])
      duration = "1800s"
      aggregations {
        alignment_period     = "300s"
        per_series_aligner   = "ALIGN_DELTA"
        cross_series_reducer = "REDUCE_SUM"
      }
    }
  }

  conditions {
    display_name = "A tick is unacknowledged for half an hour"
    condition_threshold {
      filter = join(" AND ", [
        "metric.type=\"pubsub.googleapis.com/subscription/oldest_unacked_message_age\"",
        local.tick_subscription_filter,
      ])
      comparison      = "COMPARISON_GT"
      threshold_value = 1800
      duration        = "0s"
      aggregations {
        alignment_period   = "300s"
        per_series_aligner = "ALIGN_MAX"
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = local.documentation["reconciler-absent"]
  }

  alert_strategy {
    auto_close = "86400s"
  }
}
