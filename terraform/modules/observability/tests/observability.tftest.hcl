mock_provider "google" {}

variables {
  project_id     = "my-project"
  project_number = "123456789012"
  prefix         = "dropforge"
  subscriptions  = { watch = "dropforge-tick", teardown = "dropforge-teardown" }
  alerts         = { emails = [], notification_channels = [], backlog_minutes = 15, vm_age_hours_max = 192 }
}

run "says_what_to_do_in_every_alert" {
  command = plan
  assert {
    condition = alltrue([
      for policy in google_monitoring_alert_policy.threshold : length(policy.documentation[0].content) > 50
    ])
    error_message = "An alert without a remedy is noise."
  }
  assert {
    condition     = length(google_billing_budget.this) == 0
    error_message = "A budget is asked for."
  }
}

run "tells_whom_it_should" {
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
    error_message = "Every address has a channel."
  }
  assert {
    condition     = google_billing_budget.this[0].amount[0].specified_amount[0].units == "100"
    error_message = "The budget is what was asked for."
  }
}

run "refuses_to_watch_nobody" {
  command = plan
  variables {
    subscriptions = { teardown = "dropforge-teardown" }
  }
  expect_failures = [var.subscriptions]
}
