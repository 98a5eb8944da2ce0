# An alert is something that nobody mends but a person. Failed jobs are their owners' business, and in their reports.
locals {
  # What is ours, in the language of Cloud Monitoring's filters.
  own_subscriptions = join(" AND ", [
    "resource.type=\"pubsub_subscription\"",
    "resource.labels.subscription_id=starts_with(\"${var.prefix}-\")",
  ])
  tick_subscription = join(" AND ", [
    "resource.type=\"pubsub_subscription\"",
    "resource.labels.subscription_id=\"${var.subscriptions["watch"]}\"",
  ])
  own_services = join(" AND ", [
    "resource.type=\"cloud_run_revision\"",
    "resource.labels.service_name=starts_with(\"${var.prefix}-\")",
  ])
  own_vms = "resource.type=\"gce_instance\" AND metadata.user_labels.\"managed-by\"=\"dropforge\""

  thresholds = {
    dead-letters = {
      title    = "A message was given up"
      metric   = "pubsub.googleapis.com/subscription/dead_letter_message_count"
      among    = local.own_subscriptions
      aligner  = "ALIGN_DELTA"
      reducer  = "REDUCE_SUM"
      group_by = ["resource.labels.subscription_id"]
      above    = 0
      duration = "0s"
      remedy   = <<-EOT
        The job it was about has the evidence, and so has the log of on-dead-letter: look for "message was
        given up". Mend the cause, then seek the subscription of dead letters back, or publish the message
        again.
      EOT
    }
    stuck-stage = {
      title    = "A stage does not get through its messages"
      metric   = "pubsub.googleapis.com/subscription/oldest_unacked_message_age"
      among    = local.own_subscriptions
      aligner  = "ALIGN_MAX"
      reducer  = "REDUCE_MAX"
      group_by = ["resource.labels.subscription_id"]
      above    = var.alerts.backlog_minutes * 60
      duration = "300s"
      remedy   = <<-EOT
        Jobs wait for this stage; if it is teardown, VMs that should be gone still cost money. Its
        function's log says what fails.
      EOT
    }
    old-vm = {
      title    = "A VM is older than any job should be"
      metric   = "compute.googleapis.com/instance/uptime_total"
      among    = local.own_vms
      aligner  = "ALIGN_MAX"
      reducer  = "REDUCE_MAX"
      group_by = ["metric.labels.instance_name"]
      above    = var.alerts.vm_age_hours_max * 3600
      duration = "0s"
      remedy   = <<-EOT
        See whose it is: gcloud compute instances list --filter=labels.managed-by=dropforge. If no running
        job owns it, the sweep and the VM's own maxRunDuration have both failed: delete it, then look at
        teardown's log.
      EOT
    }
    faults = {
      title = "A function fails"
      # Whatever is thrown is answered with 500. A metric of our own would be unknown to Cloud Monitoring for up to ten
      # minutes after it was made, and the policy refused.
      metric   = "run.googleapis.com/request_count"
      among    = "${local.own_services} AND metric.labels.response_code_class=\"5xx\""
      aligner  = "ALIGN_DELTA"
      reducer  = "REDUCE_SUM"
      group_by = ["resource.labels.service_name"]
      above    = 10
      duration = "300s"
      remedy   = <<-EOT
        One now and then is a retry at work; ten in five minutes is a fault that stays. The function's log
        says which.
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
      filter          = "metric.type=\"${each.value.metric}\" AND ${each.value.among}"
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.above
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

# The watcher mends everything else; nothing would say that it has stopped. The first condition needs to have seen it
# run once; the second tells of one that never did.
resource "google_monitoring_alert_policy" "watch_absent" {
  project               = var.project_id
  display_name          = "Dropforge: The watcher does not run"
  combiner              = "OR"
  notification_channels = local.channels
  user_labels           = { app = var.prefix }

  conditions {
    display_name = "No tick was handled for half an hour"
    condition_absent {
      filter = join(" AND ", [
        "metric.type=\"pubsub.googleapis.com/subscription/push_request_count\"",
        local.tick_subscription,
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
    display_name = "A tick has waited for half an hour"
    condition_threshold {
      filter = join(" AND ", [
        "metric.type=\"pubsub.googleapis.com/subscription/oldest_unacked_message_age\"",
        local.tick_subscription,
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
      Lost messages, silent VMs and passed deadlines go unseen, and jobs stand still. Look whether the
      scheduler's job ${var.prefix}-tick is paused, and at the log of ${var.prefix}-watch.
    EOT
  }

  alert_strategy {
    auto_close = "86400s"
  }
}
