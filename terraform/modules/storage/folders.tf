# A grant on a managed folder is for the objects below its name, and for listing with a prefix in it (Cloud Storage docs,
# "List objects"). With a condition on names in the bucket's policy, a listing would be denied: its resource is the bucket.
resource "google_storage_managed_folder" "this" {
  for_each = var.folders
  bucket   = google_storage_bucket.this[each.value.bucket].name
  name     = each.value.name
  # Deletes the folder and its grants when a user is removed. The objects stay (Terraform docs, force_destroy).
  force_destroy = true
}

resource "google_storage_managed_folder_iam_member" "this" {
  for_each       = var.folders
  bucket         = google_storage_managed_folder.this[each.key].bucket
  managed_folder = google_storage_managed_folder.this[each.key].name
  role           = "roles/storage.objectViewer"
  member         = each.value.reader
}
