# For data that must not leave the project: customer-managed key, no internet access, signed drivers, alerts, a budget,
# point-in-time recovery. First run the commands of terraform/README.md, "With a customer-managed key".
provider "google" {
  project = var.project_id
  # The Budget API requires a quota project.
  user_project_override = true
  billing_project       = var.project_id
}

module "dropforge" {
  source     = "../.."
  project_id = var.project_id
  region     = var.region

  submitters = ["group:${var.team}"]
  # The API keeps its public ingress: the CLI could reach an internal one only through a VPN or Interconnect.
  api_access = { members = ["group:${var.team}"] }
  encryption = { kms_key_name = var.kms_key_name }
  labels     = { cost-centre = "research" }
  vms        = { secure_boot = true }
  secrets    = ["wandb-key"]

  database  = { point_in_time_recovery = true }
  network   = { subnets = { (var.region) = "10.80.0.0/20" }, nat = false, flow_logs = true }
  jobs      = { zones = var.zones }
  retention = { uploads_days = 90, jobs_days = 365, noncurrent_days = 30 }

  runtime_images = {
    "2.11" = {
      machine_images = ["dropforge-2-11-a", "dropforge-2-11-b"]
      image          = "dropforge-2-11"
      python_version = "3.10"
    }
  }

  alerts = { emails = [var.operator_email], backlog_minutes = 10, vm_age_hours_max = 72 }
  budget = { billing_account = var.billing_account, amount = 2000 }
}
