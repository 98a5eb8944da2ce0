resource "google_storage_bucket_iam_member" "this" {
  for_each = var.grants
  bucket   = google_storage_bucket.this[each.value.bucket].name
  role     = each.value.role
  member   = each.value.member

  dynamic "condition" {
    for_each = each.value.condition == null ? [] : [each.value.condition]
    content {
      title      = condition.value.title
      expression = condition.value.expression
    }
  }
}
