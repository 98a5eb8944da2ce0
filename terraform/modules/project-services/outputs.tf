output "project_id" {
  description = "The project, once its APIs are on: whoever takes it from here waits for them."
  value       = var.project_id
  depends_on  = [google_project_service.this]
}
