# The indexes that queries require, as in infra/google-cloud/firestore/collections.ts. A test compares the two, because
# the emulator does not require indexes and the service does.
locals {
  composite_indexes = {
    jobs-by-creation-time = {
      collection = "jobs"
      fields     = [["createdAt", "DESCENDING"], ["jobId", "ASCENDING"]]
    }
    outbox-by-age = {
      collection = "owedEffects"
      fields     = [["owedAt", "ASCENDING"], ["position", "ASCENDING"]]
    }
    outbox-by-job = {
      collection = "owedEffects"
      fields     = [["jobId", "ASCENDING"], ["owedAt", "ASCENDING"], ["position", "ASCENDING"]]
    }
    replicas-by-attempt = {
      collection = "replicas"
      fields     = [["jobId", "ASCENDING"], ["attempt", "ASCENDING"]]
    }
    replicas-by-heartbeat = {
      collection = "replicas"
      fields     = [["jobId", "ASCENDING"], ["heardAt", "DESCENDING"]]
    }
    capacity-history-by-machine = {
      collection = "capacityRefusals"
      fields     = [["machineKey", "ASCENDING"], ["provisioningModel", "ASCENDING"], ["refusedAt", "DESCENDING"]]
    }
    tunings-by-creation-time = {
      collection = "tunings"
      fields     = [["createdAt", "DESCENDING"], ["tuningId", "ASCENDING"]]
    }
    tuning-outbox-by-age = {
      collection = "tuningOutbox"
      fields     = [["addedAt", "ASCENDING"], ["position", "ASCENDING"]]
    }
    tuning-outbox-by-tuning = {
      collection = "tuningOutbox"
      fields     = [["tuningId", "ASCENDING"], ["addedAt", "ASCENDING"], ["position", "ASCENDING"]]
    }
  }

  # Serialized records that no query filters by.
  unindexed_fields = {
    job-body      = { collection = "jobs", field = "body" }
    effect        = { collection = "owedEffects", field = "effect" }
    replica-body  = { collection = "replicas", field = "body" }
    tuning-body   = { collection = "tunings", field = "body" }
    trial-body    = { collection = "trials", field = "body" }
    curve-body    = { collection = "curves", field = "body" }
    tuning-effect = { collection = "tuningOutbox", field = "effect" }
    notification  = { collection = "notifications", field = "body" }
  }

  expiry_field         = "expireAt"
  expiring_collections = ["handledEvents", "replicas", "capacityRefusals", "curves", "notifications"]
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

  # Empty: no index.
  index_config {}
}

resource "google_firestore_field" "expiry" {
  for_each   = toset(local.expiring_collections)
  project    = var.project_id
  database   = google_firestore_database.this.name
  collection = each.value
  field      = local.expiry_field

  # An index on increasing timestamps limits a collection to 500 writes a second; no query uses it.
  index_config {}
  ttl_config {}
}
