mock_provider "google" {}

variables {
  project_id    = "my-project"
  prefix        = "dropforge"
  region        = "us-central1"
  source_bucket = "my-project-dropforge-sources"
  source_dir    = "tests/archives"
  build_account = { name = "projects/my-project/serviceAccounts/b", member = "serviceAccount:b@example.com" }
  delivery = {
    topic_ids = {
      tick         = "projects/my-project/topics/dropforge-tick"
      dead-letters = "projects/my-project/topics/dropforge-dead-letters"
    }
    dead_letter_topic = "dead-letters"
    push_account      = "push@example.com"
    service_agent     = "serviceAccount:agent@example.com"
  }
  functions = {
    watch = {
      description     = "Reconciles jobs."
      service_account = "watch@example.com"
      environment     = { PROJECT_ID = "my-project" }
      invokers        = { push = "serviceAccount:push@example.com" }
      topic           = "tick"
    }
  }
}

run "is_private_and_scales_to_zero_by_default" {
  command = plan
  assert {
    condition     = google_cloudfunctions2_function.this["watch"].service_config[0].min_instance_count == 0
    error_message = "min_instance_count must be 0: nothing runs between jobs."
  }
  assert {
    condition = (
      google_cloudfunctions2_function.this["watch"].service_config[0].ingress_settings == "ALLOW_INTERNAL_ONLY"
    )
    error_message = "Ingress must be internal by default."
  }
  assert {
    condition     = google_pubsub_subscription.this["watch"].dead_letter_policy[0].max_delivery_attempts == 10
    error_message = "A message must be dead-lettered after ten deliveries by default."
  }
}

run "rejects_missing_archives" {
  command = plan
  variables {
    source_dir = "nowhere"
  }
  expect_failures = [var.source_dir]
}

run "rejects_timeouts_above_the_ack_deadline" {
  command = plan
  variables {
    functions = {
      watch = {
        description     = "Too slow."
        service_account = "watch@example.com"
        environment     = {}
        invokers        = {}
        topic           = "tick"
        timeout_seconds = 600
      }
    }
  }
  expect_failures = [var.functions]
}

run "rejects_concurrency_on_a_fractional_cpu" {
  command = plan
  variables {
    functions = {
      watch = {
        description     = "Concurrent."
        service_account = "watch@example.com"
        environment     = {}
        invokers        = {}
        concurrency     = 20
      }
    }
  }
  expect_failures = [var.functions]
}

run "rejects_public_invokers" {
  command = plan
  variables {
    functions = {
      watch = {
        description     = "Public."
        service_account = "watch@example.com"
        environment     = {}
        invokers        = { public = "allUsers" }
      }
    }
  }
  expect_failures = [var.functions]
}
