mock_provider "google" {}

variables {
  project_id     = "my-project"
  project_number = "123456789012"
  prefix         = "dropforge"
  subscriptions  = { watch = "dropforge-tick", teardown = "dropforge-teardown" }
  alerts         = { emails = [], notification_channels = [], backlog_minutes = 15, vm_age_hours_max = 192 }
}

run "has_no_budget_uptime_check_and_log_bucket_by_default" {
  command = plan
  assert {
    condition     = length(google_billing_budget.this) == 0
    error_message = "There must be no budget by default."
  }
  assert {
    condition     = length(google_monitoring_uptime_check_config.api) == 0 && !contains(keys(google_monitoring_alert_policy.threshold), "api-unreachable")
    error_message = "Without a host that can be reached from outside there must be no uptime check."
  }
  assert {
    condition     = length(output.uptime_caller) == 0
    error_message = "Without an uptime check, its service agent must not call the API."
  }
  assert {
    condition     = length(google_logging_project_sink.logs) + length(google_logging_project_exclusion.logs) == 0
    error_message = "Without a log bucket, logs must stay in _Default."
  }
}

run "keeps_logs_in_the_region_with_the_key" {
  command = plan
  variables {
    encryption = { kms_key_name = "projects/p/locations/us-central1/keyRings/r/cryptoKeys/k" }
    log_bucket = { location = "us-central1", retention_days = 90 }
  }
  assert {
    condition     = google_logging_project_bucket_config.this[0].retention_days == 90
    error_message = "The log bucket must have the given retention."
  }
  assert {
    condition     = google_logging_project_bucket_config.this[0].cmek_settings[0].kms_key_name == var.encryption.kms_key_name
    error_message = "The log bucket must have the given key."
  }
  assert {
    condition     = google_logging_project_exclusion.logs[0].filter == google_logging_project_sink.logs[0].filter
    error_message = "What the sink stores must be excluded from _Default, and nothing else."
  }
}

run "notifies_the_given_recipients" {
  command = plan
  variables {
    alerts = {
      emails                = ["a@example.com"]
      notification_channels = ["projects/my-project/notificationChannels/1"]
      backlog_minutes       = 15
      vm_age_hours_max      = 192
    }
    budget = { billing_account = "012345-6789AB-CDEF01", amount = 100 }
  }
  assert {
    condition     = one(keys(google_monitoring_notification_channel.email)) == "a@example.com"
    error_message = "Every address must have a notification channel."
  }
  assert {
    condition     = google_billing_budget.this[0].amount[0].specified_amount[0].units == "100"
    error_message = "The budget must have the given amount."
  }
}

run "rejects_subscriptions_without_watch" {
  command = plan
  variables {
    subscriptions = { teardown = "dropforge-teardown" }
  }
  expect_failures = [var.subscriptions]
}
