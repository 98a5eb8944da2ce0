output "project_id" {
  description = "Project id; available once the APIs are enabled, so that dependent modules wait for them."
  value       = var.project_id
  depends_on  = [google_project_service.this]
}
