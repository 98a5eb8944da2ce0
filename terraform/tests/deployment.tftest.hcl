# Requires the built functions: npm run build.
mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

variables {
  project_id     = "my-project"
  runtime_images = { "2.11" = { image = "dropforge-2-11", python_version = "3.10" } }
}

run "derives_the_heartbeat_url_before_creation" {
  command = plan
  assert {
    condition     = output.heartbeat_url == "https://dropforge-heartbeat-123456789012.us-central1.run.app"
    error_message = "Provision and heartbeat must get the same URL."
  }
}

run "uses_the_given_region" {
  command = plan
  variables {
    region = "europe-west4"
  }
  assert {
    condition     = one(module.network[0].regions) == "europe-west4"
    error_message = "Jobs must run in the deployment's region unless subnets are given."
  }
  assert {
    condition     = output.upload_bucket == "my-project-dropforge-uploads"
    error_message = "Bucket names must begin with the project id."
  }
}

run "rejects_a_separation_that_no_longer_exists" {
  command = plan
  variables {
    only_own_jobs = true
    operators     = ["user:grace@example.com"]
    upload_users  = ["user:ada@example.com"]
  }
  expect_failures = [var.only_own_jobs, var.operators, var.upload_users]
}

run "rejects_a_public_api" {
  command = plan
  variables {
    api_access = { members = ["allUsers"] }
  }
  expect_failures = [var.api_access]
}

run "rejects_a_deployment_without_an_image" {
  command = plan
  variables {
    runtime_images = {}
  }
  expect_failures = [var.runtime_images]
}
