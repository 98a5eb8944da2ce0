output "name" {
  description = "Database id; available once all indexes exist."
  value       = google_firestore_database.this.name
  depends_on  = [google_firestore_index.this]
}
