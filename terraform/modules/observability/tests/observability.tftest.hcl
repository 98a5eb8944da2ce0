mock_provider "google" {}

variables {
  project_id     = "my-project"
  project_number = "123456789012"
  prefix         = "dropforge"
  subscriptions  = { watch = "dropforge-tick", teardown = "dropforge-teardown" }
  alerts         = { emails = [], notification_channels = [], backlog_minutes = 15, vm_age_hours_max = 192 }
}

run "documents_every_alert" {
  command = plan
  assert {
    condition = alltrue([
      for policy in google_monitoring_alert_policy.threshold : length(policy.documentation[0].content) > 50
    ])
    error_message = "Every alert must document its remedy."
  }
  assert {
    condition     = length(google_billing_budget.this) == 0
    error_message = "There must be no budget by default."
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
