output "alert_policies" {
  description = "Alert policies by topic."
  value = merge(
    { for name, policy in google_monitoring_alert_policy.threshold : name => policy.name },
    { reconciler-absent = google_monitoring_alert_policy.reconciler_absent.name },
  )
}

output "dashboard" {
  description = "Dashboard id."
  value       = google_monitoring_dashboard.this.id
}
