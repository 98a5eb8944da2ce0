mock_provider "google" {}

variables {
  project_id = "my-project"
  name       = "dropforge"
  vm_tag     = "dropforge-vm"
  subnets    = { us-central1 = "10.80.0.0/20", europe-west4 = "10.80.16.0/20" }
}

run "has_one_subnet_name_in_every_region_and_no_nat" {
  command = plan
  assert {
    condition     = output.subnetwork_pattern == "projects/my-project/regions/{region}/subnetworks/dropforge"
    error_message = "The pattern must contain the {region} placeholder."
  }
  assert {
    condition     = length(google_compute_router_nat.this) == 0
    error_message = "NAT must be off by default: it is billed while nothing runs."
  }
}

run "creates_nat_in_every_region_on_request" {
  command = plan
  variables {
    nat = true
  }
  assert {
    condition     = toset(keys(google_compute_router_nat.this)) == toset(["us-central1", "europe-west4"])
    error_message = "Each region with a subnet must have a NAT gateway."
  }
}

run "rejects_a_network_without_subnets" {
  command = plan
  variables {
    subnets = {}
  }
  expect_failures = [var.subnets]
}
