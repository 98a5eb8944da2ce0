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
      description     = "Wakes what is due."
      service_account = "watch@example.com"
      environment     = { PROJECT_ID = "my-project" }
      invokers        = { push = "serviceAccount:push@example.com" }
      topic           = "tick"
    }
  }
}

run "is_small_private_and_idle_by_default" {
  command = plan
  assert {
    condition     = google_cloudfunctions2_function.this["watch"].service_config[0].min_instance_count == 0
    error_message = "Nothing runs between jobs."
  }
  assert {
    condition = (
      google_cloudfunctions2_function.this["watch"].service_config[0].ingress_settings == "ALLOW_INTERNAL_ONLY"
    )
    error_message = "A function is open to the inside alone unless it says otherwise."
  }
  assert {
    condition     = google_pubsub_subscription.this["watch"].dead_letter_policy[0].max_delivery_attempts == 10
    error_message = "Ten tries, then the dead letters."
  }
}

run "refuses_functions_that_were_not_built" {
  command = plan
  variables {
    source_dir = "nowhere"
  }
  expect_failures = [var.source_dir]
}

run "refuses_more_time_than_pubsub_gives" {
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

run "refuses_many_requests_on_a_part_of_a_cpu" {
  command = plan
  variables {
    functions = {
      watch = {
        description     = "Crowded."
        service_account = "watch@example.com"
        environment     = {}
        invokers        = {}
        concurrency     = 20
      }
    }
  }
  expect_failures = [var.functions]
}

run "refuses_the_public" {
  command = plan
  variables {
    functions = {
      watch = {
        description     = "Open."
        service_account = "watch@example.com"
        environment     = {}
        invokers        = { everybody = "allUsers" }
      }
    }
  }
  expect_failures = [var.functions]
}
