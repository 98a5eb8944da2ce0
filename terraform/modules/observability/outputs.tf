output "alert_policies" {
  description = "The alert policies by what they are about."
  value = merge(
    { for name, policy in google_monitoring_alert_policy.threshold : name => policy.name },
    { watch-absent = google_monitoring_alert_policy.watch_absent.name },
  )
}

output "dashboard" {
  description = "The dashboard's id."
  value       = google_monitoring_dashboard.this.id
}
