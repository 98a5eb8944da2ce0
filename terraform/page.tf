# The page for browsers, behind Identity-Aware Proxy: only if page_access is set (docs/dashboard.md). A service of its own:
# with the proxy before it, the API would reject the identity tokens of the command line.
locals {
  has_page = var.page_access != null
  page_url = var.page_url == null && local.has_page ? local.page_service_url : var.page_url

  page_service     = "${local.prefix}-page"
  page_service_url = "https://${local.page_service}-${data.google_project.this.number}.${var.region}.run.app"
  # Cloud Run docs, "Configure IAP for Cloud Run"; the function verifies it: shared/api/verify-caller.ts.
  iap_audience = "/projects/${data.google_project.this.number}/locations/${var.region}/services/${local.page_service}"

  # The names that Cloud Run has for them.
  page_ingress = {
    ALLOW_ALL               = "all"
    ALLOW_INTERNAL_ONLY     = "internal"
    ALLOW_INTERNAL_AND_GCLB = "internal-and-cloud-load-balancing"
  }

  page_settings = merge(
    { for setting in local.api_settings : setting => local.settings[setting] },
    { IAP_AUDIENCE = local.iap_audience, LOG_EXECUTION_ID = "true" },
    # The release of the function whose image it runs.
    { RELEASE = trimsuffix(basename(module.functions.source_names["api"]), ".zip") },
  )
}

# It runs the image of the function api: functions have no setting for the proxy.
resource "google_cloud_run_service" "page" {
  count                      = local.has_page ? 1 : 0
  project                    = module.project_services.project_id
  location                   = var.region
  name                       = local.page_service
  autogenerate_revision_name = true

  metadata {
    labels = local.labels
    # google_cloud_run_v2_service has a field for it only in newer versions of the provider.
    annotations = {
      "run.googleapis.com/iap-enabled" = "true"
      "run.googleapis.com/ingress"     = local.page_ingress[var.page_access.ingress]
    }
  }

  template {
    metadata {
      annotations = merge({
        "autoscaling.knative.dev/maxScale"     = "10"
        "run.googleapis.com/startup-cpu-boost" = "true"
        # The tag of the image may stay when the function changes.
        "dropforge/source" = module.functions.source_names["api"]
        }, var.encryption == null ? {} : {
        "run.googleapis.com/encryption-key" = var.encryption.kms_key_name
        }, var.functions_vpc_connector == null ? {} : {
        "run.googleapis.com/vpc-access-connector" = var.functions_vpc_connector.name
        "run.googleapis.com/vpc-access-egress"    = replace(lower(var.functions_vpc_connector.egress), "_", "-")
      })
    }
    spec {
      service_account_name  = module.identities.emails["api"]
      container_concurrency = local.all_functions.api.concurrency
      timeout_seconds       = local.all_functions.api.timeout_seconds
      containers {
        image = module.functions.images["api"]
        resources {
          limits = { cpu = local.all_functions.api.cpu, memory = "${local.all_functions.api.memory_mib}Mi" }
        }
        dynamic "env" {
          for_each = local.page_settings
          content {
            name  = env.key
            value = env.value
          }
        }
      }
    }
  }

  traffic {
    percent         = 100
    latest_revision = true
  }
}

# Its agent must exist: terraform/README.md, "The page". A binding, not a member, as for functions.
resource "google_cloud_run_service_iam_binding" "page" {
  count    = local.has_page ? 1 : 0
  project  = var.project_id
  location = var.region
  service  = google_cloud_run_service.page[0].name
  role     = "roles/run.invoker"
  members  = ["serviceAccount:service-${data.google_project.this.number}@gcp-sa-iap.iam.gserviceaccount.com"]
}

resource "google_iap_web_cloud_run_service_iam_binding" "page" {
  count                  = local.has_page ? 1 : 0
  project                = var.project_id
  location               = var.region
  cloud_run_service_name = google_cloud_run_service.page[0].name
  role                   = "roles/iap.httpsResourceAccessor"
  members                = var.page_access.members
}
