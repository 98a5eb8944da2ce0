locals {
  subscribed = merge(
    {
      for name, function in var.functions : name => merge(function, {
        function = name
        name     = "${var.prefix}-${function.topic}"
        path     = var.delivery.topic_ids[function.topic]
      }) if function.topic != null && function.channels == null
    },
    # The function reads its channel from the name.
    [
      for name, function in var.functions : {
        for channel in function.channels : "${name}-${channel}" => merge(function, {
          function = name
          name     = "${var.prefix}-${name}-${channel}"
          path     = "projects/${var.project_id}/topics/${var.prefix}-${name}-${channel}"
        })
      } if function.channels != null
    ]...
  )
  # The dead-letter topic has no dead-letter policy: a message would return to its own topic indefinitely.
  dead_lettered = {
    for name, function in local.subscribed : name => function if function.topic != var.delivery.dead_letter_topic
  }
}

# One subscription per event function, named after its topic, or per channel: a dead letter carries the subscription's
# name, from which on-dead-letter derives topic or channel.
resource "google_pubsub_subscription" "this" {
  for_each                   = local.subscribed
  project                    = var.project_id
  name                       = each.value.name
  topic                      = var.delivery.topic_ids[each.value.topic]
  labels                     = var.labels
  message_retention_duration = "${each.value.retention_seconds}s"
  # For push, this is also the request timeout. It exceeds the function's timeout, so that the function ends first.
  ack_deadline_seconds = min(600, each.value.timeout_seconds + 60)

  push_config {
    # Not the function's cloudfunctions.net URL: only run.app counts as internal traffic. Functions of an earlier version
    # read the path.
    push_endpoint = join("/", [
      google_cloudfunctions2_function.this[each.value.function].service_config[0].uri,
      each.value.path,
    ])
    oidc_token {
      service_account_email = var.delivery.push_account
      audience              = google_cloudfunctions2_function.this[each.value.function].service_config[0].uri
    }
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }

  # By default, a subscription is deleted after 31 days without activity.
  expiration_policy {
    ttl = ""
  }

  dynamic "dead_letter_policy" {
    for_each = contains(keys(local.dead_lettered), each.key) ? [each.value.deliveries_max] : []
    content {
      dead_letter_topic     = var.delivery.topic_ids[var.delivery.dead_letter_topic]
      max_delivery_attempts = dead_letter_policy.value
    }
  }

  depends_on = [google_cloud_run_service_iam_binding.invokers]
}

# Pub/Sub's service agent acknowledges a message on the subscription when it forwards it to the dead-letter topic.
resource "google_pubsub_subscription_iam_member" "service_agent" {
  for_each     = local.dead_lettered
  project      = var.project_id
  subscription = google_pubsub_subscription.this[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = var.delivery.service_agent
}
