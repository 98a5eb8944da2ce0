# Needs the built functions: npm run build.
mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

variables {
  project_id     = "my-project"
  runtime_images = { "2.11" = { image = "dropforge-2-11", python_version = "3.10" } }
}

run "knows_the_heartbeat_address_before_there_is_one" {
  command = plan
  assert {
    condition     = output.heartbeat_url == "https://dropforge-heartbeat-123456789012.us-central1.run.app"
    error_message = "Provision and heartbeat are told the same address."
  }
}

run "puts_everything_into_the_region_asked_for" {
  command = plan
  variables {
    region = "europe-west4"
  }
  assert {
    condition     = one(module.network[0].regions) == "europe-west4"
    error_message = "Jobs run in the deployment's region unless subnets say otherwise."
  }
  assert {
    condition     = output.upload_bucket == "my-project-dropforge-uploads"
    error_message = "Buckets are named after the project."
  }
}

run "refuses_an_api_for_everybody" {
  command = plan
  variables {
    api_access = { members = ["allUsers"] }
  }
  expect_failures = [var.api_access]
}

run "refuses_to_be_deployed_without_an_image" {
  command = plan
  variables {
    runtime_images = {}
  }
  expect_failures = [var.runtime_images]
}
