# Requests the page of `api`, which reads no data, from three regions every 15 minutes. Cloud Run rejects requests without
# a token, so the check has one of Cloud Monitoring's service agent. Only a public ingress can be reached from outside.
locals {
  has_uptime = var.uptime_host != null

  uptime_thresholds = local.has_uptime ? {
    api-unreachable = {
      title    = "The API does not answer"
      metric   = "monitoring.googleapis.com/uptime_check/check_passed"
      filter   = "resource.type=\"uptime_url\" AND metric.labels.check_id=\"${google_monitoring_uptime_check_config.api[0].uptime_check_id}\""
      period   = "1200s"
      aligner  = "ALIGN_NEXT_OLDER"
      reducer  = "REDUCE_COUNT_FALSE"
      group_by = ["resource.labels.host"]
      limit    = 1
      duration = "900s"
      meaning  = "Two of three regions got no answer from api for half an hour: command line and page do not work. Uploads, messages and running jobs do not depend on it."
    }
  } : {}
}

resource "google_monitoring_uptime_check_config" "api" {
  count            = local.has_uptime ? 1 : 0
  project          = var.project_id
  display_name     = "${var.prefix}-api"
  period           = "900s"
  timeout          = "30s"
  selected_regions = ["ASIA_PACIFIC", "EUROPE", "USA_OREGON"]
  user_labels      = { app = var.prefix }

  http_check {
    path         = "/"
    port         = 443
    use_ssl      = true
    validate_ssl = true
    service_agent_authentication {
      type = "OIDC_TOKEN"
    }
  }

  monitored_resource {
    type   = "uptime_url"
    labels = { project_id = var.project_id, host = var.uptime_host }
  }
}
