locals {
  heard = { for name, function in var.functions : name => function if function.topic != null }
  # A dead letter that cannot be handled would come back to its own topic for ever.
  given_up = {
    for name, function in local.heard : name => function if function.topic != var.delivery.dead_letter_topic
  }
}

# One for each event function, named as its topic is: what is dead-lettered carries the subscription's name, and that is
# how on-dead-letter knows the topic.
resource "google_pubsub_subscription" "this" {
  for_each                   = local.heard
  project                    = var.project_id
  name                       = "${var.prefix}-${each.value.topic}"
  topic                      = var.delivery.topic_ids[each.value.topic]
  labels                     = var.labels
  message_retention_duration = "${each.value.retention_seconds}s"
  # For push it is the request's time limit as well. Longer than the function's own, so that the function ends first.
  ack_deadline_seconds = min(600, each.value.timeout_seconds + 60)

  push_config {
    # Not the function's cloudfunctions.net address: only run.app counts as internal traffic. The path gives the event
    # its source (functions framework, "legacy pubsub events").
    push_endpoint = join("/", [
      google_cloudfunctions2_function.this[each.key].service_config[0].uri,
      var.delivery.topic_ids[each.value.topic],
    ])
    oidc_token {
      service_account_email = var.delivery.push_account
      audience              = google_cloudfunctions2_function.this[each.key].service_config[0].uri
    }
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }

  # Without this a subscription that hears nothing for 31 days is deleted.
  expiration_policy {
    ttl = ""
  }

  dynamic "dead_letter_policy" {
    for_each = contains(keys(local.given_up), each.key) ? [each.value.attempts_max] : []
    content {
      dead_letter_topic     = var.delivery.topic_ids[var.delivery.dead_letter_topic]
      max_delivery_attempts = dead_letter_policy.value
    }
  }

  depends_on = [google_cloud_run_service_iam_binding.invokers]
}

# Pub/Sub takes what it gives up off the subscription as its own agent.
resource "google_pubsub_subscription_iam_member" "service_agent" {
  for_each     = local.given_up
  project      = var.project_id
  subscription = google_pubsub_subscription.this[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = var.delivery.service_agent
}
