output "alert_policies" {
  description = "Alert policies by topic."
  value = merge(
    { for topic, policy in google_monitoring_alert_policy.threshold : topic => policy.name },
    { for topic, policy in google_monitoring_alert_policy.log : topic => policy.name },
    { for topic, policy in google_monitoring_alert_policy.burn : topic => policy.name },
    { reconciler-absent = google_monitoring_alert_policy.reconciler_absent.name },
  )
}

output "dashboard" {
  description = "Dashboard id."
  value       = google_monitoring_dashboard.this.id
}

output "uptime_caller" {
  description = "The service agent that calls `api` for the uptime check, whose creation creates it; empty without a check."
  value       = local.has_uptime ? { uptime = "serviceAccount:service-${var.project_number}@gcp-sa-monitoring-notification.iam.gserviceaccount.com" } : {}
  depends_on  = [google_monitoring_uptime_check_config.api]
}
