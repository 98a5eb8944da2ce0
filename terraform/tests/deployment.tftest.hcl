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

run "gives_users_a_folder_each_with_only_own_jobs" {
  command = plan
  variables {
    only_own_jobs = true
    operators     = ["user:grace@example.com"]
    submitters    = ["user:grace@example.com"]
    upload_users  = ["user:ada@example.com"]
  }
  assert {
    condition     = output.deployment.userFolders && output.deployment.submitTopic == null
    error_message = "The CLI must upload into the user's folder: messages do not say who published them."
  }
}

run "rejects_submitters_who_are_not_operators_with_only_own_jobs" {
  command = plan
  variables {
    only_own_jobs = true
    submitters    = ["user:ada@example.com"]
  }
  expect_failures = [var.only_own_jobs]
}

run "rejects_shells_in_the_jobs_of_others_with_only_own_jobs" {
  command = plan
  variables {
    only_own_jobs = true
    operators     = ["user:grace@example.com"]
    shell_access  = { members = ["user:grace@example.com", "user:ada@example.com"] }
  }
  expect_failures = [var.shell_access]
}

run "rejects_a_group_of_operators" {
  command = plan
  variables {
    operators = ["group:ops@example.com"]
  }
  expect_failures = [var.operators]
}

run "rejects_a_folder_for_a_group" {
  command = plan
  variables {
    only_own_jobs = true
    upload_users  = ["group:team@example.com"]
  }
  expect_failures = [var.upload_users]
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
