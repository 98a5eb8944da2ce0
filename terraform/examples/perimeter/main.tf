# A deployment inside a service perimeter (VPC Service Controls): data can neither leave the project nor be read from
# outside, but by the rules below. The perimeter is created after the deployment, whose accounts the rules name. First try
# it as a dry run: docs/rights.md, "VPC Service Controls".
provider "google" {
  project = var.project_id
  # Access Context Manager requires a quota project.
  user_project_override = true
  billing_project       = var.project_id
}

module "dropforge" {
  source     = "../.."
  project_id = var.project_id

  submitters = ["group:${var.team}"]
  api_access = { members = ["group:${var.team}"] }

  job_accounts       = var.job_accounts
  image_repositories = var.image_repositories

  # NAT would let a training program bypass the perimeter.
  network = { nat = false }

  runtime_images = {
    "2.11" = { image = "dropforge-2-11", python_version = "3.10" }
  }
}

locals {
  project    = "projects/${var.project_number}"
  parent     = "accessPolicies/${var.access_policy}"
  accounts   = { for name, email in module.dropforge.service_accounts : name => "serviceAccount:${email}" }
  restricted = [for name in local.restricted_names : "${name}.googleapis.com"]

  # Those that hold data of jobs, or that could copy it elsewhere.
  restricted_names = [
    "artifactregistry", "cloudbuild", "cloudfunctions", "cloudkms", "compute", "firestore", "logging", "pubsub", "run",
    "secretmanager", "storage",
  ]

  # VMs run as these: dropforge-vm, and the accounts that jobs may name.
  vms    = concat([local.accounts["vm"]], [for email in var.job_accounts : "serviceAccount:${email}"])
  intake = [for name in ["on-upload", "on-submit", "api"] : local.accounts[name]]
  agent  = "serviceAccount:service-${var.project_number}@compute-system.iam.gserviceaccount.com"

  # Requests to projects outside, each for what it needs: nothing can be written there.
  egress = {
    for title, rule in {
      training-data = {
        identities = concat(local.vms, local.intake)
        projects   = var.data_projects
        service    = "storage"
        methods    = ["google.storage.buckets.get", "google.storage.objects.get", "google.storage.objects.list"]
      }
      # Images of containers: looked up by intake, pulled by VMs.
      images = {
        identities = concat(local.vms, local.intake)
        projects   = var.image_projects
        service    = "artifactregistry"
        methods    = ["artifactregistry.googleapis.com/DockerRead"]
      }
      # Compute Engine encrypts the disks of jobs with a key of job_keys.
      keys = {
        identities = [local.agent]
        projects   = var.key_projects
        service    = "cloudkms"
        methods    = ["*"]
      }
    } : title => rule if length(rule.projects) > 0
  }

  # Requests from outside: the team's CLI and browsers, those who apply this configuration, and Cloud Build, whose workers
  # are outside of every perimeter.
  ingress = {
    operators = { identities = var.operators, services = local.restricted_names }
    team      = { identities = ["group:${var.team}"], services = ["storage", "pubsub", "run"] }
    # Calls api for the uptime check.
    uptime = { identities = ["serviceAccount:service-${var.project_number}@gcp-sa-monitoring-notification.iam.gserviceaccount.com"], services = ["run"] }
    build  = { identities = [local.accounts["build"]], services = ["storage", "artifactregistry", "logging"] }
  }
}

resource "google_access_context_manager_service_perimeter" "this" {
  parent         = local.parent
  name           = "${local.parent}/servicePerimeters/dropforge"
  title          = "dropforge"
  description    = "The deployment of Dropforge, and the data of its jobs."
  perimeter_type = "PERIMETER_TYPE_REGULAR"

  status {
    # A network that another project shares must be in the same perimeter.
    resources           = concat([local.project], [for number in var.network_projects : "projects/${number}"])
    restricted_services = local.restricted

    vpc_accessible_services {
      enable_restriction = true
      allowed_services   = ["RESTRICTED-SERVICES"]
    }

    dynamic "ingress_policies" {
      for_each = local.ingress
      content {
        title = ingress_policies.key
        ingress_from {
          identities = ingress_policies.value.identities
          sources {
            access_level = "*"
          }
        }
        ingress_to {
          resources = [local.project]
          dynamic "operations" {
            for_each = ingress_policies.value.services
            content {
              service_name = "${operations.value}.googleapis.com"
              method_selectors {
                method = "*"
              }
            }
          }
        }
      }
    }

    dynamic "egress_policies" {
      for_each = local.egress
      content {
        title = egress_policies.key
        egress_from {
          identities = egress_policies.value.identities
        }
        egress_to {
          resources = [for number in egress_policies.value.projects : "projects/${number}"]
          operations {
            service_name = "${egress_policies.value.service}.googleapis.com"
            dynamic "method_selectors" {
              for_each = egress_policies.value.methods
              content {
                method = method_selectors.value
              }
            }
          }
        }
      }
    }
  }
}
