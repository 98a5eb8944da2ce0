# infra/google-cloud/firestore/collections.ts says which queries there are. The emulator answers without indexes, the
# service does not: a test holds these to that file.
locals {
  composite_indexes = {
    jobs-by-creation = {
      collection = "jobs"
      fields     = [["createdAt", "DESCENDING"], ["jobId", "ASCENDING"]]
    }
    effects-by-age = {
      collection = "owedEffects"
      fields     = [["owedAt", "ASCENDING"], ["position", "ASCENDING"]]
    }
    effects-of-job = {
      collection = "owedEffects"
      fields     = [["jobId", "ASCENDING"], ["owedAt", "ASCENDING"], ["position", "ASCENDING"]]
    }
    replicas-of-attempt = {
      collection = "replicas"
      fields     = [["jobId", "ASCENDING"], ["attempt", "ASCENDING"]]
    }
    refusals-of-machine = {
      collection = "capacityRefusals"
      fields     = [["machineKey", "ASCENDING"], ["provisioningModel", "ASCENDING"], ["refusedAt", "DESCENDING"]]
    }
  }

  # Whole records, read back and never asked for.
  unindexed_fields = {
    job-body     = { collection = "jobs", field = "body" }
    effect       = { collection = "owedEffects", field = "effect" }
    replica-body = { collection = "replicas", field = "body" }
  }

  expiry_field         = "expireAt"
  expiring_collections = ["handledEvents", "replicas", "capacityRefusals"]
}

resource "google_firestore_index" "this" {
  for_each   = local.composite_indexes
  project    = var.project_id
  database   = google_firestore_database.this.name
  collection = each.value.collection

  dynamic "fields" {
    for_each = each.value.fields
    content {
      field_path = fields.value[0]
      order      = fields.value[1]
    }
  }
}

resource "google_firestore_field" "unindexed" {
  for_each   = local.unindexed_fields
  project    = var.project_id
  database   = google_firestore_database.this.name
  collection = each.value.collection
  field      = each.value.field

  # Empty: no index at all.
  index_config {}
}

resource "google_firestore_field" "expiry" {
  for_each   = toset(local.expiring_collections)
  project    = var.project_id
  database   = google_firestore_database.this.name
  collection = each.value
  field      = local.expiry_field

  # Times that only grow, on an index that nobody asks, would limit a collection to 500 writes a second.
  index_config {}
  ttl_config {}
}
