mock_provider "google" {}

variables {
  project_id = "my-project"
  name       = "dropforge"
  vm_tag     = "dropforge-vm"
  subnets    = { us-central1 = "10.80.0.0/20", europe-west4 = "10.80.16.0/20" }
}

run "has_one_name_in_every_region_and_no_standing_cost" {
  command = plan
  assert {
    condition     = output.subnetwork_pattern == "projects/my-project/regions/{region}/subnetworks/dropforge"
    error_message = "The code puts the region into the pattern."
  }
  assert {
    condition     = length(google_compute_router_nat.this) == 0
    error_message = "NAT is asked for, because it costs money while nothing runs."
  }
}

run "gives_every_region_a_way_out_when_asked" {
  command = plan
  variables {
    nat = true
  }
  assert {
    condition     = toset(keys(google_compute_router_nat.this)) == toset(["us-central1", "europe-west4"])
    error_message = "Each region with a subnet has its own NAT."
  }
}

run "refuses_to_be_nowhere" {
  command = plan
  variables {
    subnets = {}
  }
  expect_failures = [var.subnets]
}
