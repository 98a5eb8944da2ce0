mock_provider "google" {}

variables {
  project_id     = "my-project"
  project_number = "123456789012"
  prefix         = "dropforge"
  region         = "us-central1"
  upload_bucket  = "my-project-dropforge-uploads"
  schedules = {
    sweep = { topic = "teardown", cron = "*/5 * * * *", message = { type = "SWEEP" } }
  }
}

run "retains_dead_letters_for_a_week" {
  command = plan
  assert {
    condition     = google_pubsub_topic.this["dead-letters"].message_retention_duration == "604800s"
    error_message = "Dead letters must be retained for seven days."
  }
}

run "publishes_the_scheduled_message" {
  command = plan
  assert {
    condition = (
      base64decode(google_cloud_scheduler_job.this["sweep"].pubsub_target[0].data) == "{\"type\":\"SWEEP\"}"
    )
    error_message = "The message must be base64-encoded JSON."
  }
}

run "rejects_incomplete_cron_schedules" {
  command = plan
  variables {
    schedules = { tick = { topic = "tick", cron = "* *", message = { type = "TICK" } } }
  }
  expect_failures = [var.schedules]
}

run "rejects_empty_messages" {
  command = plan
  variables {
    schedules = { tick = { topic = "tick", cron = "* * * * *", message = {} } }
  }
  expect_failures = [var.schedules]
}
