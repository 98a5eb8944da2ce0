# Alerts only for conditions that need an operator. Failed jobs concern their owners, and are in their reports.
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

  thresholds = merge(local.channel_thresholds, {
    dead-letters = {
      title    = "A message was dead-lettered"
      metric   = "pubsub.googleapis.com/subscription/dead_letter_message_count"
      filter   = local.stages_filter
      aligner  = "ALIGN_DELTA"
      reducer  = "REDUCE_SUM"
      group_by = ["resource.labels.subscription_id"]
      limit    = 0
      duration = "0s"
      remedy   = <<-EOT
        The job of the message has the evidence, and so has the log of on-dead-letter: search for
        "message exhausted its deliveries". Fix the cause, then seek the subscription of dead letters back, or
        publish the message again.
      EOT
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
      remedy   = <<-EOT
        Jobs wait for this stage; if it is teardown, VMs that should be deleted are still billed. The
        function's log shows the error.
      EOT
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
      remedy   = <<-EOT
        Find its job: gcloud compute instances list --filter=labels.managed-by=dropforge. If no running
        job owns it, the sweep and the VM's own maxRunDuration have both failed: delete the VM, then check
        the log of teardown.
      EOT
    }
    faults = {
      title = "A function returns errors"
      # A function that throws returns 500. A user-defined metric would be unknown to Cloud Monitoring for up to ten
      # minutes after its creation, and the policy would be rejected.
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
      remedy   = <<-EOT
        Single errors are handled by retries; ten in five minutes are a persistent fault. The function's log
        shows the error.
      EOT
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
      remedy   = <<-EOT
        A channel took no message for about 40 minutes; jobs are not affected. The command "dropforge notify list" shows
        its answers and what was not delivered, and "dropforge notify test CHANNEL" tests it.
      EOT
    }
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
        alignment_period     = "300s"
        per_series_aligner   = each.value.aligner
        cross_series_reducer = each.value.reducer
        group_by_fields      = each.value.group_by
      }
    }
  }

  documentation {
    mime_type = "text/markdown"
    content   = each.value.remedy
  }

  alert_strategy {
    auto_close = "86400s"
  }
}

# The reconciler recovers from all other faults, so its own failure needs an alert. The first condition requires that it
# has run once; the second detects that it never ran.
resource "google_monitoring_alert_policy" "reconciler_absent" {
  project               = var.project_id
  display_name          = "Dropforge: The reconciler does not run"
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
    content   = <<-EOT
      Lost messages, VMs that stopped reporting and passed deadlines are not detected, and jobs make no
      progress. Check whether the scheduler job ${var.prefix}-tick is paused, and the log of ${var.prefix}-watch.
    EOT
  }

  alert_strategy {
    auto_close = "86400s"
  }
}
