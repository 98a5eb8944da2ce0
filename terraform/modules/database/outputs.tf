output "name" {
  description = "The database's id, once its queries can be answered."
  value       = google_firestore_database.this.name
  depends_on  = [google_firestore_index.this]
}
