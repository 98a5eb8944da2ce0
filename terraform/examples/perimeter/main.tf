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

  # Requests from outside: the team's CLI and browsers, and Cloud Build, whose workers are outside of every perimeter.
  ingress = {
    team  = { identities = ["group:${var.team}"], services = ["storage", "pubsub", "run"] }
    build = { identities = [local.accounts["build"]], services = ["storage", "artifactregistry", "logging"] }
  }
}

resource "google_access_context_manager_service_perimeter" "this" {
  parent         = local.parent
  name           = "${local.parent}/servicePerimeters/dropforge"
  title          = "dropforge"
  description    = "The deployment of Dropforge, and the data of its jobs."
  perimeter_type = "PERIMETER_TYPE_REGULAR"

  status {
    resources           = [local.project]
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

    # Training data in buckets of other projects: read, and never written.
    dynamic "egress_policies" {
      for_each = length(var.data_projects) == 0 ? [] : [var.data_projects]
      content {
        title = "training-data"
        egress_from {
          identities = [for name in ["vm", "on-upload", "on-submit"] : local.accounts[name]]
        }
        egress_to {
          resources = [for number in egress_policies.value : "projects/${number}"]
          operations {
            service_name = "storage.googleapis.com"
            dynamic "method_selectors" {
              for_each = ["google.storage.objects.get", "google.storage.objects.list"]
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
